import Configuration
import HTTPWire
import Journal
import Rollout
import Telemetry

extension ClientSession {
    /// A read: the user's side answers; when new fails before the first byte has gone to the client, legacy does.
    @inline(__always)
    func handleRead() async throws(SessionEnd) {
        if !request.bodyComplete {
            // A read with a body (PROPFIND, a search by POST) must be repeatable for fallback and comparison.
            let limit = snapshot.settings.shadow.bodyMaxBytes
            if client.head.contentLength > limit {
                if request.isShadowed { metrics.shadow(.dropped) }
                return try await passThrough()
            }
            if let refusal = try await readBody(limit: limit) {
                guard overflow != nil else { return try await answer(refusal) }
                if request.isShadowed { metrics.shadow(.dropped) }
                return try await passThrough()
            }
        }
        if request.waitsForLegacy { await legacyCatchesUp() }
        let side = request.decision.side
        let pool = worker.pool(side)
        var shadow = request.isShadowed && client.head.method.isShadowed ? worker.shadows.open(self, side) : nil
        let upstream: Connection
        do throws(UpstreamFailure) {
            upstream = try await exchange(pool, shadow: shadow)
        } catch {
            shadow?.primary.fail()
            worker.shadows.primaryEnded(shadow)
            return try await readFailed(error, pool)
        }
        let status = upstream.head.status
        pool.record(failed: status >= 500)
        if side == .new, let reason = fallbackReason(status: status) {
            metrics.read(side.backend, failed: status >= 500)
            if reason == .notFound { return try await askLegacyToo(upstream, shadow: shadow) }
            dispose(upstream, pool)
            shadow?.primary.fail()
            worker.shadows.primaryEnded(shadow)
            return try await fallBack(reason)
        }
        if let read = shadow, upstream.head.isEventStream(in: upstream.input.readable) {
            // Before it begins: a stream would hold a place among the comparisons for as long as it lasts.
            read.primary.leaveOut()
            worker.shadows.primaryEnded(read)
            shadow = nil
        }
        let intact: Bool
        do throws(SessionEnd) {
            intact = try await relay(upstream, pool, reason: request.decision.reason, capture: shadow?.primary)
        } catch {
            metrics.read(side.backend, failed: status >= 500)
            worker.shadows.primaryEnded(shadow)
            throw error
        }
        metrics.read(side.backend, failed: !intact || request.answered >= 500)
        worker.shadows.primaryEnded(shadow)
        if !intact { throw .gone }
    }

    private func readFailed(_ failure: UpstreamFailure, _ pool: UpstreamPool) async throws(SessionEnd) {
        if failure == .clientGone {
            metrics.clientAbort()
            throw .gone
        }
        metrics.read(pool.side.backend, failed: true)
        if failure != .exhausted { pool.record(failed: true) }
        if pool.side == .new, let reason = fallbackReason(failure) { return try await fallBack(reason) }
        try await answer(.upstream(failure))
    }

    /// Legacy answers after all.
    /// - Parameter kept: new's "not found", which stands when legacy has nothing better to say.
    func fallBack(_ reason: FallbackReason, kept: AnswerCapture? = nil) async throws(SessionEnd) {
        let pool = worker.legacy
        await legacyCatchesUp()
        let upstream: Connection
        do throws(UpstreamFailure) {
            upstream = try await exchange(pool)
        } catch {
            if error == .clientGone { throw .gone }
            metrics.read(.legacy, failed: true)
            if error != .exhausted { pool.record(failed: true) }
            if let kept { return try await answer(with: kept) }
            request.decision = Decision(side: .legacy, reason: reason.reason)
            return try await answer(.upstream(error))
        }
        let status = upstream.head.status
        pool.record(failed: status >= 500)
        if let kept, status == 404 || status >= 500 {
            metrics.read(.legacy, failed: status >= 500)
            dispose(upstream, pool)
            return try await answer(with: kept)
        }
        metrics.fallback(.read, reason: reason)
        let intact = try await relay(upstream, pool, reason: reason.reason, capture: nil)
        metrics.read(.legacy, failed: !intact || request.answered >= 500)
        if !intact { throw .gone }
    }

    /// What new had acknowledged may still be on its way to legacy: the read waits for it, as long as a user whose side
    /// moves back would (contract §5), so that nobody reads older than what they were told.
    private func legacyCatchesUp() async {
        let coordinator = worker.coordinator
        if let cluster = coordinator.standing.cluster {
            // What other gateways have outstanding is looked up for the few reads that new fails.
            _ = await cluster.refreshForeign()
        }
        guard coordinator.mayHaveOutstanding(.legacy),
            let user = identify()
        else { return }
        // A copy: the id may lie in memory that other requests of this loop use meanwhile.
        let name = user.text
        let deadline = loop.now &+ UInt64(Decision.drainLimitMilliseconds)
        while coordinator.hasOutstanding(user: name, .legacy) {
            guard loop.now < deadline, !client.hungUp else { return metrics.staleRead() }
            if let cluster = coordinator.standing.cluster, coordinator.standing.hasForeign(name, .legacy) {
                // The legs of others are seen only by looking.
                await loop.sleep(10)
                _ = await cluster.refreshForeign()
            } else {
                await loop.sleep(2)
            }
        }
    }

    private func fallbackReason(status: Int) -> FallbackReason? {
        guard worker.snapshot.rollout.legacyWrites else { return nil }
        let fallback = snapshot.settings.fallback
        if status == 404 { return fallback.on404 ? .notFound : nil }
        return status >= 500 && fallback.on5xx ? .serverError : nil
    }

    func fallbackReason(_ failure: UpstreamFailure) -> FallbackReason? {
        // Legacy lacks what was written since it was written last: its answer would be a lie.
        guard worker.snapshot.rollout.legacyWrites else { return nil }
        let fallback = snapshot.settings.fallback
        switch failure {
        case .connect, .exhausted: return fallback.onConnect ? .connect : nil
        case .timeout: return fallback.onTimeout ? .timeout : nil
        // A connection that breaks or talks nonsense is as good as none.
        case .broken, .malformed: return fallback.onConnect ? .connect : nil
        case .clientGone: return nil
        }
    }
}

extension FallbackReason {
    var reason: Reason {
        switch self {
        case .connect: .fallbackConnect
        case .timeout: .fallbackTimeout
        case .serverError: .fallback5xx
        case .notFound: .fallback404
        case .breakerOpen: .breakerOpen
        }
    }
}

extension Method {
    /// HEAD and OPTIONS are not compared (contract §7); TRACE echoes what differs by nature.
    var isShadowed: Bool { self != .head && self != .options && self != .trace }
}

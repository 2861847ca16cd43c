import Configuration
import HTTPWire
import Rollout
import Telemetry

extension ClientSession {
    /// An upgrade (WebSocket): the user's side decides; when it agrees, bytes pass both ways until either end is done or
    /// nothing has come from either for `timeouts.client_idle` (RFC 9110 §7.8).
    ///
    /// Limit: `limits.tunnels`; over it the answer is 503. A tunnel holds no place in its backend's pool.
    func tunnel() async throws(SessionEnd) {
        guard worker.takeTunnel() else { return try await answer(.tunnelsBusy) }
        defer { worker.tunnelEnded() }
        let pool = worker.pool(request.decision.side)
        let upstream: Connection
        let asked = askedAt
        do throws(UpstreamFailure) {
            upstream = try await offerUpgrade(pool)
            noteAsked(asked, pool.side, upstream)
        } catch {
            noteAsked(asked, pool.side, nil, error)
            if error == .clientGone { throw .gone }
            if error != .exhausted { pool.record(failed: true) }
            return try await answer(.upstream(error))
        }
        pool.record(failed: upstream.head.status >= 500)
        guard upstream.head.status == 101 else {
            if try await !relay(upstream, pool, reason: request.decision.reason, capture: nil) { throw .gone }
            return
        }
        dropRequest()
        request.answered = 101
        request.keepAlive = false
        appendAnswerHead(of: upstream, side: pool.side, reason: request.decision.reason, dropsFraming: false)
        upstream.input.consume(upstream.head.length)
        pool.letGo(upstream)
        await passBothWays(upstream, idle: snapshot.settings.timeouts.clientIdleMilliseconds)
        pool.endTunnel(upstream)
    }

    private func offerUpgrade(_ pool: UpstreamPool) async throws(UpstreamFailure) -> Connection {
        let upstream = try await pool.take(fresh: true)
        appendRequestHead(to: upstream.output, pool: pool, framing: .upgrade)
        client.partner = upstream
        defer { client.partner = nil }
        do throws(UpstreamFailure) {
            do throws(IOFailure) { try await upstream.flush(timeout: pool.timeout) } catch {
                throw UpstreamFailure(error)
            }
            try await awaitAnswer(upstream, pool, upgrades: true)
            return upstream
        } catch {
            if error == .malformed { metrics.malformedResponse(pool.side.backend) }
            pool.discard(upstream)
            throw error
        }
    }

    private func passBothWays(_ upstream: Connection, idle: Int64) async {
        let client = client
        do throws(IOFailure) { try await client.flush(timeout: idle) } catch { return }
        let activity = Activity()
        let up = Way(from: client, to: upstream, isToClient: false, idle: idle, activity, worker)
        let down = Way(from: upstream, to: client, isToClient: true, idle: idle, activity, worker)
        Task.immediate(executorPreference: loop) { await up.pass() }
        await down.pass()
        // The other way ends too: its connections are closed under it.
        client.interrupt(.aborted)
        await withUnsafeContinuation { up.whenDone($0) }
        record?.requestBytes &+= up.passed
        record?.responseBytes &+= down.passed
    }
}

/// When anything last came through a tunnel, in loop milliseconds.
private final class Activity {
    var at: UInt64 = 0
}

/// One direction of a tunnel. Confined to its loop.
private final class Way: @unchecked Sendable {
    private let source: Connection
    private let sink: Connection
    private let isToClient: Bool
    private let idle: Int64
    private let activity: Activity
    private unowned(unsafe) let worker: Worker
    private(set) var passed = 0
    private var isDone = false
    private var waiter: UnsafeContinuation<Void, Never>?

    init(
        from source: Connection, to sink: Connection, isToClient: Bool, idle: Int64, _ activity: Activity,
        _ worker: Worker
    ) {
        self.isToClient = isToClient
        self.source = source
        self.sink = sink
        self.idle = idle
        self.activity = activity
        self.worker = worker
    }

    func pass() async {
        do throws(IOFailure) {
            while true {
                if !source.input.isEmpty {
                    let bytes = source.input.count
                    try await sink.write(source.input, bytes, timeout: idle)
                    passed &+= bytes
                    worker.metrics.tunnelBytes(toClient: isToClient, bytes)
                }
                do throws(IOFailure) {
                    try await source.fill(timeout: idle)
                    activity.at = worker.loop.now
                } catch {
                    // Silence one way is no idleness while the other way talks.
                    guard error == .timeout, worker.loop.now < activity.at &+ UInt64(idle) else { throw error }
                }
            }
        } catch {}
        isDone = true
        sink.interrupt(.aborted)
        waiter?.resume()
        waiter = nil
    }

    func whenDone(_ continuation: UnsafeContinuation<Void, Never>) {
        if isDone { continuation.resume() } else { waiter = continuation }
    }
}

import Configuration
import HTTPWire
import Rollout
import Routing
import Telemetry

extension ClientSession {
    /// Routes of kind `legacy`, `new` and `split`, and reads whose body is too large to repeat: one backend, streamed in both
    /// directions, no fallback, no comparison.
    func passThrough() async throws(SessionEnd) {
        let pool = worker.pool(request.decision.side)
        let upstream: Connection
        do throws(UpstreamFailure) {
            upstream = request.bodyComplete ? try await exchange(pool) : try await askStreaming(pool)
        } catch {
            if brokenBody {
                metrics.malformedRequest()
                return try await answer(.malformedBody)
            }
            if request.bodyTimedOut {
                metrics.limitHit(.clientBodyTime)
                return try await answer(.requestTimeout)
            }
            if error == .clientGone {
                metrics.clientAbort()
                throw .gone
            }
            if error != .exhausted { pool.record(failed: true) }
            if request.kind == .read { metrics.read(pool.side.backend, failed: true) }
            return try await answer(.upstream(error))
        }
        let failed = upstream.head.status >= 500
        pool.record(failed: failed)
        let intact = try await relay(upstream, pool, reason: request.decision.reason, capture: nil)
        if request.kind == .read { metrics.read(pool.side.backend, failed: !intact || failed) }
        if !intact { throw .gone }
    }

    /// `streamRequest`, for those who want to know what became of it.
    private func askStreaming(_ pool: UpstreamPool) async throws(UpstreamFailure) -> Connection {
        let asked = askedAt
        do throws(UpstreamFailure) {
            let upstream = try await streamRequest(pool)
            noteAsked(asked, pool.side, upstream)
            return upstream
        } catch {
            noteAsked(asked, pool.side, nil, error)
            throw error
        }
    }

    /// Sends head and body as they come. Nothing can be repeated, so it takes a new connection, or one that was used a
    /// moment ago: any other one might be closed by the backend in this very moment.
    private func streamRequest(_ pool: UpstreamPool) async throws(UpstreamFailure) -> Connection {
        let upstream = try await pool.take(isRepeatable: false)
        appendRequestHead(to: upstream.output, pool: pool, framing: overflow == nil ? .asReceived : .rechunked)
        var scanner = overflow ?? BodyScanner.request(client.head)
        if overflow != nil {
            upstream.output.append(chunk: body.readable, body.count)
            record?.requestBytes &+= body.count
            body.clear()
        } else {
            do throws(SessionEnd) { try await sendContinue() } catch {
                pool.discard(upstream)
                throw .clientGone
            }
        }
        dropRequest()
        upstream.earlyAnswerInterrupts = client
        do throws(UpstreamFailure) {
            try await sendBody(&scanner, upstream, pool)
            upstream.earlyAnswerInterrupts = nil
            client.partner = upstream
            try await awaitAnswer(upstream, pool)
        } catch {
            client.partner = nil
            if upstream.reused, error == .broken, upstream.input.isEmpty { pool.closedUnannounced() }
            pool.discard(upstream)
            throw error
        }
        client.partner = nil
        return upstream
    }

    private func sendBody(
        _ scanner: inout BodyScanner, _ upstream: Connection, _ pool: UpstreamPool
    ) async throws(UpstreamFailure) {
        let timeout = snapshot.settings.timeouts.bodyMilliseconds
        var turns = 0
        while true {
            let out = upstream.output
            let rechunks = overflow != nil
            let input = client.input
            let used = scanner.scan(input.readable, input.count) { bytes, count in
                if rechunks { out.append(chunk: bytes, count) }
            }
            guard let used else {
                brokenBody = true
                throw .malformed
            }
            record?.requestBytes &+= used
            if rechunks {
                input.consume(used)
                if scanner.isDone { out.append("0\r\n\r\n") }
            }
            guard try await sendOn(upstream, input, rechunks ? 0 : used, pool.timeout) else { return }
            if scanner.isDone {
                request.bodyComplete = true
                input.releaseIfLarge()
                return
            }
            if !rechunks { input.adapt(last: used, more: client.hasArrivals) }
            turns &+= 1
            // As for an answer: a client and a backend that are both fast would keep this loop from all others.
            if turns & 15 == 0 { await loop.yield() }
            guard try await receiveMore(upstream, timeout) else { return }
        }
    }

    /// Sends what waits in the output and the first `count` bytes of the client's input.
    /// - Returns: false when the backend has answered before it took the whole body: that is passed on, and nothing more is sent
    ///   (RFC 9112 §9.3).
    private func sendOn(
        _ upstream: Connection, _ input: Buffer, _ count: Int, _ timeout: Int64
    ) async throws(UpstreamFailure) -> Bool {
        var left = count
        while true {
            let before = input.count
            do throws(IOFailure) {
                try await upstream.flush(with: input, left, timeout: timeout)
                return true
            } catch {
                left -= before - input.count
                switch upstream.earlyAnswer(after: error) {
                case .none: throw UpstreamFailure(error)
                case .interim: continue
                case .final:
                    upstream.isSpent = true
                    return false
                }
            }
        }
    }

    /// Waits for more of the client's body.
    /// - Returns: as of ``sendOn``.
    private func receiveMore(_ upstream: Connection, _ timeout: Int64) async throws(UpstreamFailure) -> Bool {
        while true {
            // It may have spoken between two waits, when there was nobody to be interrupted.
            if upstream.hasArrivals, case .final = upstream.earlyAnswer(after: .aborted) {
                upstream.isSpent = true
                return false
            }
            do throws(IOFailure) {
                try await client.fill(timeout: timeout)
                return true
            } catch {
                if error == .aborted, upstream.hasArrivals { continue }
                request.bodyTimedOut = error == .timeout
                throw .clientGone
            }
        }
    }
}

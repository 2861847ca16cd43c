import Configuration
import HTTPWire
import Rollout
import Telemetry

extension UpstreamFailure {
    init(_ failure: IOFailure) {
        self =
            switch failure {
            case .closed, .reset: .broken
            case .timeout: .timeout
            case .aborted: .clientGone
            case .refused: .connect
            }
    }
}

extension ClientSession {
    /// Sends the request, with its body when that is at hand, and waits for the head of the answer.
    ///
    /// A connection from the pool may have been closed by the backend in the same moment. Then the request is sent once
    /// more on a new connection if the backend cannot have seen it (nothing was written) or may see it twice (idempotent
    /// methods, RFC 9110 §9.2.2); never otherwise, and never after a time-out.
    /// - Parameter shadow: is started as soon as the request is out.
    /// - Returns: the connection with the parsed head at the front of its input. The caller gives it back.
    @inline(__always)
    func exchange(_ pool: UpstreamPool, shadow: ShadowRead? = nil) async throws(UpstreamFailure) -> Connection {
        let asked = askedAt
        var fresh = false
        while true {
            let upstream: Connection
            do throws(UpstreamFailure) { upstream = try await pool.take(fresh: fresh) } catch {
                noteAsked(asked, pool.side, nil, error)
                throw error
            }
            let hasBody = client.head.isChunked || client.head.contentLength >= 0
            appendRequestHead(to: upstream.output, pool: pool, framing: hasBody ? .length(body.count) : .none)
            if !body.isEmpty { upstream.output.append(body.readable, body.count) }
            let failure: UpstreamFailure
            let whole = upstream.output.count
            var wroteNothing = false
            client.partner = upstream
            do throws(UpstreamFailure) {
                if client.hungUp, client.isGone { throw .clientGone }
                do throws(IOFailure) {
                    if body.isEmpty {
                        try await upstream.flush(timeout: pool.timeout)
                    } else {
                        try await upstream.flushUnlessAnswered(timeout: pool.timeout)
                    }
                } catch {
                    wroteNothing = upstream.output.count >= whole
                    throw UpstreamFailure(error)
                }
                if let shadow, !fresh { worker.shadows.start(shadow) }
                try await awaitAnswer(upstream, pool)
                client.partner = nil
                noteAsked(asked, pool.side, upstream)
                return upstream
            } catch {
                failure = error
            }
            client.partner = nil
            let sawAnswer = !upstream.input.isEmpty
            let reused = upstream.reused
            if failure == .malformed { metrics.malformedResponse(pool.side.backend) }
            pool.discard(upstream)
            guard reused, !fresh, failure == .broken, !sawAnswer, wroteNothing || request.isIdempotent else {
                noteAsked(asked, pool.side, nil, failure)
                throw failure
            }
            metrics.upstreamResend(pool.side.backend)
            fresh = true
        }
    }

    /// Waits for the head of a final answer and passes interim ones on (RFC 9110 §15.2).
    @inline(__always)
    func awaitAnswer(
        _ upstream: Connection, _ pool: UpstreamPool, upgrades: Bool = false
    ) async throws(UpstreamFailure) {
        upstream.head.reset()
        let deadline = loop.now &+ UInt64(pool.timeout)
        while true {
            try await readNextHead(upstream, until: deadline, loop: loop)
            if upstream.head.status >= 200 || (upgrades && upstream.head.status == 101) { return }
            try await passInterim(upstream)
        }
    }

    private func passInterim(_ upstream: Connection) async throws(UpstreamFailure) {
        // Nobody asked for a change of protocols: the answer makes no sense.
        if upstream.head.status == 101 { throw .malformed }
        if upstream.head.status != 100, !request.isHTTP10 {
            let head = upstream.head
            client.output.append("HTTP/1.1")
            client.output.append(upstream.input.readable + 8, head.firstLineEnd - 8)
            appendFields(head, upstream.input.readable, to: client.output) { kind in
                switch kind {
                case .connection, .hopByHop, .namedByConnection, .upgrade, .cutover, .transferEncoding, .contentLength:
                    true
                default: false
                }
            }
            client.output.append("\r\n")
            do throws(IOFailure) { try await client.flush(timeout: 10_000) } catch { throw .clientGone }
        }
        upstream.input.consume(upstream.head.length)
        upstream.head.reset()
        // A backend that sends them without end would keep the loop, and the deadline with it, from coming on.
        await loop.yield()
        if client.hungUp, client.isGone { throw .clientGone }
    }
}

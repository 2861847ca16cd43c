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
        var fresh = false
        while true {
            let upstream = try await pool.take(fresh: fresh)
            let hasBody = client.head.isChunked || client.head.contentLength >= 0
            appendRequestHead(to: upstream.output, pool: pool, framing: hasBody ? .length(body.count) : .none)
            let failure: UpstreamFailure
            let whole = upstream.output.count
            var wroteNothing = false
            client.partner = upstream
            do throws(UpstreamFailure) {
                if client.hungUp, client.isGone { throw .clientGone }
                do throws(IOFailure) {
                    if !body.isEmpty, body.count <= 8192 { upstream.output.append(body.readable, body.count) }
                    try await upstream.flush(timeout: pool.timeout)
                    if body.count > 8192 { try await upstream.write(bytes: body.bytes, timeout: pool.timeout) }
                } catch {
                    wroteNothing = upstream.output.count >= whole
                    throw UpstreamFailure(error)
                }
                if let shadow, !fresh { worker.shadows.start(shadow) }
                try await awaitAnswer(upstream, pool)
                client.partner = nil
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
            if !upstream.input.isEmpty {
                switch upstream.head.parseResponse(upstream.input.readable, upstream.input.count) {
                case .complete:
                    if upstream.head.status >= 200 || (upgrades && upstream.head.status == 101) { return }
                    try await passInterim(upstream)
                    continue
                case .refused: throw .malformed
                case .incomplete: break
                }
            }
            let left = Int64(deadline) - Int64(loop.now)
            do throws(IOFailure) {
                if left <= 0 { throw .timeout }
                try await upstream.fill(timeout: left)
            } catch {
                throw error == .closed && !upstream.input.isEmpty ? .malformed : UpstreamFailure(error)
            }
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
    }

    /// Passes the answer at hand to the client, body and all, with back-pressure: no more is read from the backend than
    /// the client takes.
    ///
    /// - Parameters:
    ///   - capture: gets a copy of head and body, within its limit.
    ///   - outlivesClient: the answer is read to its end for the capture even when the client goes away (a write).
    /// - Returns: false when the backend broke off in the middle of the body; the client's connection is then closed, so
    ///   that it can tell.
    @inline(__always)
    func relay(
        _ upstream: Connection, _ pool: UpstreamPool, reason: Reason, capture: AnswerCapture?,
        outlivesClient: Bool = false
    ) async throws(SessionEnd) -> Bool {
        dropRequest()
        var isClientGone = false
        var turns = 0
        let head = upstream.head
        request.answered = head.status
        request.servedBy = pool.side
        request.decision = Decision(side: pool.side, reason: reason)
        var scanner = BodyScanner.response(head, toHead: request.isHead)
        // An HTTP/1.0 client does not know the chunked coding (RFC 9112 §7.1): it gets the bare body and the end of
        // the connection.
        let unwraps = request.isHTTP10 && head.isChunked && !scanner.isDone
        if scanner.endsWithConnection || unwraps || !request.bodyComplete { request.keepAlive = false }
        appendAnswerHead(of: upstream, side: pool.side, reason: reason, dropsFraming: unwraps)
        capture?.begin(upstream.input.readable, head)
        let reusable = head.keepAlive && !scanner.endsWithConnection
        upstream.input.consume(head.length)
        let timeout = snapshot.settings.timeouts.bodyMilliseconds
        let input = upstream.input
        while true {
            let out = client.output
            let used = scanner.scan(input.readable, input.count) { bytes, count in
                capture?.add(bytes, count)
                if unwraps { out.append(bytes, count) }
            }
            guard let used else {
                metrics.malformedResponse(pool.side.backend)
                pool.discard(upstream)
                capture?.fail()
                return false
            }
            if isClientGone {
                input.consume(used)
                client.output.clear()
            } else {
                let before = input.count
                do throws(IOFailure) {
                    if unwraps {
                        input.consume(used)
                        try await client.flush(timeout: timeout)
                    } else {
                        try await client.flush(with: input, used, timeout: timeout)
                    }
                } catch {
                    metrics.clientAbort()
                    guard outlivesClient else {
                        pool.discard(upstream)
                        capture?.fail()
                        throw .gone
                    }
                    isClientGone = true
                    if !unwraps { input.consume(used - (before - input.count)) }
                }
            }
            if scanner.isDone { break }
            turns &+= 1
            // A backend and a client that are both fast would keep this loop from all its other connections.
            if turns & 15 == 0 { await loop.yield() }
            if !outlivesClient { client.partner = upstream }
            do throws(IOFailure) {
                if !outlivesClient, client.hungUp, client.isGone { throw .aborted }
                try await upstream.fill(timeout: pool.timeout)
            } catch {
                client.partner = nil
                if error == .closed, scanner.endsWithConnection { break }
                pool.discard(upstream)
                capture?.fail()
                if error != .aborted { return false }
                metrics.clientAbort()
                throw .gone
            }
            client.partner = nil
        }
        pool.give(upstream, reusable: reusable)
        capture?.complete()
        if isClientGone { throw .gone }
        return true
    }

    /// Puts an answer away that the client will not see. The connection survives when the whole answer is there already.
    /// - Parameter capture: gets a copy, if the whole answer is there.
    func dispose(_ upstream: Connection, _ pool: UpstreamPool, capture: AnswerCapture? = nil) {
        let head = upstream.head
        capture?.begin(upstream.input.readable, head)
        var scanner = BodyScanner.response(head, toHead: request.isHead)
        upstream.input.consume(head.length)
        let used = scanner.scan(upstream.input.readable, upstream.input.count) { capture?.add($0, $1) }
        guard let used, scanner.isDone else {
            capture?.fail()
            return pool.discard(upstream)
        }
        capture?.complete()
        upstream.input.consume(used)
        pool.give(upstream, reusable: head.keepAlive && !scanner.endsWithConnection)
    }
}

import Configuration
import HTTPWire
import Rollout
import Telemetry

extension ClientSession {
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
        var (isClientGone, turns) = (false, 0)
        let head = upstream.head
        request.answered = head.status
        request.decision = Decision(side: pool.side, reason: reason)
        var scanner = BodyScanner.response(head, toHead: request.isHead)
        // An HTTP/1.0 client does not know the chunked coding (RFC 9112 §7.1): it gets the bare body and the end of
        // the connection.
        let unwraps = request.isHTTP10 && head.isChunked && !scanner.isDone
        request.endsWithConnection = scanner.endsWithConnection || unwraps
        if request.endsWithConnection || !request.bodyComplete { request.keepAlive = false }
        appendAnswerHead(of: upstream, side: pool.side, reason: reason, dropsFraming: unwraps)
        capture?.begin(upstream.input.readable, head)
        let reusable = head.keepAlive && !scanner.endsWithConnection
        let silence = silenceAllowed(upstream, pool, scanner)
        upstream.input.consume(head.length)
        let input = upstream.input
        while true {
            let out = client.output
            let used = scanner.scan(input.readable, input.count) { bytes, count in
                capture?.add(bytes, count)
                if unwraps { out.append(bytes, count) }
            }
            guard let used else {
                request.brokeOff = turns > 0 && !isClientGone
                return try await breakOff(upstream, pool, capture, nothingSent: turns == 0 && !isClientGone)
            }
            // Whoever keeps the answer has it before the client can come again.
            if scanner.isDone { capture?.complete() }
            let before = input.count
            do throws(IOFailure) {
                try await passOn(input, used, unwraps: unwraps, isClientGone)
            } catch {
                metrics.clientAbort()
                guard outlivesClient else {
                    pool.discard(upstream)
                    capture?.fail()
                    throw .gone
                }
                isClientGone = true
                input.consume(used &- (before &- input.count))
            }
            if scanner.isDone { break }
            if !unwraps { input.adapt(last: used, more: upstream.hasArrivals) }
            turns &+= 1
            // A backend and a client that are both fast would keep this loop from all its other connections.
            if turns & 15 == 0 { await loop.yield() }
            do throws(IOFailure) {
                try await fillAnswer(upstream, silence, watchesClient: !outlivesClient)
            } catch {
                if error == .closed, scanner.endsWithConnection { break }
                pool.discard(upstream)
                capture?.fail()
                if error != .aborted {
                    request.brokeOff = !isClientGone
                    return false
                }
                metrics.clientAbort()
                throw .gone
            }
        }
        pool.give(upstream, reusable: reusable)
        capture?.complete()
        if isClientGone { throw .gone }
        return true
    }

    /// The backend's framing is broken (RFC 9112 §7.1): 502 while the client has seen nothing of the answer.
    private func breakOff(
        _ upstream: Connection, _ pool: UpstreamPool, _ capture: AnswerCapture?, nothingSent: Bool
    ) async throws(SessionEnd) -> Bool {
        metrics.malformedResponse(pool.side.backend)
        pool.discard(upstream)
        capture?.fail()
        guard nothingSent else { return false }
        client.output.clear()
        try await answer(.upstream(.malformed))
        return true
    }

    /// Writes what waits for the client and the first `used` bytes of the answer's body.
    @inline(__always)
    private func passOn(
        _ input: Buffer, _ used: Int, unwraps: Bool, _ isClientGone: Bool
    ) async throws(IOFailure) {
        let timeout = snapshot.settings.timeouts.bodyMilliseconds
        if isClientGone {
            input.consume(used)
            client.output.clear()
        } else if unwraps {
            // The bare body is in the client's output already.
            input.consume(used)
            try await client.flush(timeout: timeout)
        } else {
            try await client.flush(with: input, used, timeout: timeout)
        }
        if !isClientGone { record?.responseBytes &+= used }
    }

    /// Reads more of an answer's body.
    /// - Parameter watchesClient: gives up when the client goes away.
    @inline(__always)
    private func fillAnswer(_ upstream: Connection, _ timeout: Int64, watchesClient: Bool) async throws(IOFailure) {
        if watchesClient {
            client.partner = upstream
            if client.hungUp, client.isGone {
                client.partner = nil
                throw .aborted
            }
        }
        do throws(IOFailure) { try await upstream.fill(timeout: timeout) } catch {
            client.partner = nil
            throw error
        }
        client.partner = nil
    }

    /// How long the backend may say nothing within its answer. A stream of events is silent while nothing happens: as long
    /// as a client may be. Only what has no length is looked at, so that ordinary answers do not pay for it.
    private func silenceAllowed(_ upstream: Connection, _ pool: UpstreamPool, _ scanner: BodyScanner) -> Int64 {
        guard upstream.head.isChunked || scanner.endsWithConnection,
            upstream.head.isEventStream(in: upstream.input.readable)
        else { return pool.timeout }
        return max(pool.timeout, snapshot.settings.timeouts.clientIdleMilliseconds)
    }

    /// Puts an answer away that the client will not see. The connection survives when the whole answer is there already.
    func dispose(_ upstream: Connection, _ pool: UpstreamPool) {
        let head = upstream.head
        var scanner = BodyScanner.response(head, toHead: request.isHead)
        upstream.input.consume(head.length)
        let used = scanner.scan(upstream.input.readable, upstream.input.count) { _, _ in }
        guard let used, scanner.isDone else { return pool.discard(upstream) }
        upstream.input.consume(used)
        pool.give(upstream, reusable: head.keepAlive && !scanner.endsWithConnection)
    }
}

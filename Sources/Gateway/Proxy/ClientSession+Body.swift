import CLinux
import Configuration
import HTTPWire
import Telemetry

extension ClientSession {
    /// Takes the request's body into `body`, whole and decoded of its transfer coding. The head stays at the front of
    /// the client's input.
    ///
    /// A chunked body tells its size only by growing: what has been taken of one that grows too large is kept with the
    /// scanner of the rest (`overflow`), for those who can go on by streaming it.
    /// - Returns: nil when the body is in; else the answer that the client has to get, after which the connection ends.
    func readBody(limit: Int) async throws(SessionEnd) -> OwnAnswer? {
        let head = client.head
        if request.bodyComplete { return nil }
        if head.contentLength > limit { return .bodyTooLarge(limit: limit) }
        try await sendContinue()
        if head.contentLength > 0 { body.reserve(head.contentLength) }
        var scanner = BodyScanner.request(head)
        let timeout = snapshot.settings.timeouts.bodyMilliseconds
        var turns = 0
        while true {
            let count = client.input.count - head.length
            if count > 0 {
                let used = scanner.scan(client.input.readable + head.length, count) { body.append($0, $1) }
                guard let used else { return .malformedBody }
                client.input.cut(after: head.length, used)
                if body.count > limit {
                    overflow = scanner
                    return .bodyTooLarge(limit: limit)
                }
            }
            if scanner.isDone { break }
            request.hasWaitedForBody = true
            turns &+= 1
            // The smallest chunks make many turns of a body that is not large.
            if turns & 15 == 0 { await loop.yield() }
            do throws(IOFailure) { try await client.fill(timeout: timeout) } catch {
                if error == .timeout {
                    metrics.limitHit(.clientBodyTime)
                    return .requestTimeout
                }
                throw .gone
            }
        }
        request.bodyComplete = true
        return nil
    }

    /// Answers `Expect: 100-continue` when the client is going to wait for that (RFC 9110 §10.1.1).
    func sendContinue() async throws(SessionEnd) {
        guard client.head.expectsContinue, !request.isHTTP10, client.input.count == client.head.length else { return }
        client.output.append("HTTP/1.1 100 Continue\r\n\r\n")
        do throws(IOFailure) {
            try await client.flush(timeout: snapshot.settings.timeouts.bodyMilliseconds)
        } catch {
            throw .gone
        }
    }
}

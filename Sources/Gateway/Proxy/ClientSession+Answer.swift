import CLinux
import Configuration
import HTTPWire
import Journal
import Rollout
import Telemetry

extension ClientSession {
    /// Sends an answer of the gateway's own as a problem document (RFC 9457).
    func answer(_ own: OwnAnswer) async throws(SessionEnd) {
        if !request.bodyComplete { request.keepAlive = false }
        let id = requestID()
        let text = own.body(requestID: id)
        let out = beginAnswer(own.status)
        out.append("Content-Type: application/problem+json\r\nContent-Length: ")
        out.append(decimal: text.utf8.count)
        out.append("\r\n")
        if let seconds = own.retryAfter {
            out.append("Retry-After: ")
            out.append(decimal: seconds)
            out.append("\r\n")
        }
        if let challenge = own.challenge {
            out.append("WWW-Authenticate: ")
            out.append(challenge)
            out.append("\r\n")
        }
        out.append("X-Request-Id: ")
        out.append(text: id)
        out.append("\r\nVia: 1.1 cutover\r\n")
        if case .upstream = own { appendExposed(out) }
        appendConnection(out)
        out.append("\r\n")
        if !request.isHead { out.append(text: text) }
        record?.problem = own.kind
        try await sendOwn(own.status, bodyBytes: request.isHead ? 0 : text.utf8.count)
    }

    /// Sends the first answer of an earlier write with the same key again.
    func replay(_ stored: StoredAnswer) async throws(SessionEnd) {
        let out = beginAnswer(stored.status)
        out.append(stored.headerLines)
        if stored.status != 204, stored.status != 304 {
            out.append("Content-Length: ")
            out.append(decimal: stored.body.count)
            out.append("\r\n")
        }
        out.append("Idempotent-Replayed: true\r\n")
        request.decision = Decision(side: stored.servedBy, reason: request.decision.reason)
        worker.answerTails.append(stored.servedBy, request.decision.reason, to: out)
        appendConnection(out)
        out.append("\r\n")
        out.append(stored.body)
        metrics.idempotentReplay()
        try await sendOwn(stored.status, bodyBytes: stored.body.count)
    }

    /// What waits for the client gives way to the first line of another answer.
    private func beginAnswer(_ status: Int) -> Buffer {
        let out = client.output
        out.clear()
        out.append("HTTP/1.1 ")
        out.append(decimal: status)
        out.append(byte: 32)
        out.append(StatusText.reason(status))
        out.append("\r\n")
        return out
    }

    private func sendOwn(_ status: Int, bodyBytes: Int) async throws(SessionEnd) {
        request.answered = status
        dropRequest()
        do throws(IOFailure) {
            try await client.flush(timeout: snapshot.settings.timeouts.bodyMilliseconds)
        } catch {
            throw .gone
        }
        record?.responseBytes &+= bodyBytes
        ownAnswers &+= 1
        // These wait for no backend: requests that come faster than they are refused would keep the loop to themselves.
        if ownAnswers & 15 == 0 { await loop.yield() }
    }

    /// Takes the request's head off the front of the input: its answer is on the way.
    @inline(__always)
    func dropRequest() {
        guard request.headInPlace else { return }
        request.headInPlace = false
        client.input.consume(client.head.length)
    }

    private func appendExposed(_ out: Buffer) {
        guard snapshot.settings.expose else { return }
        out.append("Cutover-Backend: ")
        out.append(request.decision.side.name)
        out.append("\r\nCutover-Reason: ")
        out.append(request.decision.reason.name)
        out.append("\r\n")
    }

    /// What the client has to know about the connection's future (RFC 9112 §9.6).
    @inline(__always)
    func appendConnection(_ out: Buffer) {
        if worker.isDraining { request.keepAlive = false }
        if !request.keepAlive {
            out.append("Connection: close\r\n")
        } else if request.isHTTP10 {
            out.append("Connection: keep-alive\r\n")
        }
    }

    /// The client's request id when it sent a harmless one, else one of the gateway's own.
    private func requestID() -> String {
        if let own = harmlessRequestID { return String(decoding: own, as: UTF8.self) }
        return hexadecimal(request.id.high, request.id.low)
    }
}

/// An id for a request that brought none, where no loop has one at hand.
package func randomRequestID() -> String {
    hexadecimal(.random(in: .min ... .max), .random(in: .min ... .max))
}

/// Thirty-two lower-case hexadecimal digits.
package func hexadecimal(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: 32) { digits in
        for index in 0..<32 {
            let word = index < 16 ? high : low
            let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15))) & 15
            digits[index] = value < 10 ? 0x30 + value : 0x57 + value
        }
        return 32
    }
}

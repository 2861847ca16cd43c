import Configuration
import HTTPWire
import Rollout
import Telemetry

extension ClientSession {
    /// New does not have it: legacy is asked, because "not read" must not be taken for "no data". When legacy does not have it
    /// either, or cannot say, new's own answer stands and nothing was a fallback.
    func askLegacyToo(_ upstream: Connection, shadow: ShadowRead?) async throws(SessionEnd) {
        let kept = AnswerCapture(pool: loop.blocks)
        kept.reset(limit: snapshot.settings.shadow.bodyMaxBytes)
        _ = await worker.new.drain(upstream, into: kept, toHead: request.isHead)
        shadow?.primary.copy(kept)
        worker.shadows.primaryEnded(shadow)
        try await fallBack(.notFound, kept: kept.state == .complete ? kept : nil)
        kept.release()
    }

    /// Sends a backend's answer that was kept.
    func answer(with kept: AnswerCapture, of side: Side = .new) async throws(SessionEnd) {
        let p = kept.bytes.readable
        let head = MessageHead(
            limits: WireLimits(headerLineBytes: 64 * 1024, headerBytes: 256 * 1024, headerLines: 1000))
        guard case .complete = head.parseResponse(p, kept.head.count) else {
            return try await answer(.upstream(.malformed))
        }
        dropRequest()
        request.answered = head.status
        // A 204 has no framing at all, a 304 that of another answer (RFC 9110 §8.6, §15.4.5).
        let hasBody = !request.isHead && head.status != 204 && head.status != 304
        let keepsLength = !hasBody && head.status != 204
        let out = client.output
        out.append("HTTP/1.1")
        out.append(p + 8, head.firstLineEnd - 8)
        appendFields(head, p, to: out) { kind in
            switch kind {
            case .connection, .hopByHop, .namedByConnection, .upgrade, .cutover, .transferEncoding, .trailer: true
            case .contentLength: !keepsLength
            default: false
            }
        }
        if hasBody {
            out.append("Content-Length: ")
            out.append(decimal: kept.body.count)
            out.append("\r\n")
        }
        worker.answerTails.append(side, request.decision.reason, to: out)
        appendConnection(out)
        out.append("\r\n")
        if hasBody, let body = kept.body.baseAddress { out.append(body, kept.body.count) }
        do throws(IOFailure) { try await client.flush(timeout: snapshot.settings.timeouts.bodyMilliseconds) } catch {
            metrics.clientAbort()
            throw .gone
        }
        if hasBody { record?.responseBytes &+= kept.body.count }
    }
}

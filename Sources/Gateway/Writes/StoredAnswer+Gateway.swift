import HTTPWire
import Journal
import Rollout

extension StoredAnswer {
    /// The first answer to a write as a repeat gets it, still without its body; from the parsed head at the front of the
    /// connection's input. Framing, fields of the hop, `Date` and `Set-Cookie` are not kept.
    init(of upstream: Connection, servedBy side: Side, loop: EventLoop) {
        let lines = Buffer(pool: loop.blocks)
        appendFields(upstream.head, upstream.input.readable, to: lines) { kind in
            switch kind {
            case .connection, .hopByHop, .namedByConnection, .upgrade, .cutover, .contentLength, .transferEncoding,
                .trailer,
                .date, .setCookie:
                true
            default: false
            }
        }
        self.init(status: upstream.head.status, headerLines: Array(lines.bytes), body: [], servedBy: side)
    }

    /// Takes the body over when it came whole and within the limit.
    mutating func take(_ capture: AnswerCapture) {
        if capture.state == .complete { body = Array(capture.body) } else { isBodyOmitted = true }
        capture.release()
    }
}

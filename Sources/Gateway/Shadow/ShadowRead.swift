import HTTPWire
import Rollout

/// One read that is answered by one side and asked of the other too. Reused; confined to its loop.
final class ShadowRead: @unchecked Sendable {
    /// The request as it goes to the other side, and behind it the user id.
    let request: Buffer
    private(set) var requestCount = 0
    /// The request as it goes to the primary side, where that differs (another path prefix); else empty.
    let primaryRequest: Buffer
    let primary: AnswerCapture
    let other: AnswerCapture
    var primarySide = Side.legacy
    var primaryDone = false
    var otherDone = false
    var started = false
    /// The span of the first look, where it is exported.
    var span: Span?
    /// When the other side was asked, where there is a span; monotonic nanoseconds.
    var asked: UInt64 = 0

    init(pool: BlockPool) {
        request = Buffer(pool: pool)
        primaryRequest = Buffer(pool: pool)
        primary = AnswerCapture(pool: pool)
        other = AnswerCapture(pool: pool)
    }

    /// Takes down what has to be sent, from the session whose request it is.
    func prepare(_ session: ClientSession, _ side: Side, limit: Int) {
        primarySide = side
        primaryDone = false
        otherDone = false
        started = false
        primary.reset(limit: limit)
        other.reset(limit: limit)
        write(session, side.other, into: request)
        requestCount = request.count
        span = session.spans.map { session.legSpan($0, side.other, role: "shadow", since: session.request.started) }
        primaryRequest.clear()
        if session.worker.legacy.pathPrefix != session.worker.new.pathPrefix {
            write(session, side, into: primaryRequest)
        }
    }

    private func write(_ session: ClientSession, _ side: Side, into buffer: Buffer) {
        buffer.clear()
        let hasBody = session.client.head.isChunked || session.client.head.contentLength >= 0
        session.appendRequestHead(
            to: buffer, pool: session.worker.pool(side), framing: hasBody ? .length(session.body.count) : .none)
        buffer.append(session.body.readable, session.body.count)
    }

    /// The bytes to send to a side.
    func message(to side: Side) -> UnsafeBufferPointer<UInt8> {
        if side == primarySide, !primaryRequest.isEmpty { return primaryRequest.bytes }
        return UnsafeBufferPointer(start: request.readable, count: requestCount)
    }

    func keep(user: UserID?) {
        if let user { request.append(user.base, user.count) }
    }

    /// The user id; nil for an anonymous request. Valid until the read is released.
    var user: UserID? {
        guard request.count > requestCount else { return nil }
        return UserID(base: request.readable + requestCount, count: request.count - requestCount)
    }

    func release() {
        for buffer in [request, primaryRequest] {
            buffer.clear()
            buffer.releaseIfEmpty()
        }
        primary.release()
        other.release()
    }
}

import CLinux
import CNGHTTP2
import Configuration
import HTTPWire

/// One request of an HTTP/2 connection and its answer, as the two ends of a connection in memory: a `ClientSession` reads the
/// request from it and writes the answer to it as it does with a client of HTTP/1.1. Confined to its loop.
///
/// Back-pressure goes both ways: a client's window opens as far as the session has read, and what the session may write is
/// limited by what the client has taken.
final class HTTP2Stream {
    let id: Int32
    /// Kept: who serves the stream may end later than the connection.
    let session: HTTP2Session
    /// The session's end; nil once that was closed.
    private(set) var connection: Connection?
    /// Nil once the head is written.
    private var head: HTTP2RequestText?
    private let fields: Buffer
    /// What the session has not read yet, as HTTP/1.1.
    private let request: Buffer
    private let limit: Int
    private var isHead = false
    private var hasLength = false
    private var isRequestWhole = false
    /// Bytes of the body that are in `request`, or were, and for which the client's window has not been opened again.
    private var uncredited = 0

    /// What the session has written and nobody has understood yet.
    private let answer: Buffer
    /// Bytes of the answer's body that wait for the client's window.
    private let body: Buffer
    private var state = AnswerState.head
    /// nghttp2 has asked for more than there was, and is told when there is.
    private var isDeferred = false
    /// The client has taken the request back, or the connection has ended.
    private(set) var isReset = false
    private(set) var isClosed = false
    /// Loop time of the last byte that the client took.
    private var progress: UInt64

    private enum AnswerState {
        /// The head of the answer, or of an interim one before it, is not whole yet.
        case head
        case body(BodyScanner)
        /// The whole answer is known.
        case whole
        /// Nothing of it can be sent any more.
        case failed
    }

    init(id: Int32, session: HTTP2Session, limit: Int) {
        self.id = id
        self.session = session
        self.limit = limit
        let pool = session.worker.loop.blocks
        fields = Buffer(pool: pool)
        request = Buffer(pool: pool)
        answer = Buffer(pool: pool)
        body = Buffer(pool: pool)
        head = HTTP2RequestText(fields: fields, limit: limit)
        progress = session.worker.loop.now
    }

    /// The head of the request is complete, so that it is served.
    var hasBegun: Bool { head == nil }

    // MARK: The request, from the client

    /// - Returns: false when the request is malformed.
    func receive(field name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        if head != nil { return head?.add(name, value) ?? false }
        // What comes after the body; with a length there is no place for it in HTTP/1.1.
        if hasLength { return true }
        return HTTP2RequestText.appendTrailer(name, value, to: fields, limit: limit)
    }

    /// The fields of the request, or its trailers, are complete.
    /// - Returns: the session's end, when it was the request's head.
    func fieldsComplete(isLast: Bool) -> Connection? {
        guard let text = head else {
            if isLast { requestComplete() }
            return nil
        }
        head = nil
        (isHead, hasLength) = (text.isHead, text.hasLength)
        text.write(to: request, hasBody: !isLast)
        fields.clear()
        fields.releaseIfEmpty()
        if isLast { isRequestWhole = true }
        let connection = Connection(stream: self, loop: session.worker.loop, limits: session.worker.clientLimits)
        self.connection = connection
        return connection
    }

    func receive(data bytes: UnsafePointer<UInt8>, _ count: Int) {
        uncredited += count
        guard connection != nil, !isReset else { return credit(count) }
        if hasLength { request.append(bytes, count) } else { request.append(chunk: bytes, count) }
        connection?.ready(EPOLLIN.rawValue)
    }

    /// The client has sent all that belongs to the request.
    func requestComplete() {
        guard !isRequestWhole else { return }
        isRequestWhole = true
        guard connection != nil else { return }
        if !hasLength {
            request.append("0\r\n")
            request.append(fields.readable, fields.count)
            request.append("\r\n")
        }
        connection?.ready(EPOLLIN.rawValue)
    }

    /// The client has taken the request back, or is gone with everything it asked for.
    func reset() {
        isReset = true
        isClosed = true
        state = .failed
        body.clear()
        body.releaseIfEmpty()
        connection?.ready(EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLOUT.rawValue)
    }

    /// Both sides have said all, and the session may go; or the client has taken the request back and calls that no error.
    func closed() {
        guard case .whole = state, body.isEmpty else { return reset() }
        isClosed = true
        connection?.ready(EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLOUT.rawValue)
    }

    // MARK: The session's end

    /// Whether nothing of the request is left to be read.
    var isRead: Bool { request.isEmpty }

    /// Moves what is there of the request into the session's buffer.
    /// - Returns: 0: nothing is there now.
    /// - Throws: `.closed` after the last exchange; `.reset` when the client has taken the request back.
    func read(into input: Buffer) throws(IOFailure) -> Int {
        guard !request.isEmpty else {
            if isReset { throw .reset }
            if isClosed { throw .closed }
            return 0
        }
        let count = min(request.count, input.free)
        input.append(request.readable, count)
        request.consume(count)
        request.releaseIfEmpty()
        credit(request.isEmpty ? uncredited : min(uncredited, count))
        return count
    }

    /// Opens the client's window for so many bytes more.
    private func credit(_ count: Int) {
        guard count > 0 else { return }
        uncredited -= count
        session.credit(id, count)
    }

    /// Takes the next bytes of the answer.
    /// - Returns: how many; 0 when the client has to take something first.
    func write(_ bytes: UnsafePointer<UInt8>, _ count: Int) throws(IOFailure) -> Int {
        if isReset { throw .reset }
        let taken: Int
        switch state {
        case .head: taken = min(count, HTTP2Limits.answerHeadBytes - answer.count)
        case .body: taken = min(count, max(0, HTTP2Limits.answerBytes - body.count))
        // The session says nothing after its answer: only what it would say to a connection of HTTP/1.1.
        case .whole: return count
        case .failed: throw .reset
        }
        guard taken > 0 else { return 0 }
        answer.append(bytes, taken)
        understand()
        return taken
    }

    /// The session will say no more.
    func finishWriting() {
        if case .body(let scanner) = state, scanner.endsWithConnection {
            state = .whole
            resume()
        }
    }

    /// The session has let go of its end. What the client has not taken of a whole answer still goes out.
    func connectionClosed() {
        connection = nil
        request.clear()
        request.releaseIfEmpty()
        credit(uncredited)
        guard !isClosed else { return }
        if case .whole = state { return watch() }
        state = .failed
        session.reset(id, NGHTTP2_INTERNAL_ERROR)
    }

    /// Nobody waits for the client any more: it has `timeouts.body` for each part of what is left.
    private func watch() {
        let milliseconds = session.worker.snapshot.settings.timeouts.bodyMilliseconds
        let loop = session.worker.loop
        loop.schedule(after: milliseconds) { [weak self] in
            guard let self, !isClosed else { return }
            if loop.now &- progress >= UInt64(milliseconds) { return session.reset(id, NGHTTP2_CANCEL) }
            watch()
        }
    }

    // MARK: The answer, to the client

    private func understand() {
        while case .head = state {
            let head = session.answerHead
            head.reset()
            switch head.parseResponse(answer.readable, answer.count) {
            case .incomplete: return
            case .refused: return fail()
            case .complete: break
            }
            let scanner = BodyScanner.response(head, toHead: isHead)
            let isInterim = head.status < 200
            let hasBody = !isInterim && !scanner.isDone
            session.submit(head, answer.readable, stream: id, isInterim: isInterim, hasBody: hasBody)
            answer.consume(head.length)
            guard !isInterim else { continue }
            state = hasBody ? .body(scanner) : .whole
        }
        guard case .body(var scanner) = state else { return answer.clear() }
        let used = scanner.scan(answer.readable, answer.count) { body.append($0, $1) }
        guard let used else { return fail() }
        answer.consume(used)
        answer.releaseIfEmpty()
        state = scanner.isDone ? .whole : .body(scanner)
        resume()
    }

    /// The answer is none: the gateway's own fault.
    private func fail() {
        state = .failed
        session.reset(id, NGHTTP2_INTERNAL_ERROR)
    }

    private func resume() {
        guard isDeferred else { return }
        isDeferred = false
        session.resume(id)
    }

    /// Hands the client as much of the body as its window takes.
    /// - Returns: bytes written, and whether they are the last; nil when there are none now.
    func take(into room: UnsafeMutablePointer<UInt8>, _ count: Int) -> (bytes: Int, isLast: Bool)? {
        let isWhole = if case .whole = state { true } else { false }
        let taken = min(count, body.count)
        if taken == 0, !isWhole {
            isDeferred = true
            return nil
        }
        room.update(from: body.readable, count: taken)
        body.consume(taken)
        progress = session.worker.loop.now
        body.releaseIfEmpty()
        if body.count < HTTP2Limits.answerBytes / 2 { connection?.ready(EPOLLOUT.rawValue) }
        return (taken, isWhole && body.isEmpty)
    }

    /// The answer is out, and the client is still sending a request that nobody reads (RFC 9113 §8.1).
    var isAnsweredEarly: Bool { !isRequestWhole && !isClosed }
}

import HTTPWire

/// A copy of an answer for the comparison: head and decoded body, within a limit. Confined to its loop.
final class AnswerCapture {
    /// `endless`: a stream of events, which nobody waits for to end.
    enum State { case waiting, complete, failed, tooLarge, endless }

    private(set) var state = State.waiting
    private(set) var status = 0
    /// The backend did not answer, or with an error of its own.
    var isFailure: Bool { state == .failed || state == .complete && status >= 500 }
    /// Head and body, one behind the other.
    let bytes: Buffer
    private var headCount = 0
    private var limit = 0
    private(set) var contentType = 0..<0
    private(set) var contentEncoding = 0..<0

    /// Called once, when the answer is complete or never will be: before its last bytes go to the client.
    var onEnd: (() -> Void)?

    init(pool: BlockPool) { bytes = Buffer(pool: pool) }

    func reset(limit: Int) {
        state = .waiting
        status = 0
        headCount = 0
        contentType = 0..<0
        contentEncoding = 0..<0
        self.limit = limit
        bytes.clear()
    }

    func release() {
        bytes.clear()
        bytes.releaseIfEmpty()
    }

    func begin(_ p: UnsafePointer<UInt8>, _ head: MessageHead) {
        status = head.status
        headCount = head.length
        if let field = head.firstField(kind: .contentType) { contentType = Int(field.valueStart)..<Int(field.valueEnd) }
        bytes.append(p, head.length)
        noteCodings(p, head)
    }

    /// Several `Content-Encoding` lines are one list (RFC 9110 §5.3): they are joined behind the head.
    private func noteCodings(_ p: UnsafePointer<UInt8>, _ head: MessageHead) {
        guard let first = head.firstField(kind: .contentEncoding) else { return }
        contentEncoding = Int(first.valueStart)..<Int(first.valueEnd)
        let start = headCount
        for i in 0..<head.fieldCount where head.field(i).kind == .contentEncoding {
            let value = head.field(i).value(in: p)
            guard let base = value.baseAddress else { continue }
            if headCount > start { appendToHead(", ") }
            bytes.append(base, value.count)
            headCount += value.count
        }
        contentEncoding = start..<headCount
    }

    private func appendToHead(_ text: StaticString) {
        bytes.append(text)
        headCount += text.utf8CodeUnitCount
    }

    @inline(__always)
    func add(_ p: UnsafePointer<UInt8>, _ count: Int) {
        guard state == .waiting else { return }
        if bytes.count &- headCount &+ count > limit {
            state = .tooLarge
            release()
        } else {
            bytes.append(p, count)
        }
    }

    func complete() {
        if state == .waiting { state = .complete }
        end()
    }

    func fail() {
        if state == .waiting { state = .failed }
        end()
    }

    /// The answer is a stream of events: nobody waits for its end to compare it.
    func leaveOut() {
        if state == .waiting { state = .endless }
        end()
    }

    /// Takes over what another capture has.
    func copy(_ other: AnswerCapture) {
        guard state == .waiting else { return }
        status = other.status
        headCount = other.headCount
        contentType = other.contentType
        contentEncoding = other.contentEncoding
        bytes.append(other.bytes.readable, other.bytes.count)
        state = other.state == .complete && other.body.count > limit ? .tooLarge : other.state
        end()
    }

    private func end() {
        guard let action = onEnd else { return }
        onEnd = nil
        action()
    }

    var body: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes.readable + headCount, count: bytes.count - headCount)
    }
    var head: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes.readable, count: headCount) }

    func slice(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes.readable + range.lowerBound, count: range.count)
    }
}

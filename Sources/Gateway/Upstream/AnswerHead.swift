import HTTPWire

/// Reads the next head that a backend sends, interim or final, and leaves it at the front of the input.
/// - Parameter deadline: in loop milliseconds.
@inline(__always)
func readNextHead(_ upstream: Connection, until deadline: UInt64, loop: EventLoop) async throws(UpstreamFailure) {
    while true {
        if !upstream.input.isEmpty {
            switch upstream.head.parseResponse(upstream.input.readable, upstream.input.count) {
            case .complete: return
            case .refused: throw .malformed
            case .incomplete: break
            }
        }
        let left = Int64(deadline) - Int64(loop.now)
        do throws(IOFailure) {
            if left <= 0 { throw .timeout }
            try await upstream.fill(within: left)
        } catch {
            throw error == .closed && !upstream.input.isEmpty ? .malformed : UpstreamFailure(error)
        }
    }
}

/// Reads the head of a final answer, skipping interim ones.
/// - Parameter timeout: milliseconds for the whole head.
func readAnswerHead(_ upstream: Connection, timeout: Int64, loop: EventLoop) async throws(UpstreamFailure) {
    upstream.head.reset()
    let deadline = loop.now &+ UInt64(timeout)
    while true {
        try await readNextHead(upstream, until: deadline, loop: loop)
        if upstream.head.status >= 200 { return }
        if upstream.head.status == 101 { throw .malformed }
        upstream.input.consume(upstream.head.length)
        upstream.head.reset()
        // They may come without end: everybody else has a turn, and the deadline comes nearer.
        await loop.yield()
    }
}

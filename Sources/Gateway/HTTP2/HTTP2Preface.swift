/// What an HTTP/2 client says first where nothing else has told which protocol it speaks (RFC 9113 §3.4). As HTTP/1.1 it
/// would be a request with a method that nobody has.
enum HTTP2Preface {
    private static let text: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    enum Verdict {
        case http2
        case other
        /// So far it could be either.
        case undecided
    }

    static func judge(_ input: Buffer) -> Verdict {
        let count = min(input.count, text.utf8CodeUnitCount)
        for index in 0..<count where input.readable[index] != text.utf8Start[index] { return .other }
        return count == text.utf8CodeUnitCount ? .http2 : .undecided
    }
}

/// A client that has yet to say which protocol it speaks. Confined to its loop.
final class UndecidedClient: @unchecked Sendable {
    let connection: Connection
    let peerText: [UInt8]

    init(_ connection: Connection, _ peerText: [UInt8]) {
        self.connection = connection
        self.peerText = peerText
    }

    /// Waits for enough of what the client says first.
    /// - Parameter timeout: milliseconds for all of it.
    func speaksHTTP2(timeout: Int64, loop: EventLoop) async throws(IOFailure) -> Bool {
        let deadline = loop.now &+ UInt64(timeout)
        while true {
            switch HTTP2Preface.judge(connection.input) {
            case .http2: return true
            case .other: return false
            case .undecided: break
            }
            let left = Int64(deadline) - Int64(loop.now)
            if left <= 0 { throw .timeout }
            try await connection.fill(timeout: left)
        }
    }
}

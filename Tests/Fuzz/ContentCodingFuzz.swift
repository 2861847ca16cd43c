import ContentCoding

/// Content codings: never more than the limit, whatever a body expands to, and the same body every time.
struct ContentCodingFuzz {
    private static let limit = 64 * 1024
    private static let codings = [
        "gzip", "deflate", "br", "gzip, br", "deflate, deflate", "br,gzip,deflate", "x-gzip", "identity",
    ]

    /// The first byte picks the codings, or is the separator before which their own text stands.
    func run(_ input: UnsafeBufferPointer<UInt8>) {
        guard let first = input.first else { return }
        let body: UnsafeBufferPointer<UInt8>
        let codings: String
        if first == UInt8(ascii: ":"), let end = input.dropFirst().firstIndex(of: UInt8(ascii: "\n")) {
            codings = String(decoding: input[1..<end], as: UTF8.self)
            body = UnsafeBufferPointer(rebasing: input[(end + 1)...])
        } else {
            codings = Self.codings[Int(first) % Self.codings.count]
            body = UnsafeBufferPointer(rebasing: input[1...])
        }
        let outcome = decodeContent(body, codings: codings, limit: Self.limit)
        require(outcome == decodeContent(body, codings: codings, limit: Self.limit), "two results for one body")
        switch outcome {
        case .decoded(let bytes):
            require(bytes.count <= Self.limit, "\(bytes.count) bytes are more than the limit")
            guard !bytes.isEmpty else { return }
            let less = decodeContent(body, codings: codings, limit: bytes.count - 1)
            require(less == .tooLarge, "with a smaller limit it is \(less)")
        case .tooLarge, .undecodable: break
        }
    }
}

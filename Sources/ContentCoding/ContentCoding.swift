internal import CCompress

/// A content coding that Cutover decodes (RFC 9110 §8.4.1).
package enum ContentCoding: Sendable, Hashable {
    case identity, gzip, deflate, brotli
}

/// What became of decoding a body.
package enum DecodeOutcome: Sendable, Hashable {
    /// The body without its codings.
    case decoded([UInt8])
    /// It is larger than the limit, or one of the layers in between is.
    case tooLarge
    /// A coding is unknown, or the bytes are not what the coding says: damaged, cut short, or followed by something else.
    case undecodable
}

/// Takes the content codings off a body.
///
/// - Parameters:
///   - bytes: the body as it came.
///   - codings: the value of `Content-Encoding`, all its lines joined by commas, in the order in which they were applied.
///   - limit: the most bytes that the result, and each layer, may have.
package func decodeContent(
    _ bytes: UnsafeBufferPointer<UInt8>, codings: UnsafeBufferPointer<UInt8>, limit: Int
) -> DecodeOutcome {
    .undecodable
}

/// Takes the content codings off a body; the header's value is a string.
package func decodeContent(_ bytes: UnsafeBufferPointer<UInt8>, codings: String, limit: Int) -> DecodeOutcome {
    Array(codings.utf8).withUnsafeBufferPointer { decodeContent(bytes, codings: $0, limit: limit) }
}

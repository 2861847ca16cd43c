/// A content coding that Cutover decodes (RFC 9110 §8.4.1).
package enum ContentCoding: Sendable, Hashable {
    /// Nothing was done to the body.
    case identity
    /// RFC 1952; `x-gzip` is the same. One member or several.
    case gzip
    /// RFC 1950 as the standard says, or bare RFC 1951 as some servers send it.
    case deflate
    /// `br`, RFC 7932.
    case brotli

    /// The coding with this name, in any case; nil for an unknown one.
    package init?(name: some Collection<UInt8>) {
        let lower = name.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        switch String(decoding: lower, as: UTF8.self) {
        case "identity": self = .identity
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        case "br": self = .brotli
        default: return nil
        }
    }

    /// The most codings that a body may have on it.
    package static let most = 8

    /// Reads a `Content-Encoding` value: the codings in the order in which they were applied; empty list items do not
    /// count. Nil when one is unknown, or there are more than ``most``.
    package static func list(_ value: UnsafeBufferPointer<UInt8>) -> [ContentCoding]? {
        var codings: [ContentCoding] = []
        for item in value.split(separator: UInt8(ascii: ",")) {
            let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
            guard let start = item.firstIndex(where: { !isSpace($0) }),
                let end = item.lastIndex(where: { !isSpace($0) })
            else { continue }
            guard let coding = ContentCoding(name: item[start...end]), codings.count < most else { return nil }
            codings.append(coding)
        }
        return codings
    }
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

/// Takes the content codings off a body. Never holds more than `limit` bytes of a layer, whatever the body expands to.
///
/// A body of no bytes is decoded as one of no bytes: answers without a body may carry the header all the same.
///
/// - Parameters:
///   - bytes: the body as it came.
///   - codings: the value of `Content-Encoding`, all its lines joined by commas, in the order in which they were applied.
///   - limit: the most bytes that the result, and each layer, may have.
package func decodeContent(
    _ bytes: UnsafeBufferPointer<UInt8>, codings: UnsafeBufferPointer<UInt8>, limit: Int
) -> DecodeOutcome {
    guard let codings = ContentCoding.list(codings) else { return .undecodable }
    guard !bytes.isEmpty else { return .decoded([]) }
    var body: [UInt8]?
    for coding in codings.reversed() where coding != .identity {
        let outcome: DecodeOutcome
        if let layer = body {
            // A layer of no bytes is not a coded body of no bytes: that one is at least a header long.
            guard !layer.isEmpty else { return .undecodable }
            outcome = layer.withUnsafeBufferPointer { decode($0, coding, limit: limit) }
        } else {
            outcome = decode(bytes, coding, limit: limit)
        }
        guard case .decoded(let layer) = outcome else { return outcome }
        body = layer
    }
    if let body { return .decoded(body) }
    return bytes.count <= limit ? .decoded(Array(bytes)) : .tooLarge
}

/// Takes the content codings off a body; the header's value is a string.
package func decodeContent(_ bytes: UnsafeBufferPointer<UInt8>, codings: String, limit: Int) -> DecodeOutcome {
    Array(codings.utf8).withUnsafeBufferPointer { decodeContent(bytes, codings: $0, limit: limit) }
}

private func decode(_ bytes: UnsafeBufferPointer<UInt8>, _ coding: ContentCoding, limit: Int) -> DecodeOutcome {
    switch coding {
    case .identity:
        return bytes.count <= limit ? .decoded(Array(bytes)) : .tooLarge
    case .gzip:
        return Inflater.decode(bytes, as: .gzip, limit: limit)
    case .deflate:
        // What looks like a zlib header may be the beginning of a bare stream: the check sum at the end decides.
        if Inflater.looksWrapped(bytes) {
            let outcome = Inflater.decode(bytes, as: .zlib, limit: limit)
            if outcome != .undecodable { return outcome }
        }
        return Inflater.decode(bytes, as: .bare, limit: limit)
    case .brotli:
        return BrotliDecoder.decode(bytes, limit: limit)
    }
}

/// The bytes that a decoder hands on in one go.
let decodedChunk = 16 * 1024

/// Percent-encoding (RFC 3986 §2.1) on bytes: no text, no allocation, any thread.
package enum PercentCoding {
    /// Decodes `count` bytes into `output`, which must have room for as many and may be `input` itself.
    ///
    /// A `%` without two hexadecimal digits stands for itself: the backend decides what it thinks of it.
    /// - Parameter plusIsSpace: true for the query of a form (`application/x-www-form-urlencoded`).
    /// - Returns: how many bytes were written; never more than `count`.
    package static func decode(
        _ input: UnsafePointer<UInt8>, _ count: Int, plusIsSpace: Bool = false, into output: UnsafeMutablePointer<UInt8>
    ) -> Int {
        var read = 0
        var written = 0
        while read < count {
            var octet = octet(input, count, at: &read)
            // Only a `+` that was written as such: `%2B` is a plus sign.
            if plusIsSpace && octet == 0x2b && input[read - 1] == 0x2b { octet = 0x20 }
            output[written] = octet
            written += 1
        }
        return written
    }

    /// A part of a path or query without its percent-encoding; what is no UTF-8 then becomes U+FFFD. For what is not asked for at every
    /// request: it makes a text.
    package static func decoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
        var bytes = Array(text.utf8)
        let count = bytes.count
        let written = bytes.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            return decode(base, count, plusIsSpace: plusIsSpace, into: base)
        }
        return String(decoding: bytes.prefix(written), as: UTF8.self)
    }

    /// A text as one segment of a URL's path or one value of its query: every byte is encoded that is not unreserved (RFC 3986 §2.3).
    package static func encoded(_ text: String) -> String {
        // `.` and `..` alone would be taken for steps in the path.
        let isDots = text == "." || text == ".."
        let digits = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                out.append(byte)
            case UInt8(ascii: ".") where !isDots: out.append(byte)
            default: out += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Whether decoding changes anything.
    package static func isEncoded(_ input: UnsafePointer<UInt8>, _ count: Int, plusIsSpace: Bool = false) -> Bool {
        changes(input, count, plusIsSpace: plusIsSpace)
    }

    @inline(__always)
    static func changes<Bytes: BytePointer>(_ input: Bytes, _ count: Int, plusIsSpace: Bool) -> Bool {
        for offset in 0..<count where input[offset] == 0x25 || (plusIsSpace && input[offset] == 0x2b) { return true }
        return false
    }

    /// Whether encoded bytes stand for the octets `plain`.
    @inline(__always)
    static func equals<Bytes: BytePointer>(
        _ input: Bytes, _ count: Int, _ plain: UnsafePointer<UInt8>, _ plainCount: Int,
        plusIsSpace: Bool = false
    ) -> Bool {
        if count < plainCount { return false }
        var read = 0
        var matched = 0
        while read < count {
            if matched == plainCount { return false }
            var octet = octet(input, count, at: &read)
            if plusIsSpace && octet == 0x2b && input[read - 1] == 0x2b { octet = 0x20 }
            if octet != plain[matched] { return false }
            matched += 1
        }
        return matched == plainCount
    }

    /// The octet that begins at `offset`, which moves past it.
    @inline(__always)
    private static func octet<Bytes: BytePointer>(_ input: Bytes, _ count: Int, at offset: inout Int) -> UInt8 {
        let byte = input[offset]
        if byte == 0x25, offset + 2 < count, let high = nibble(input[offset + 1]), let low = nibble(input[offset + 2]) {
            offset += 3
            return high << 4 | low
        }
        offset += 1
        return byte
    }

    private static func nibble(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}

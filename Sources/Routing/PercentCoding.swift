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

/// Base64 (RFC 4648 §4 and §5) on bytes: no text, no allocation, any thread.
package enum Base64 {
    /// Decodes Base64 into `output`, which must have room for `count / 4 * 3 + 2` bytes and may be `input` itself.
    ///
    /// Lenient where nothing is decided by it: padding may be missing. The backend judges what it gets.
    /// - Returns: how many bytes were written; nil when it is no Base64.
    package static func decode(
        _ input: UnsafePointer<UInt8>, _ count: Int, into output: UnsafeMutablePointer<UInt8>
    ) -> Int? {
        var end = count
        while end > 0 && count - end < 2 && input[end - 1] == 0x3d { end -= 1 }
        if end < count && count % 4 != 0 { return nil }
        return decode(input, end, into: output, url: false)
    }

    /// Decodes the URL-safe alphabet without padding, as JSON Web Tokens use it (RFC 7515 §2), into `output`, which
    /// must have room for `count / 4 * 3 + 2` bytes and may be `input` itself.
    ///
    /// Strict, because signatures are checked over it: no padding, no stray bits, so that a value has one spelling.
    /// - Returns: how many bytes were written; nil when it is not that.
    package static func decodeURL(
        _ input: UnsafePointer<UInt8>, _ count: Int, into output: UnsafeMutablePointer<UInt8>
    ) -> Int? {
        decode(input, count, into: output, url: true)
    }

    private static func decode(
        _ input: UnsafePointer<UInt8>, _ count: Int, into output: UnsafeMutablePointer<UInt8>, url: Bool
    ) -> Int? {
        if count % 4 == 1 { return nil }
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        var written = 0
        for offset in 0..<count {
            guard let sextet = sextet(input[offset], url: url) else { return nil }
            bits = bits &<< 6 | sextet
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                output[written] = UInt8(truncatingIfNeeded: bits &>> bitCount)
                written += 1
            }
        }
        if url && bits & ((1 &<< bitCount) - 1) != 0 { return nil }
        return written
    }

    private static func sextet(_ byte: UInt8, url: Bool) -> UInt32? {
        switch byte {
        case 0x41...0x5a: UInt32(byte - 0x41)
        case 0x61...0x7a: UInt32(byte - 0x61 + 26)
        case 0x30...0x39: UInt32(byte - 0x30 + 52)
        case 0x2b where !url, 0x2d where url: 62
        case 0x2f where !url, 0x5f where url: 63
        default: nil
        }
    }
}

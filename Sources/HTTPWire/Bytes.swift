/// Looking at bytes eight at a time.
///
/// Whoever hands bytes to this module guarantees eight readable bytes past their end, so that a whole word can be
/// loaded at any of them. What is read there never changes a result.
enum Bytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    static let tab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")

    /// The high bit of the lowest byte of `word` that equals `byte` is set, and none below it. (Bits above the lowest
    /// hit may be wrong: the subtraction borrows.)
    @inline(__always)
    private static func hits(_ word: UInt64, _ byte: UInt8) -> UInt64 {
        let difference = word ^ (ones &* UInt64(byte))
        return (difference &- ones) & ~difference & highs
    }

    @inline(__always)
    private static func load(_ p: UnsafePointer<UInt8>, _ offset: Int) -> UInt64 {
        // Inside the buffer or its slack, see above; unaligned on purpose.
        UInt64(littleEndian: UnsafeRawPointer(p).loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The first of the bytes `from..<n` that may not stand in a field value (RFC 9110 §5.5: any control character but
    /// the tab), or `n`.
    @inline(__always)
    static func firstControl(_ p: UnsafePointer<UInt8>, _ from: Int, _ n: Int) -> Int {
        var i = from
        while i < n {
            let word = load(p, i)
            let controls = ((word &- ones &* 0x20) & ~word & highs) | hits(word, 0x7f)
            if controls == 0 {
                i &+= 8
                continue
            }
            i &+= controls.trailingZeroBitCount >> 3
            if i >= n { return n }
            if p[i] != tab { return i }
            i &+= 1
        }
        return n
    }

    /// The first `byte` in `from..<end`, or `end`.
    @inline(__always)
    static func first(_ byte: UInt8, _ p: UnsafePointer<UInt8>, _ from: Int, _ end: Int) -> Int {
        var i = from
        while i < end {
            let found = hits(load(p, i), byte)
            if found != 0 { return min(i &+ found.trailingZeroBitCount >> 3, end) }
            i &+= 8
        }
        return end
    }

    /// The first byte in `from..<end` that is a question mark or may not stand in a target (white space, `#`; other
    /// controls are found elsewhere), or `end`.
    @inline(__always)
    static func firstTargetDelimiter(_ p: UnsafePointer<UInt8>, _ from: Int, _ end: Int) -> Int {
        var i = from
        while i < end {
            let word = load(p, i)
            let found =
                hits(word, space) | hits(word, tab) | hits(word, UInt8(ascii: "#")) | hits(word, UInt8(ascii: "?"))
            if found != 0 { return min(i &+ found.trailingZeroBitCount >> 3, end) }
            i &+= 8
        }
        return end
    }

    /// Whether the byte is a `tchar` (RFC 9110 §5.6.2), from a set of 128 bits.
    @inline(__always)
    static func isToken(_ byte: UInt8) -> Bool {
        let low: UInt64 = 0x03ff_6cfa_0000_0000
        let high: UInt64 = 0x57ff_ffff_c7ff_fffe
        if byte >= 128 { return false }
        return ((byte < 64 ? low : high) >> UInt64(byte & 63)) & 1 != 0
    }

    @inline(__always)
    static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// The `count` (0 to 8) bytes at `p` as one little-endian word, zeros above them.
    @inline(__always)
    static func word(at p: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        let word = load(p, 0)
        return count >= 8 ? word : word & ((1 << UInt64(truncatingIfNeeded: count &* 8)) &- 1)
    }

    /// A literal of at most eight bytes as one little-endian word; folded to a constant by the optimiser.
    @inline(__always)
    static func word(_ literal: StaticString) -> UInt64 {
        var word: UInt64 = 0
        let bytes = literal.utf8Start
        for k in 0..<literal.utf8CodeUnitCount { word |= UInt64(bytes[k]) << UInt64(k &* 8) }
        return word
    }

    /// A word with its letters in lower case. Exact for comparing against letters, digits and hyphens as long as
    /// the word holds no control characters.
    @inline(__always)
    static func lowercased(_ word: UInt64, _ count: Int) -> UInt64 {
        let mask: UInt64 = count >= 8 ? ~0 : (1 << UInt64(truncatingIfNeeded: count &* 8)) &- 1
        return (word | (ones &* 0x20)) & mask
    }

    /// Whether the bytes are this literal, which is of lower-case letters, digits and hyphens.
    @inline(__always)
    static func equals(_ p: UnsafePointer<UInt8>, _ count: Int, _ literal: StaticString) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        let bytes = literal.utf8Start
        for k in 0..<count where lowercased(p[k]) != bytes[k] { return false }
        return true
    }

    @inlinable @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 0x20 : byte }

    /// Whether two runs of the same length are equal but for the case of ASCII letters.
    static func equalIgnoringCase(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        for k in 0..<count where lowercased(a[k]) != lowercased(b[k]) { return false }
        return true
    }
}

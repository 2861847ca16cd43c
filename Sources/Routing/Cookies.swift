/// The `Cookie` header.
package enum Cookies {
    /// A cookie's value in one header line (RFC 6265 §4.2.1: pairs between `;`); the first of a name wins.
    ///
    /// Names are case-sensitive. Blanks around name and value are no part of them, nor are the quotes around a whole
    /// value; a quoted value cannot hold a `;`. Values are opaque: nothing is percent-decoded.
    /// - Returns: the value, possibly empty; nil when no cookie has the name.
    package static func value(
        named name: [UInt8], in header: UnsafePointer<UInt8>, _ count: Int
    ) -> ByteRange? {
        find(name, in: header, count)
    }

    @inline(__always)
    static func find<Bytes: BytePointer>(_ name: [UInt8], in header: Bytes, _ count: Int) -> ByteRange? {
        var start = 0
        while start < count {
            var end = start
            var equals = -1
            while end < count && header[end] != 0x3b {
                if equals < 0 && header[end] == 0x3d { equals = end }
                end += 1
            }
            if equals >= 0 {
                let key = trimmed(header, start, equals)
                if isNamed(name, header + key.start, key.count) {
                    return unquoted(header, trimmed(header, equals + 1, end))
                }
            }
            start = end + 1
        }
        return nil
    }

    @inline(__always)
    private static func trimmed<Bytes: BytePointer>(_ bytes: Bytes, _ start: Int, _ end: Int) -> ByteRange {
        var (first, last) = (start, end)
        while first < last && isBlank(bytes[first]) { first += 1 }
        while last > first && isBlank(bytes[last - 1]) { last -= 1 }
        return ByteRange(start: first, end: last)
    }

    @inline(__always)
    private static func unquoted<Bytes: BytePointer>(_ bytes: Bytes, _ range: ByteRange) -> ByteRange {
        guard range.count >= 2, bytes[range.start] == 0x22, bytes[range.end - 1] == 0x22 else { return range }
        return ByteRange(start: range.start + 1, end: range.end - 1)
    }

    @inline(__always)
    private static func isNamed<Bytes: BytePointer>(_ name: [UInt8], _ bytes: Bytes, _ count: Int) -> Bool {
        guard name.count == count else { return false }
        for offset in 0..<count where name[offset] != bytes[offset] { return false }
        return true
    }
}

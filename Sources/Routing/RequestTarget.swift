/// The parts of a request target in origin form (RFC 9112 §3.2.1).
package enum RequestTarget {
    /// Length of the path: what comes before the first `?` or `#`.
    package static func pathCount(_ target: UnsafePointer<UInt8>, _ count: Int) -> Int {
        var offset = 0
        while offset < count && target[offset] != 0x3f && target[offset] != 0x23 { offset += 1 }
        return offset
    }

    /// The query without its `?` and without a fragment; nil when there is none.
    package static func query(_ target: UnsafePointer<UInt8>, _ count: Int) -> ByteRange? {
        let path = pathCount(target, count)
        guard path < count, target[path] == 0x3f else { return nil }
        var end = path + 1
        while end < count && target[end] != 0x23 { end += 1 }
        return ByteRange(start: path + 1, end: end)
    }

    /// A value of the query, which is given without its `?`: of the first pair with this name (the WHATWG form syntax:
    /// pairs between `&`, names and values percent-encoded, `+` for a space).
    ///
    /// - Parameter name: the decoded name.
    /// - Returns: the value, still encoded (empty for a name without `=`), and whether it needs decoding with
    ///   `PercentCoding.decode(plusIsSpace: true)`; nil when no pair has the name.
    package static func queryValue(
        named name: [UInt8], in query: UnsafePointer<UInt8>, _ count: Int
    ) -> (range: ByteRange, needsDecoding: Bool)? {
        find(name, in: query, count)
    }

    @inline(__always)
    static func find<Bytes: BytePointer>(
        _ name: [UInt8], in query: Bytes, _ count: Int
    ) -> (range: ByteRange, needsDecoding: Bool)? {
        var start = 0
        while start < count {
            var end = start
            var equals = -1
            while end < count && query[end] != 0x26 {
                if equals < 0 && query[end] == 0x3d { equals = end }
                end += 1
            }
            let nameEnd = equals < 0 ? end : equals
            if isNamed(name, query + start, nameEnd - start) {
                let range = ByteRange(start: equals < 0 ? end : equals + 1, end: end)
                let needsDecoding = PercentCoding.changes(query + range.start, range.count, plusIsSpace: true)
                return (range, needsDecoding)
            }
            start = end + 1
        }
        return nil
    }

    @inline(__always)
    private static func isNamed<Bytes: BytePointer>(_ name: [UInt8], _ bytes: Bytes, _ count: Int) -> Bool {
        name.withUnsafeBufferPointer { name in
            guard let base = name.baseAddress else { return false }
            return PercentCoding.equals(bytes, count, base, name.count, plusIsSpace: true)
        }
    }
}

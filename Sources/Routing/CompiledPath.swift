/// A path pattern as flat arrays, so that matching touches no reference-counted enum payload.
struct CompiledPath: Sendable {
    private struct Step: Sendable {
        /// Where the literal begins in `literals`; -1 for a variable.
        var start: Int32
        var count: Int32
    }
    private let literals: [UInt8]
    private let steps: [Step]
    private let matchesRest: Bool

    init(_ pattern: PathPattern) {
        var literals: [UInt8] = []
        var steps: [Step] = []
        for segment in pattern.segments {
            switch segment {
            case .literal(let bytes):
                steps.append(Step(start: Int32(literals.count), count: Int32(bytes.count)))
                literals += bytes
            case .variable:
                steps.append(Step(start: -1, count: 0))
            }
        }
        // Never empty, so that it has an address.
        literals.append(0)
        self.literals = literals
        self.steps = steps
        self.matchesRest = pattern.matchesRest
    }

    /// Whether a path without its query matches. One pass over the path, no going back.
    func matches(_ path: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        guard count > 0, path[0] == 0x2f else { return false }
        return literals.withUnsafeBufferPointer { literals in
            guard let literals = literals.baseAddress else { return false }
            // Offset of the `/` in front of the next segment; `count` when there is none.
            var slash = 0
            for step in steps {
                if slash == count { return false }
                let start = slash + 1
                let end = segmentEnd(path, count, from: start)
                if step.start < 0 {
                    if end == start { return false }
                } else if !PercentCoding.equals(
                    path + start, end - start, literals + Int(step.start), Int(step.count))
                {
                    return false
                }
                slash = end
            }
            return matchesRest || slash == count
        }
    }

    /// The bytes of a segment, still encoded; nil when the path has fewer segments.
    static func segment(_ index: Int, of path: UnsafePointer<UInt8>, _ count: Int) -> ByteRange? {
        guard count > 0, path[0] == 0x2f else { return nil }
        var start = 1
        var left = index
        while true {
            let end = segmentEnd(path, count, from: start)
            if left == 0 { return ByteRange(start: start, end: end) }
            if end == count { return nil }
            left -= 1
            start = end + 1
        }
    }
}

/// Offset of the next `/`, or the end.
@inline(__always)
private func segmentEnd(_ path: UnsafePointer<UInt8>, _ count: Int, from start: Int) -> Int {
    var offset = start
    while offset < count && path[offset] != 0x2f { offset += 1 }
    return offset
}

/// Path patterns as flat arrays of plain numbers and bytes: matching follows no reference and counts none.
struct CompiledPaths: Sendable {
    /// One segment of a pattern.
    private struct Step: Sendable {
        /// Where the literal begins in `literals`; -1 for a variable.
        var start: Int
        var count: Int
    }
    /// One pattern: its part of `steps`.
    struct Path: Sendable {
        fileprivate var firstStep: Int
        fileprivate var endStep: Int
        fileprivate var matchesRest: Bool
    }
    private var literals: [UInt8] = []
    private var steps: [Step] = []

    /// Adds a pattern, which is then matched by what is returned.
    mutating func add(_ pattern: PathPattern) -> Path {
        let first = steps.count
        for segment in pattern.segments {
            switch segment {
            case .literal(let bytes):
                steps.append(Step(start: literals.count, count: bytes.count))
                literals += bytes
            case .variable:
                steps.append(Step(start: -1, count: 0))
            }
        }
        return Path(firstStep: first, endStep: steps.count, matchesRest: pattern.matchesRest)
    }

    /// Whether a path without its query matches. One pass over the path, no going back.
    @inline(__always)
    func matches<Bytes: BytePointer>(_ pattern: Path, _ path: Bytes, _ count: Int) -> Bool {
        guard count > 0, path[0] == 0x2f else { return false }
        // Offset of the `/` in front of the next segment; `count` when there is none.
        var slash = 0
        for index in pattern.firstStep..<pattern.endStep {
            if slash == count { return false }
            let start = slash + 1
            let end = segmentEnd(path, count, from: start)
            if !matches(steps[index], path + start, end - start) { return false }
            slash = end
        }
        return pattern.matchesRest || slash == count
    }

    @inline(__always)
    private func matches<Bytes: BytePointer>(_ step: Step, _ segment: Bytes, _ count: Int) -> Bool {
        if step.start < 0 { return count > 0 }
        return literals.withUnsafeBufferPointer { literals in
            // An empty literal may be the only one there is; then the bytes have no address.
            guard step.count > 0, let base = literals.baseAddress else { return count == 0 }
            return PercentCoding.equals(segment, count, base + step.start, step.count)
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
private func segmentEnd<Bytes: BytePointer>(_ path: Bytes, _ count: Int, from start: Int) -> Int {
    var offset = start
    while offset < count && path[offset] != 0x2f { offset += 1 }
    return offset
}

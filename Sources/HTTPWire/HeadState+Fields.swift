extension HeadState {
    /// Reads field lines up to and with the empty line (RFC 9112 §5).
    @inline(__always)
    mutating func parseFields(_ p: UnsafePointer<UInt8>, _ n: Int) -> Step {
        while true {
            let start = lineStart
            let stop = Bytes.firstControl(p, scanned, n)
            // Judged before the line is whole, with the same result as when it is.
            if stop &- start > limits.headerLineBytes { return .refused(.headerLineTooLong) }
            if stop &- firstLineEnd >= limits.headerBytes { return .refused(.headersTooLarge) }
            switch lineEnd(p, n, stop: stop) {
            case .at: break
            case .incomplete: return .incomplete
            case .refused(let fault): return .refused(fault)
            }
            let next = stop &+ 2
            if next &- firstLineEnd > limits.headerBytes { return .refused(.headersTooLarge) }
            if stop == start {
                length = next
                return .done
            }
            if let fault = parseLine(p, start, stop) { return .refused(fault) }
            lineStart = next
            scanned = next
        }
    }

    /// One field line, `start..<end` without its CRLF, known to hold no control but the tab.
    @inline(__always)
    private mutating func parseLine(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> HeadFault? {
        let colon = Bytes.first(Bytes.colon, p, start, end)
        let kind = colon < end ? FieldKind.of(p + start, colon &- start) : .other
        // A name that was recognised is a token; only the others have to be looked at byte by byte.
        if kind == .other || kind == .cutover, let fault = Self.judgeName(p, start, colon, end) { return fault }
        if fieldCount == limits.headerLines { return .tooManyHeaderLines }
        if fieldCount == fieldCapacity { growFields() }
        var valueStart = colon &+ 1
        while valueStart < end, Bytes.isWhiteSpace(p[valueStart]) { valueStart &+= 1 }
        var valueEnd = end
        while valueEnd > valueStart, Bytes.isWhiteSpace(p[valueEnd &- 1]) { valueEnd &-= 1 }
        (fields + fieldCount).initialize(
            to: Field(
                kind: kind, lineStart: UInt32(truncatingIfNeeded: start), nameEnd: UInt32(truncatingIfNeeded: colon),
                valueStart: UInt32(truncatingIfNeeded: valueStart), valueEnd: UInt32(truncatingIfNeeded: valueEnd),
                lineEnd: UInt32(truncatingIfNeeded: end &+ 2)))
        fieldCount &+= 1
        let fault = kind == .other ? nil : takeUp(kind, p, valueStart, valueEnd)
        kinds |= kind.bit
        return fault
    }

    /// A name is one or more token characters right before the colon (RFC 9112 §5.1); a line that begins with white
    /// space is a folded one (§5.2).
    @inline(__always)
    private static func judgeName(_ p: UnsafePointer<UInt8>, _ start: Int, _ colon: Int, _ end: Int) -> HeadFault? {
        var i = start
        while i < colon, Bytes.isToken(p[i]) { i &+= 1 }
        if i == colon, i > start, colon < end { return nil }
        if Bytes.isWhiteSpace(p[start]) { return .foldedLine }
        if colon == end { return .missingColon }
        if colon == start { return .emptyFieldName }
        while i < colon, Bytes.isWhiteSpace(p[i]) { i &+= 1 }
        return i == colon ? .spaceBeforeColon : .badFieldName
    }

    private mutating func growFields() {
        let capacity = min(fieldCapacity * 2, limits.headerLines)
        let larger = UnsafeMutablePointer<Field>.allocate(capacity: capacity)
        larger.moveInitialize(from: fields, count: fieldCount)
        fields.deallocate()
        fields = larger
        fieldCapacity = capacity
    }
}

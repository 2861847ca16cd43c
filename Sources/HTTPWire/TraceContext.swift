/// The `traceparent` of a request (W3C Trace Context §3.2): which trace it belongs to, and which span asked.
@usableFromInline
package struct TraceParent: Sendable, Equatable {
    /// The trace's id, sixteen bytes.
    package var high: UInt64
    package var low: UInt64
    /// The id of the span that asked; 0 in a trace that begins here.
    package var parent: UInt64
    /// `sampled` (1) and `random-trace-id` (2); the bits that nobody has defined are zero.
    package var flags: UInt8

    /// Whoever asked may have recorded its part of the trace.
    package var isSampled: Bool { flags & 1 != 0 }

    /// Bytes of a `traceparent` of version 00.
    package static let byteCount = 55
    private static let hyphen = UInt8(ascii: "-")

    package init(high: UInt64, low: UInt64, parent: UInt64, flags: UInt8) {
        self.high = high
        self.low = low
        self.parent = parent
        self.flags = flags
    }

    /// Reads a value without the white space around it; nil for what the recommendation calls invalid.
    ///
    /// A version above 00 is read as far as 00 goes, where a hyphen or nothing follows (§4.1.1 "versioning of
    /// traceparent"); ff is no version.
    package init?(_ p: UnsafePointer<UInt8>, _ count: Int) {
        guard count >= Self.byteCount, p[2] == Self.hyphen, p[35] == Self.hyphen, p[52] == Self.hyphen,
            let version = Self.hexadecimal(p, 2), version != 0xff, let high = Self.hexadecimal(p + 3, 16),
            let low = Self.hexadecimal(p + 19, 16), let parent = Self.hexadecimal(p + 36, 16),
            let flags = Self.hexadecimal(p + 53, 2)
        else { return nil }
        guard count == Self.byteCount || version > 0 && p[Self.byteCount] == Self.hyphen else { return nil }
        guard high != 0 || low != 0, parent != 0 else { return nil }
        self.init(high: high, low: low, parent: parent, flags: UInt8(truncatingIfNeeded: flags) & 3)
    }

    /// Lower-case digits only (§3.2.2: `HEXDIGLC`).
    private static func hexadecimal(_ p: UnsafePointer<UInt8>, _ count: Int) -> UInt64? {
        var value: UInt64 = 0
        for i in 0..<count {
            let digit: UInt8
            switch p[i] {
            case 0x30...0x39: digit = p[i] &- 0x30
            case 0x61...0x66: digit = p[i] &- 0x57
            default: return nil
            }
            value = value << 4 | UInt64(digit)
        }
        return value
    }

    // MARK: Lines of the gateway's own

    /// The line that the gateway writes, but for what follows it: name, and version.
    package static let lineStart: StaticString = "traceparent: 00-"
    /// Name, value and line end.
    private static let lineBytes = 13 + byteCount + 2

    /// Where the span's sixteen digits begin, when the last of these lines is one that the gateway wrote.
    package static func spanPlace(inLastOf lines: UnsafePointer<UInt8>, _ count: Int) -> Int? {
        guard count >= lineBytes else { return nil }
        let line = lines + (count - lineBytes)
        for i in 0..<lineStart.utf8CodeUnitCount where line[i] != lineStart.utf8Start[i] { return nil }
        // It is a line of its own, not the end of a longer one.
        guard count == lineBytes || line[-1] == 10 else { return nil }
        return count - lineBytes + 13 + 36
    }
}

/// Judges the `tracestate` lines of a request, one after the other: they are one list (W3C Trace Context §3.3).
///
/// A key that is there twice does not make it invalid: that keys are unique is for whoever adds one, which the gateway never
/// does; who receives the list and passes it on neither drops it for that nor mends it (§3.5, §4.3).
package struct TraceStateCheck: Sendable {
    /// What is longer is no list of vendors (§3.3.1.1: at most 32 members).
    private static let membersMax = 32
    private static let valueMax = 256

    private var members = 0
    /// All lines so far keep the rules. One that does not makes the whole list worthless.
    package private(set) var isValid = true

    package init() {}

    /// The next line's value, without the white space around it.
    package mutating func add(_ p: UnsafePointer<UInt8>, _ count: Int) {
        var start = 0
        while isValid, start <= count {
            var end = start
            while end < count, p[end] != UInt8(ascii: ",") { end &+= 1 }
            member(p, start, end)
            start = end &+ 1
        }
    }

    /// `key=value`, or nothing: empty members are allowed and count for nothing.
    private mutating func member(_ p: UnsafePointer<UInt8>, _ from: Int, _ to: Int) {
        var (start, end) = (from, to)
        while start < end, Bytes.isWhiteSpace(p[start]) { start &+= 1 }
        while end > start, Bytes.isWhiteSpace(p[end &- 1]) { end &-= 1 }
        if start == end { return }
        members &+= 1
        var equals = start
        while equals < end, p[equals] != UInt8(ascii: "=") { equals &+= 1 }
        isValid =
            members <= Self.membersMax && equals < end && Self.isKey(p, start, equals)
            && Self.isValue(p, equals &+ 1, end)
    }

    /// `simple-key`, or `tenant@system` (§3.3.1.3.1). The tenant may begin with a digit.
    private static func isKey(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
        var at = start
        while at < end, p[at] != UInt8(ascii: "@") { at &+= 1 }
        if at == end { return (1...256).contains(end - start) && isLetter(p[start]) && isRest(p, start, end) }
        return (1...241).contains(at - start) && (isLetter(p[start]) || isDigit(p[start])) && isRest(p, start, at)
            && (1...14).contains(end - at - 1) && isLetter(p[at + 1]) && isRest(p, at + 1, end)
    }

    private static func isRest(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
        for i in start..<end {
            switch p[i] {
            case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "*"), UInt8(ascii: "/"): break
            default: guard isLetter(p[i]) || isDigit(p[i]) else { return false }
            }
        }
        return true
    }

    /// Visible characters and spaces but the comma and the equals sign (§3.3.1.3.2); it does not end with a space.
    private static func isValue(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard (1...valueMax).contains(end - start) else { return false }
        for i in start..<end where p[i] < 0x20 || p[i] > 0x7e || p[i] == UInt8(ascii: "=") { return false }
        return true
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7a }
    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}

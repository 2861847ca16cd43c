/// Writes into memory of a fixed size: what does not fit is left out, never written beyond.
///
/// What comes from outside goes through `path` or `text`, so that no byte of a request can end a line, a string of JSON or
/// a quoted field.
struct LineWriter {
    let base: UnsafeMutablePointer<UInt8>
    let capacity: Int
    private(set) var count = 0

    init(_ base: UnsafeMutablePointer<UInt8>, capacity: Int) {
        self.base = base
        self.capacity = capacity
    }

    /// How the strings of a format are written.
    enum Style {
        /// A string of JSON (RFC 8259 §7).
        case json
        /// A field of the combined format, as nginx and Apache escape it.
        case combined
    }

    mutating func add(_ byte: UInt8) {
        guard count < capacity else { return }
        base[count] = byte
        count &+= 1
    }

    mutating func add(_ text: StaticString) { add(text.utf8Start, text.utf8CodeUnitCount) }

    mutating func add(_ p: UnsafePointer<UInt8>, _ n: Int) {
        let n = min(n, capacity &- count)
        (base + count).update(from: p, count: n)
        count &+= n
    }

    mutating func add(decimal value: Int, digits least: Int = 1) {
        var scale = 1
        var digits = 1
        while digits < least || value / scale >= 10 {
            scale &*= 10
            digits &+= 1
        }
        while scale > 0 {
            add(UInt8(truncatingIfNeeded: 48 &+ value / scale % 10))
            scale /= 10
        }
    }

    mutating func add(hex value: UInt64, digits: Int = 16, upperCase: Bool = false) {
        for i in 0..<digits {
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(4 &* (digits &- 1 &- i))) & 15
            add(digit < 10 ? 0x30 &+ digit : (upperCase ? 0x37 : 0x57) &+ digit)
        }
    }

    /// Seconds with six decimals.
    mutating func add(seconds nanoseconds: UInt64) {
        let microseconds = Int(clamping: nanoseconds / 1000)
        add(decimal: microseconds / 1_000_000)
        add(UInt8(ascii: "."))
        add(decimal: microseconds % 1_000_000, digits: 6)
    }

    // MARK: What comes from outside

    /// Part of a target. What is no visible ASCII is percent-encoded, which means the same (RFC 3986 §2.1).
    /// - Parameter end: nothing is written from there on.
    /// - Returns: false when it did not fit.
    mutating func path(_ p: UnsafePointer<UInt8>, _ n: Int, until end: Int, _ style: Style) -> Bool {
        for i in 0..<n {
            guard count &+ 4 <= end else { return false }
            switch p[i] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): escape(p[i], style)
            case 0x21...0x7e: add(p[i])
            default:
                add(UInt8(ascii: "%"))
                add(hex: UInt64(p[i]), digits: 2, upperCase: true)
            }
        }
        return true
    }

    /// Any text. In JSON what is UTF-8 stays, but for what a viewer could take for the end of a line or for an order to
    /// write backwards; everything else becomes visible ASCII.
    /// - Parameter end: nothing is written from there on.
    mutating func text(_ p: UnsafePointer<UInt8>, _ n: Int, until end: Int, _ style: Style) {
        var i = 0
        while i < n, count &+ 8 <= end {
            let byte = p[i]
            if byte > 0x20, byte < 0x7f, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                add(byte)
                i &+= 1
            } else if style == .json, byte == 0x20 {
                add(byte)
                i &+= 1
            } else if style == .json, byte >= 0x80, let (scalar, length) = LineWriter.scalar(p + i, n &- i) {
                if LineWriter.isHarmful(scalar) {
                    add("\\u")
                    add(hex: UInt64(scalar), digits: 4)
                } else {
                    add(p + i, length)
                }
                i &+= length
            } else {
                escape(byte, style)
                i &+= 1
            }
        }
    }

    private mutating func escape(_ byte: UInt8, _ style: Style) {
        switch style {
        case .combined:
            add("\\x")
            add(hex: UInt64(byte), digits: 2, upperCase: true)
        case .json where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\"):
            add(UInt8(ascii: "\\"))
            add(byte)
        case .json where byte < 0x80:
            add("\\u00")
            add(hex: UInt64(byte), digits: 2)
        case .json:
            // No UTF-8: JSON has no way to say it but in words.
            add("\\\\x")
            add(hex: UInt64(byte), digits: 2, upperCase: true)
        }
    }

    /// C1 controls, line and paragraph separators, marks and overrides of direction.
    private static func isHarmful(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x80...0x9f, 0x200b...0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: true
        default: false
        }
    }

    /// The character that begins here, of more than one byte and well-formed (RFC 3629 §4).
    private static func scalar(_ p: UnsafePointer<UInt8>, _ n: Int) -> (scalar: UInt32, length: Int)? {
        let length: Int
        var scalar: UInt32
        switch p[0] {
        case 0xc2...0xdf: (length, scalar) = (2, UInt32(p[0] & 0x1f))
        case 0xe0...0xef: (length, scalar) = (3, UInt32(p[0] & 0x0f))
        case 0xf0...0xf4: (length, scalar) = (4, UInt32(p[0] & 0x07))
        default: return nil
        }
        guard length <= n else { return nil }
        for i in 1..<length {
            guard p[i] & 0xc0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(p[i] & 0x3f)
        }
        let least: UInt32 = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x1_0000
        guard scalar >= least, scalar <= 0x10_ffff, !(0xd800...0xdfff).contains(scalar) else { return nil }
        return (scalar, length)
    }
}

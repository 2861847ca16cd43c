/// Thrown by everything that reads JSON when the bytes are not valid JSON (RFC 8259, UTF-8, at most
/// ``JSONCursor/deepest`` levels). It carries nothing: what is not JSON is compared as bytes.
struct NotJSON: Error {}

/// Where the content of a string stands: between its quotes.
struct JSONText {
    let start: Int
    let count: Int
    /// Whether it holds an escape, so that its bytes are not its value.
    let escaped: Bool
}

/// Walks over JSON bytes, checking them, for the differences and the look-ups. The hash has a faster way of its own
/// (``JSONDigester``), and comes here with what is rare; tests hold that the three agree on what is JSON.
///
/// Unsafe by nature, safe by this rule: every load is preceded by a comparison with `end`, and a load of eight bytes by
/// one that leaves room for eight. Sums wrap (`&+`) because positions are far from overflow, and checks cost time here.
struct JSONCursor {
    /// The most levels of arrays and objects; deeper documents are not JSON to Cutover. It bounds the
    /// recursion: at the deepest, hashing takes about 200 KiB of stack in a release build, 800 KiB in a debug build.
    static let deepest = 512

    let base: UnsafePointer<UInt8>
    let end: Int
    var position = 0

    @inline(__always)
    init(_ base: UnsafePointer<UInt8>, count: Int) {
        self.base = base
        end = count
    }

    /// The byte at the position; 0, which no JSON text holds, at the end.
    @inline(__always)
    var current: UInt8 {
        position < end ? base[position] : 0
    }

    @inline(__always)
    func word(_ offset: Int) -> UInt64 {
        UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self).littleEndian
    }

    /// Passes over white space. Indentation goes eight spaces at a time.
    @inline(__always)
    mutating func skipWhitespace() {
        while position < end {
            let byte = base[position]
            guard byte <= 0x20, Self.isWhitespace(byte) else { return }
            position &+= 1
            while position &+ 8 <= end {
                let others = word(position) ^ 0x2020_2020_2020_2020
                guard others == 0 else {
                    position &+= others.trailingZeroBitCount >> 3
                    break
                }
                position &+= 8
            }
        }
    }

    @inline(__always)
    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Passes over one byte that must be there.
    @inline(__always)
    mutating func expect(_ byte: UInt8) throws(NotJSON) {
        guard current == byte else { throw NotJSON() }
        position &+= 1
    }

    /// Passes over `true`, `false` or `null`.
    @inline(__always)
    mutating func expect(literal: StaticString) throws(NotJSON) {
        let count = literal.utf8CodeUnitCount
        guard position &+ count <= end else { throw NotJSON() }
        for offset in 0..<count where base[position &+ offset] != literal.utf8Start[offset] {
            throw NotJSON()
        }
        position &+= count
    }

    /// Passes over a string; the position is at its opening quote before and behind its closing quote after.
    @inline(__always)
    mutating func scanString() throws(NotJSON) -> JSONText {
        position &+= 1
        let start = position
        var escaped = false
        while true {
            while position &+ 8 <= end {
                let word = word(position)
                let special = Self.specialBytes(word) | word & Self.highBits
                guard special == 0 else {
                    position &+= special.trailingZeroBitCount >> 3
                    break
                }
                position &+= 8
            }
            guard position < end else { throw NotJSON() }
            let byte = base[position]
            if byte == UInt8(ascii: "\"") {
                position &+= 1
                return JSONText(start: start, count: position &- 1 &- start, escaped: escaped)
            } else if byte >= 0x80 {
                try scanMultibyte()
            } else if byte == UInt8(ascii: "\\") {
                try scanEscape()
                escaped = true
            } else if byte < 0x20 {
                throw NotJSON()
            } else {
                position &+= 1
            }
        }
    }

    /// The high bits of the bytes that end a plain run of a string: quote, backslash, control characters. Above the lowest
    /// such byte there may be false ones (a borrow went through), so only the lowest counts.
    @inline(__always)
    private static func specialBytes(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let borrowed = (quotes &- ones) | (backslashes &- ones) | (word &- ones &* 0x20)
        return borrowed & ~word & Self.highBits
    }

    private static var highBits: UInt64 {
        @inline(__always) get { 0x8080_8080_8080_8080 }
    }

    /// Passes over an escape (RFC 8259 §7); a lone surrogate is syntactically valid.
    @inline(never)
    private mutating func scanEscape() throws(NotJSON) {
        guard position &+ 1 < end else { throw NotJSON() }
        switch base[position &+ 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position &+= 2
        case UInt8(ascii: "u"):
            guard position &+ 6 <= end else { throw NotJSON() }
            for offset in 2..<6 where hexDigitValue(base[position &+ offset]) == nil {
                throw NotJSON()
            }
            position &+= 6
        default:
            throw NotJSON()
        }
    }

    /// Passes over a run of characters above ASCII, checking UTF-8 (RFC 3629 §4: no overlong forms, no surrogates,
    /// nothing above U+10FFFF).
    @inline(__always)
    private mutating func scanMultibyte() throws(NotJSON) {
        var at = position
        while at < end, base[at] >= 0x80 {
            let lead = base[at]
            let length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
            guard lead >= 0xC2, lead <= 0xF4, at &+ length <= end else { throw NotJSON() }
            let second = base[at &+ 1]
            guard second & 0xC0 == 0x80 else { throw NotJSON() }
            if length > 2 {
                guard base[at &+ 2] & 0xC0 == 0x80, length == 3 || base[at &+ 3] & 0xC0 == 0x80 else { throw NotJSON() }
                switch lead {
                case 0xE0: guard second >= 0xA0 else { throw NotJSON() }
                case 0xED: guard second < 0xA0 else { throw NotJSON() }
                case 0xF0: guard second >= 0x90 else { throw NotJSON() }
                case 0xF4: guard second < 0x90 else { throw NotJSON() }
                default: break
                }
            }
            at &+= length
        }
        position = at
    }
}

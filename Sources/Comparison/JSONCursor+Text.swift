extension JSONCursor {
    /// Writes the value of a string that ``scanString()`` has passed over; returns the number of bytes.
    ///
    /// `destination` needs room for `text.count` bytes: no escape is shorter than what it stands for. A surrogate pair
    /// becomes the four bytes of its character. A lone surrogate becomes the three bytes that its code point would have
    /// (WTF-8); raw bytes like that are refused as invalid UTF-8, so different values never become the same bytes.
    func decode(_ text: JSONText, into destination: UnsafeMutablePointer<UInt8>) -> Int {
        var source = text.start
        let end = text.start + text.count
        var written = 0
        while source < end {
            let byte = base[source]
            guard byte == UInt8(ascii: "\\") else {
                destination[written] = byte
                source += 1
                written += 1
                continue
            }
            let escape = base[source + 1]
            source += 2
            switch escape {
            case UInt8(ascii: "b"): destination[written] = 0x08
            case UInt8(ascii: "f"): destination[written] = 0x0C
            case UInt8(ascii: "n"): destination[written] = 0x0A
            case UInt8(ascii: "r"): destination[written] = 0x0D
            case UInt8(ascii: "t"): destination[written] = 0x09
            case UInt8(ascii: "u"):
                var code = codeUnit(at: source)
                source += 4
                if code & 0xFC00 == 0xD800, source + 6 <= end, base[source] == UInt8(ascii: "\\"),
                    base[source + 1] == UInt8(ascii: "u")
                {
                    let low = codeUnit(at: source + 2)
                    if low & 0xFC00 == 0xDC00 {
                        code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
                        source += 6
                    }
                }
                written += Self.encode(code, to: destination + written)
                continue
            default: destination[written] = escape  // quote, backslash, solidus
            }
            written += 1
        }
        return written
    }

    /// The value of the four hex digits at `offset`, which have been checked.
    private func codeUnit(at offset: Int) -> UInt32 {
        var value: UInt32 = 0
        for index in offset..<offset + 4 {
            value = value << 4 | UInt32(hexDigitValue(base[index]) ?? 0)
        }
        return value
    }

    /// Writes a code point in UTF-8, surrogates included; returns the number of bytes.
    private static func encode(_ code: UInt32, to destination: UnsafeMutablePointer<UInt8>) -> Int {
        func continuation(_ shift: UInt32) -> UInt8 {
            0x80 | UInt8(truncatingIfNeeded: code >> shift) & 0x3F
        }
        switch code {
        case 0..<0x80:
            destination[0] = UInt8(truncatingIfNeeded: code)
            return 1
        case 0x80..<0x800:
            destination[0] = 0xC0 | UInt8(truncatingIfNeeded: code >> 6)
            destination[1] = continuation(0)
            return 2
        case 0x800..<0x10000:
            destination[0] = 0xE0 | UInt8(truncatingIfNeeded: code >> 12)
            destination[1] = continuation(6)
            destination[2] = continuation(0)
            return 3
        default:
            destination[0] = 0xF0 | UInt8(truncatingIfNeeded: code >> 18)
            destination[1] = continuation(12)
            destination[2] = continuation(6)
            destination[3] = continuation(0)
            return 4
        }
    }
}

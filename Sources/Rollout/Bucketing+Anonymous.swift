extension Bucketing {
    /// Whether an id is nobody's: empty, or nothing but white space (Unicode `White_Space`, in UTF-8; contract §11).
    package static func isAnonymous(_ id: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var offset = 0
        while offset < count {
            let width = whiteSpaceWidth(id + offset, count - offset)
            if width == 0 { return false }
            offset += width
        }
        return true
    }

    /// The length of the white-space character at the start of at least one byte, 0 if there is none.
    private static func whiteSpaceWidth(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
        switch bytes[0] {
        case 0x20, 0x09...0x0d: return 1
        case 0xc2 where count >= 2: return bytes[1] == 0x85 || bytes[1] == 0xa0 ? 2 : 0
        case 0xe1...0xe3 where count >= 3:
            let scalar = UInt32(bytes[0]) << 16 | UInt32(bytes[1]) << 8 | UInt32(bytes[2])
            switch scalar {
            // U+1680, U+2000...U+200A, U+2028, U+2029, U+202F, U+205F, U+3000
            case 0xe19a80, 0xe28080...0xe2808a, 0xe280a8, 0xe280a9, 0xe280af, 0xe2819f, 0xe38080: return 3
            default: return 0
            }
        default: return 0
        }
    }
}

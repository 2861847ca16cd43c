/// JSON as bytes, for whoever writes many values: no text is made on the way.
extension [UInt8] {
    /// Appends a JSON string literal, spelled as `jsonString` spells it.
    package mutating func append(jsonString text: String) {
        append(UInt8(ascii: "\""))
        var text = text
        let isPlain = text.withUTF8 { bytes in
            guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C && $0 != 0x7F }) else { return false }
            append(contentsOf: bytes)
            return true
        }
        if !isPlain { append(contentsOf: jsonString(text).utf8.dropFirst().dropLast()) }
        append(UInt8(ascii: "\""))
    }

    package mutating func append(text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(decimal number: Int64) { append(contentsOf: String(number).utf8) }

    /// Appends an instant of milliseconds since 1970 as a JSON string, in ISO 8601.
    package mutating func append(jsonInstant milliseconds: Int64) {
        append(UInt8(ascii: "\""))
        append(contentsOf: Instant(milliseconds: milliseconds).textWithMilliseconds.utf8)
        append(UInt8(ascii: "\""))
    }
}

/// Why bytes are no JSON that a caller of the API may send.
package struct JSONFault: Error, Equatable {
    package let text: String
}

extension JSONValue {
    /// Reads one JSON document strictly (RFC 8259): UTF-8, nothing behind it, no name twice in an object.
    ///
    /// Numbers stay text, so nothing is rounded and none is too large to be read. Limits: `depthMax` levels, `numberMaxBytes` a
    /// number; what is beyond is a fault.
    package init(reading bytes: [UInt8]) throws(JSONFault) {
        let read = bytes.withUnsafeBufferPointer { bytes in
            Result { () throws(JSONFault) in
                var reader = JSONReader(bytes: bytes)
                return try reader.document()
            }
        }
        self = try read.get()
    }
}

/// One pass over the bytes of a document.
private struct JSONReader {
    static let depthMax = 32
    static let numberMaxBytes = 400

    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func document() throws(JSONFault) -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw fault("something follows the value") }
        return value
    }

    private mutating func value(depth: Int) throws(JSONFault) -> JSONValue {
        guard depth < Self.depthMax else { throw fault("more than \(Self.depthMax) levels") }
        skipSpace()
        guard position < bytes.count else { throw fault("it ends too early") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw fault("no value begins like this")
        }
    }

    private mutating func object(depth: Int) throws(JSONFault) -> JSONValue {
        var members: [(String, JSONValue)] = []
        var names = MemberNames()
        position += 1
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object([]) }
        while true {
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw fault("a member's name is missing")
            }
            let name = try string()
            guard names.insert(name) else { throw fault("the member \"\(name.prefix(40))\" is given twice") }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw fault("a colon is missing") }
            members.append((name, try value(depth: depth + 1)))
            skipSpace()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw fault("a comma or the object's end is missing") }
        }
    }

    private mutating func array(depth: Int) throws(JSONFault) -> JSONValue {
        var elements: [JSONValue] = []
        position += 1
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array([]) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpace()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { throw fault("a comma or the array's end is missing") }
        }
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONFault) -> JSONValue {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count,
            (0..<count).allSatisfy({ bytes[position + $0] == text.utf8Start[$0] })
        else { throw fault("no value begins like this") }
        position += count
        return value
    }

    // MARK: Numbers

    private mutating func number() throws(JSONFault) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        // A zero stands alone before the point.
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        guard position - start <= Self.numberMaxBytes else { throw fault("a number is too long") }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits() throws(JSONFault) {
        let start = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
        if position == start { throw fault("a digit is missing") }
    }

    // MARK: Strings

    private mutating func string() throws(JSONFault) -> String {
        position += 1
        // Most texts have no escape: they are taken over in one piece.
        var start = position
        var text: [UInt8] = []
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let run = UnsafeBufferPointer(rebasing: bytes[start..<position])
                position += 1
                if !text.isEmpty { text.append(contentsOf: run) }
                guard
                    let whole = text.isEmpty
                        ? String(validating: run, as: UTF8.self) : String(validating: text, as: UTF8.self)
                else { throw fault("a text is not UTF-8") }
                return whole
            case UInt8(ascii: "\\"):
                text.append(contentsOf: bytes[start..<position])
                position += 1
                text.append(contentsOf: try escaped().utf8)
                start = position
            case 0..<0x20:
                position += 1
                throw fault("a control character stands in a text")
            default: position += 1
            }
        }
        throw fault("a text does not end")
    }

    private mutating func escaped() throws(JSONFault) -> String {
        guard position < bytes.count else { throw fault("a text does not end") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(UnicodeScalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicode()
        default: throw fault("a backslash stands before what it cannot escape")
        }
    }

    /// What follows `\u`: one scalar, of two halves where it is outside the basic plane.
    private mutating func unicode() throws(JSONFault) -> String {
        let first = try fourDigits()
        if let scalar = UnicodeScalar(first) { return String(scalar) }
        guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw fault("half a character stands in a text")
        }
        let second = try fourDigits()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = UnicodeScalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw fault("half a character stands in a text") }
        return String(scalar)
    }

    private mutating func fourDigits() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard position < bytes.count, let digit = Character(UnicodeScalar(bytes[position])).hexDigitValue else {
                throw fault("\\u stands without its four digits")
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    // MARK: Steps

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func fault(_ text: String) -> JSONFault { JSONFault(text: "\(text), at byte \(position)") }
}

/// The names of an object so far. Few are compared one by one, which costs no table; many go into a set, for a sender could
/// choose an object whose names take a time that grows with their square.
private struct MemberNames {
    private static let fewMax = 12

    private var few: [String] = []
    private var many: Set<String> = []

    /// False if the name was there.
    mutating func insert(_ name: String) -> Bool {
        if few.count < Self.fewMax {
            if few.contains(name) { return false }
            few.append(name)
            return true
        }
        if many.isEmpty { many = Set(few) }
        return many.insert(name).inserted
    }
}

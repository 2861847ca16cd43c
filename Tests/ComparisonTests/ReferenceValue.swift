import Comparison

/// A JSON value as a tree, read by a parser of its own that takes the grammar literally: what the one-pass hash is held
/// against. Strings are UTF-16 code units, numbers are brought into shape as text.
indirect enum ReferenceValue: Hashable {
    case null
    case bool(Bool)
    case number(negative: Bool, digits: String, exponent: Int)
    case string([UInt16])
    case array([ReferenceValue])
    case multiset([ReferenceValue: Int])
    case object([[UInt16]: ReferenceValue])
    case ignored
}

/// Reads ``ReferenceValue``; nil when the bytes are not JSON. It does not limit the depth.
struct ReferenceParser {
    private var scalars: [Unicode.Scalar]
    private var at = 0
    private let rules: ComparisonRules
    private struct Bad: Error {}

    static func parse(_ bytes: [UInt8], rules: ComparisonRules = ComparisonRules()) -> ReferenceValue? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var parser = ReferenceParser(scalars: Array(text.unicodeScalars), rules: rules)
        return try? parser.document()
    }

    private init(scalars: [Unicode.Scalar], rules: ComparisonRules) {
        self.scalars = scalars
        self.rules = rules
    }

    private mutating func document() throws -> ReferenceValue {
        let value = try padded([])
        guard at == scalars.count else { throw Bad() }
        return matches(rules.ignore, []) ? .ignored : value
    }

    private func matches(_ patterns: [PointerPattern], _ path: [String]) -> Bool {
        patterns.contains { pattern in
            pattern.tokens.count == path.count
                && zip(pattern.tokens, path).allSatisfy { token, name in
                    token == .any || token == .name(Array(name.utf8))
                }
        }
    }

    private var next: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        at += 1
        return true
    }

    private mutating func skipWhitespace() {
        while let scalar = next, [" ", "\t", "\r", "\n"].contains(scalar) { at += 1 }
    }

    private mutating func padded(_ path: [String]) throws -> ReferenceValue {
        skipWhitespace()
        defer { skipWhitespace() }
        return try value(path)
    }

    private mutating func value(_ path: [String]) throws -> ReferenceValue {
        if take("\"") { return .string(try string()) }
        if take("{") { return try object(path) }
        if take("[") { return try array(path) }
        for (word, value) in [("true", ReferenceValue.bool(true)), ("false", .bool(false)), ("null", .null)]
        where scalars[at...].starts(with: word.unicodeScalars) {
            at += word.count
            return value
        }
        return try number()
    }

    private mutating func object(_ path: [String]) throws -> ReferenceValue {
        var members: [[UInt16]: ReferenceValue] = [:]
        skipWhitespace()
        if take("}") { return .object([:]) }
        while true {
            skipWhitespace()
            guard take("\"") else { throw Bad() }
            let key = try string()
            let inner = path + [String(decoding: key, as: UTF16.self)]
            skipWhitespace()
            guard take(":") else { throw Bad() }
            let value = try padded(inner)
            if !matches(rules.ignore, inner) { members[key] = value }
            if take("}") { return .object(members) }
            guard take(",") else { throw Bad() }
        }
    }

    private mutating func array(_ path: [String]) throws -> ReferenceValue {
        var elements: [ReferenceValue] = []
        var index = 0
        let isUnordered = matches(rules.unordered, path)
        skipWhitespace()
        if take("]") { return isUnordered ? .multiset([:]) : .array([]) }
        while true {
            let inner = path + [String(index)]
            let value = try padded(inner)
            index += 1
            if !matches(rules.ignore, inner) { elements.append(value) }
            if take("]") { break }
            guard take(",") else { throw Bad() }
        }
        return isUnordered
            ? .multiset(Dictionary(elements.map { ($0, 1) }, uniquingKeysWith: +)) : .array(elements)
    }

    private mutating func string() throws -> [UInt16] {
        var units: [UInt16] = []
        while true {
            guard let scalar = next, scalar.value >= 0x20 else { throw Bad() }
            at += 1
            if scalar == "\"" { return units }
            guard scalar == "\\" else {
                units += Array(String(scalar).utf16)
                continue
            }
            guard let escape = next else { throw Bad() }
            at += 1
            let plain: [Unicode.Scalar: UInt16] = [
                "\"": 0x22, "\\": 0x5C, "/": 0x2F, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9,
            ]
            if let unit = plain[escape] {
                units.append(unit)
                continue
            }
            guard escape == "u", at + 4 <= scalars.count else { throw Bad() }
            let digits = scalars[at..<at + 4]
            guard digits.allSatisfy({ $0.properties.isASCIIHexDigit }),
                let unit = UInt16(String(String.UnicodeScalarView(digits)), radix: 16)
            else { throw Bad() }
            units.append(unit)
            at += 4
        }
    }

    private mutating func digits() throws -> String {
        var text = ""
        while let scalar = next, ("0"..."9").contains(scalar) {
            text.unicodeScalars.append(scalar)
            at += 1
        }
        guard !text.isEmpty else { throw Bad() }
        return text
    }

    /// Exponents are read as Int: the generated documents have none beyond it.
    private mutating func number() throws -> ReferenceValue {
        let negative = take("-")
        var digits = take("0") ? "0" : try digits()
        var exponent = 0
        if take(".") {
            let fraction = try self.digits()
            digits += fraction
            exponent -= fraction.count
        }
        if take("e") || take("E") {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard let value = Int(try self.digits()) else { throw Bad() }
            exponent += isNegative ? -value : value
        }
        while digits.hasSuffix("0") {
            digits.removeLast()
            exponent += 1
        }
        digits = String(digits.drop { $0 == "0" })
        return digits.isEmpty
            ? .number(negative: false, digits: "", exponent: 0)
            : .number(negative: negative, digits: digits, exponent: exponent)
    }
}

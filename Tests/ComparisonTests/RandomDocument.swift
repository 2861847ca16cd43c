import TestSupport

/// A JSON value to be written down in random ways. Numbers are digits and a power of ten; the digits have no zero at
/// either end.
indirect enum RandomValue {
    case null
    case bool(Bool)
    case number(negative: Bool, digits: String, exponent: Int)
    case string(String)
    case array([RandomValue])
    case object([(key: String, value: RandomValue)])
}

extension RandomValue {
    static func random(_ generator: inout SeededGenerator, depth: Int = 0) -> RandomValue {
        switch Int.random(in: 0..<(depth < 4 ? 10 : 6), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2, 3: return randomNumber(&generator)
        case 4, 5: return .string(randomString(&generator))
        case 6, 7:
            let count = Int.random(in: 0...5, using: &generator)
            return .array((0..<count).map { _ in random(&generator, depth: depth + 1) })
        default:
            let count = Bool.random(using: &generator) ? Int.random(in: 0...5, using: &generator) : 30
            var keys: Set<String> = []
            for _ in 0..<count { keys.insert(randomString(&generator)) }
            return .object(
                keys.sorted().map { ($0, random(&generator, depth: count > 5 ? 4 : depth + 1)) })
        }
    }

    static func randomNumber(_ generator: inout SeededGenerator) -> RandomValue {
        let count = Int.random(in: 0...8, using: &generator) == 0 ? 40 : Int.random(in: 1...21, using: &generator)
        var digits = (0..<count).map { _ in String(Int.random(in: 0...9, using: &generator)) }.joined()
        while digits.hasPrefix("0") { digits.removeFirst() }
        while digits.hasSuffix("0") { digits.removeLast() }
        if digits.isEmpty { return .number(negative: false, digits: "0", exponent: 0) }
        return .number(
            negative: Bool.random(using: &generator), digits: digits, exponent: .random(in: -25...25, using: &generator)
        )
    }

    static func randomString(_ generator: inout SeededGenerator) -> String {
        let alphabet: [Character] = [
            "a", "b", "c", "x", "0", " ", "\"", "\\", "/", "\n", "\u{1}", "\u{7F}", "é", "ß", "€", "日", "😀", "𝄞", "~",
        ]
        let count = Int.random(in: 0...4, using: &generator) == 0 ? 40 : Int.random(in: 0...18, using: &generator)
        let plain = Bool.random(using: &generator)
        return String((0..<count).map { _ in alphabet[Int.random(in: 0..<(plain ? 6 : 19), using: &generator)] })
    }

    /// Writes the value down; the generator decides on white space, order of members, escapes, spelling of numbers, and
    /// members that a later one with the same key overrules.
    func written(_ generator: inout SeededGenerator) -> String {
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .string(let text): return Self.written(text, &generator)
        case .number(let negative, let digits, let exponent):
            return (negative ? "-" : "") + Self.written(digits: digits, exponent: exponent, &generator)
        case .array(let elements):
            var items: [String] = []
            for element in elements { items.append(element.written(&generator)) }
            return Self.joined("[", items, "]", &generator)
        case .object(let members):
            var items: [String] = []
            for (key, value) in members.shuffled(using: &generator) {
                let colon = Self.space(&generator) + ":" + Self.space(&generator)
                items.append(Self.written(key, &generator) + colon + value.written(&generator))
            }
            if let member = members.randomElement(using: &generator), Bool.random(using: &generator) {
                let overruled = RandomValue.random(&generator, depth: 4).written(&generator)
                items.insert(Self.written(member.key, &generator) + ":" + overruled, at: 0)
            }
            return Self.joined("{", items, "}", &generator)
        }
    }

    private static func space(_ generator: inout SeededGenerator) -> String {
        let spaces = ["", "", " ", "\n", "\t", "\r\n", "\n                 ", "        "]
        return spaces[Int.random(in: 0..<spaces.count, using: &generator)]
    }

    private static func joined(
        _ open: String, _ items: [String], _ close: String, _ generator: inout SeededGenerator
    ) -> String {
        var text = open + space(&generator)
        for (index, item) in items.enumerated() {
            if index > 0 { text += space(&generator) + "," + space(&generator) }
            text += item
        }
        return text + space(&generator) + close
    }

    private static func written(_ text: String, _ generator: inout SeededGenerator) -> String {
        var result = "\""
        let escapesMuch = Int.random(in: 0...3, using: &generator) == 0
        for scalar in text.unicodeScalars {
            let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            guard mustEscape || (escapesMuch && Bool.random(using: &generator)) else {
                result.unicodeScalars.append(scalar)
                continue
            }
            if scalar == "/" || scalar == "\"" || scalar == "\\", Bool.random(using: &generator) {
                result += "\\\(scalar)"
            } else if scalar == "\n", Bool.random(using: &generator) {
                result += "\\n"
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: Bool.random(using: &generator))
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return result + "\""
    }

    private static func written(digits: String, exponent: Int, _ generator: inout SeededGenerator) -> String {
        // digits × 10^exponent, with zeros added on the right and the point put anywhere.
        let zeros = digits == "0" ? 0 : Int.random(in: 0...4, using: &generator)
        let all = Array(digits + String(repeating: "0", count: zeros))
        let fraction = Int.random(in: 0...all.count + 2, using: &generator)
        let power = exponent - zeros + fraction
        let padded = Array(repeating: "0", count: max(0, fraction + 1 - all.count)) + all
        var text = String(padded.dropLast(fraction))
        if fraction > 0 { text += "." + String(padded.suffix(fraction)) }
        guard power != 0 || Bool.random(using: &generator) else { return text }
        let sign = power < 0 ? "-" : ["", "+"][Int.random(in: 0...1, using: &generator)]
        return text + ["e", "E"][Int.random(in: 0...1, using: &generator)] + sign
            + ["", "0"][
                Int.random(in: 0...1, using: &generator)] + String(abs(power))
    }
}

extension RandomValue {
    /// The value with exactly one thing changed somewhere in it.
    func mutated(_ generator: inout SeededGenerator) -> RandomValue {
        switch self {
        case .null: return .bool(false)
        case .bool(let value): return .bool(!value)
        case .string(let text): return .string(text + "!")
        case .number(let negative, let digits, let exponent):
            if digits == "0" { return .number(negative: true, digits: "1", exponent: 0) }
            switch Int.random(in: 0...2, using: &generator) {
            case 0: return .number(negative: !negative, digits: digits, exponent: exponent)
            case 1: return .number(negative: negative, digits: digits, exponent: exponent + 1)
            default: return .number(negative: negative, digits: digits + "7", exponent: exponent)
            }
        case .array(var elements):
            guard let index = elements.indices.randomElement(using: &generator), Bool.random(using: &generator) else {
                return .array(elements + [.null])
            }
            elements[index] = elements[index].mutated(&generator)
            return .array(elements)
        case .object(var members):
            guard let index = members.indices.randomElement(using: &generator) else {
                return .object([("new", .null)])
            }
            if Bool.random(using: &generator) {
                members[index].value = members[index].value.mutated(&generator)
            } else {
                members.remove(at: index)
            }
            return .object(members)
        }
    }
}

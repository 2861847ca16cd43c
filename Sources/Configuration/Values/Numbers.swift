extension Value {
    /// A number without sign, exponent or underscores: `digits` or `digits.digits`, and what follows it.
    ///
    /// - Returns: the number times 10 to the power of `decimals`, and the rest; nil when the text does not begin with a
    ///   digit, has more decimals than that, or does not fit.
    static func leadingNumber(_ text: Substring, decimals: Int) -> (scaled: Int64, rest: Substring)? {
        let whole = text.prefix { isDigit($0) }
        guard !whole.isEmpty else { return nil }
        var rest = text[whole.endIndex...]
        var fraction: Substring = ""
        if rest.first == "." {
            fraction = rest.dropFirst().prefix { isDigit($0) }
            guard !fraction.isEmpty, fraction.count <= decimals else { return nil }
            rest = rest[fraction.endIndex...]
        }
        let padding = String(repeating: "0", count: decimals - fraction.count)
        guard let scaled = Int64(whole + fraction + padding) else { return nil }
        return (scaled, rest)
    }

    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

    /// A whole number within a range.
    static func integer(_ text: String, in range: ClosedRange<Int>) throws(ValueProblem) -> Int {
        let accepted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard let (number, rest) = leadingNumber(text[...], decimals: 0), rest.isEmpty else {
            throw ValueProblem("not a whole number", accepted: accepted)
        }
        guard let value = Int(exactly: number), range.contains(value) else {
            throw ValueProblem("out of range", accepted: accepted)
        }
        return value
    }

    /// A percentage from 0 to 100 with at most two decimals, with or without `%`, in hundredths of a percent.
    static func percent(_ text: String) throws(ValueProblem) -> Int {
        let accepted = "0 to 100 with at most two decimals"
        guard let (hundredths, rest) = leadingNumber(text[...], decimals: 2), rest.isEmpty || rest == "%" else {
            throw ValueProblem("not a percentage", accepted: accepted)
        }
        guard hundredths <= 10_000 else { throw ValueProblem("out of range", accepted: accepted) }
        return Int(hundredths)
    }

    /// A share with its `%`, `0.5%`, as a ratio from 0 to 1.
    static func share(_ text: String) throws(ValueProblem) -> Double {
        let accepted = "0% to 100% with at most four decimals, such as 0.5%"
        if let (millionths, rest) = leadingNumber(text[...], decimals: 6), rest.isEmpty {
            throw ValueProblem("a share without %", accepted: accepted, suggestion: percentage(meant: text, millionths))
        }
        guard let (scaled, rest) = leadingNumber(text[...], decimals: 4), rest == "%" else {
            throw ValueProblem("not a share", accepted: accepted)
        }
        guard scaled <= 1_000_000 else { throw ValueProblem("out of range", accepted: accepted) }
        return Double(scaled) / 1_000_000
    }

    /// What a number without its sign is as a percentage: below 1 it is a ratio, so `0.005` is `0.5%`.
    private static func percentage(meant text: String, _ millionths: Int64) -> String {
        guard millionths > 0, millionths < 1_000_000 else { return text + "%" }
        let (whole, rest) = millionths.quotientAndRemainder(dividingBy: 10_000)
        var decimals = String(String(10_000 + rest).dropFirst())
        while decimals.hasSuffix("0") { decimals.removeLast() }
        return decimals.isEmpty ? "\(whole)%" : "\(whole).\(decimals)%"
    }

    /// How many times something may be, `1.5`.
    static func factor(_ text: String) throws(ValueProblem) -> Double {
        let accepted = "a number from 1 to 1000 with at most two decimals, such as 1.5"
        guard let (scaled, rest) = leadingNumber(text[...], decimals: 2), rest.isEmpty else {
            throw ValueProblem("not a factor", accepted: accepted)
        }
        guard scaled >= 100, scaled <= 100_000 else { throw ValueProblem("out of range", accepted: accepted) }
        return Double(scaled) / 100
    }

    /// `true` or `false`, the booleans of YAML 1.2; the others of YAML 1.1 get a suggestion.
    static func boolean(_ text: String) throws(ValueProblem) -> Bool {
        switch text {
        case "true", "True", "TRUE": return true
        case "false", "False", "FALSE": return false
        default:
            var suggestion: String?
            switch text.lowercased() {
            case "yes", "on", "y", "1": suggestion = "true"
            case "no", "off", "n", "0": suggestion = "false"
            default: suggestion = Suggestion.nearest(to: text, among: ["true", "false"])
            }
            throw ValueProblem("not a boolean", accepted: "true, false", suggestion: suggestion)
        }
    }

    /// One of the words of a list.
    static func word(_ text: String, of words: [String]) throws(ValueProblem) -> String {
        if words.contains(text) { return text }
        throw ValueProblem(
            "unknown word", accepted: words.joined(separator: ", "),
            suggestion: Suggestion.nearest(to: text, among: words))
    }
}

extension Value {
    /// A reader of whole numbers within a range.
    static func integer(_ range: ClosedRange<Int>) -> Reader<Int> {
        { text throws(ValueProblem) in try integer(text, in: range) }
    }

    /// A reader of one of the words of a list.
    static func word(_ words: [String]) -> Reader<String> {
        { text throws(ValueProblem) in try word(text, of: words) }
    }

    /// A reader of the words of an enumeration.
    static func word<Word: RawRepresentable<String> & CaseIterable>(_ type: Word.Type) -> Reader<Word> {
        { text throws(ValueProblem) in
            let words = Word.allCases.map(\.rawValue)
            guard let value = Word(rawValue: try word(text, of: words)) else { throw ValueProblem("unknown word") }
            return value
        }
    }

    /// A reader of durations within bounds, in milliseconds.
    static func duration(from least: Int64, to most: Int64 = maximumDurationMilliseconds) -> Reader<Int64> {
        { text throws(ValueProblem) in
            let value = try duration(text)
            guard (least...most).contains(value) else {
                throw ValueProblem(
                    "out of range", accepted: "\(durationText(least)) to \(durationText(most))")
            }
            return value
        }
    }

    /// A reader of durations of whole seconds within bounds, in seconds.
    static func seconds(from least: Int64, to most: Int64 = maximumDurationMilliseconds / 1000) -> Reader<Int64> {
        { text throws(ValueProblem) in
            let value = try duration(from: least * 1000, to: most * 1000)(text)
            guard value % 1000 == 0 else { throw ValueProblem("not whole seconds", accepted: "10s, 5m, 2h, 90d") }
            return value / 1000
        }
    }

    /// A reader of sizes within bounds, in bytes.
    static func size(_ range: ClosedRange<Int>) -> Reader<Int> {
        { text throws(ValueProblem) in
            let value = try size(text)
            guard range.contains(value) else {
                throw ValueProblem(
                    "out of range", accepted: "\(sizeText(range.lowerBound)) to \(sizeText(range.upperBound))")
            }
            return value
        }
    }
}

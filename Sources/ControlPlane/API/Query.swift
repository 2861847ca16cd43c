import Routing

/// A call that makes no sense; the text says what is accepted.
struct BadCall: Error {
    let text: String
}

/// The parameters of a request, read strictly. Those that an operation does not know are refused before it is asked (`AdminAPI.handle`).
struct Query {
    private var values: [String: [String]] = [:]

    init(_ text: String) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values[PercentCoding.decoded(parts[0]), default: []].append(
                parts.count > 1 ? PercentCoding.decoded(parts[1]) : "")
        }
    }

    /// A mistyped name would otherwise ask for something else than was meant.
    /// - Throws: the first parameter, by its name, that is none of these.
    func accepts(only names: [String]) throws(BadCall) {
        guard let unknown = values.keys.sorted().first(where: { !names.contains($0) }) else { return }
        throw BadCall(
            text: "unknown parameter \"\(unknown.prefix(40))\"; accepted: "
                + (names.isEmpty ? "none" : names.joined(separator: ", ")))
    }

    /// - Throws: a parameter that is given twice: nobody could tell which one is meant.
    func text(_ name: String) throws(BadCall) -> String? {
        let found = values[name] ?? []
        guard found.count < 2 else { throw BadCall(text: "\(name): given \(found.count) times") }
        return found.first
    }

    /// A whole number above 0; what is larger than any number counts as the largest.
    func count(_ name: String) throws(BadCall) -> Int64? {
        guard let text = try text(name) else { return nil }
        guard let number = wholeNumber(text), number > 0 else {
            throw BadCall(text: "\(name): \"\(text.prefix(40))\" is no whole number above 0")
        }
        return number
    }

    func flag(_ name: String) throws(BadCall) -> Bool {
        switch try text(name) {
        case nil, "false", "0": false
        case "true", "1": true
        case let other?: throw BadCall(text: "\(name): \"\(other.prefix(40))\" is neither true nor false")
        }
    }

    /// One of some words; nil when it is not given.
    func word(_ name: String, among words: [String]) throws(BadCall) -> String? {
        guard let text = try text(name) else { return nil }
        guard words.contains(text) else {
            throw BadCall(text: "\(name): \"\(text.prefix(40))\"; accepted: \(words.joined(separator: ", "))")
        }
        return text
    }
}

/// Digits only, as no sign and no white space is one; what does not fit is the largest number.
func wholeNumber(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text) ?? .max
}

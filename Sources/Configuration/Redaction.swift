/// Keeps secrets out of messages (contract §3: secrets are never printed).
enum Redaction {
    static let mark = "[redacted]"

    /// Words in the last part of a key path whose value is a secret, unless the key names a file.
    private static let secretWords = ["secret", "password", "passwd", "token", "credential", "private"]

    /// The form of a value that may be printed: secrets replaced, control characters escaped, long text cut.
    static func shown(_ text: String, keyPath: String = "", limit: Int = 80) -> String {
        let key = keyPath.split(separator: ".").last.map { $0.lowercased() } ?? ""
        if !key.hasSuffix("_file"), secretWords.contains(where: { key.contains($0) }) { return mark }
        var text = withoutUserInfo(text)
        // A webhook's path is its password (chat services hand out such URLs).
        text = key == "webhook" ? withoutPath(text) : withoutQuery(text)
        return escaped(text, limit: limit)
    }

    /// Whatever stands before the last `@` may be `user:password`; a password may itself hold `/` or `@`.
    private static func withoutUserInfo(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@") else { return text }
        guard let colons = schemeEnd(text), colons <= at else { return mark + text[at...] }
        return text[..<colons] + mark + text[at...]
    }

    private static func withoutQuery(_ text: String) -> String {
        guard schemeEnd(text) != nil, let mark = text.firstIndex(of: "?") else { return text }
        return text[...mark] + Self.mark
    }

    private static func withoutPath(_ text: String) -> String {
        guard let start = schemeEnd(text) else { return mark }
        let slash = text[start...].firstIndex { $0 == "/" || $0 == "?" }
        // What cannot be a host may be part of what was pasted wrongly.
        let isHost = text[start..<(slash ?? text.endIndex)].utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || "-.:[]_@%".utf8.contains($0)
        }
        guard isHost else { return text[..<start] + mark }
        return slash.map { text[...$0] + mark } ?? text
    }

    /// Index after `://`; nil when there is none.
    private static func schemeEnd(_ text: String) -> String.Index? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let rest = text[text.index(after: colon)...]
        return rest.hasPrefix("//") ? rest.index(rest.startIndex, offsetBy: 2) : nil
    }

    private static func escaped(_ text: String, limit: Int) -> String {
        var result = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            if count == limit { return result + "…" }
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || isDirection(scalar):
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Characters that turn the direction of writing could make a message read as something else.
    private static func isDirection(_ scalar: Unicode.Scalar) -> Bool {
        (0x200E...0x200F).contains(scalar.value) || (0x2028...0x202E).contains(scalar.value)
            || (0x2066...0x2069).contains(scalar.value)
    }
}

internal import Comparison
internal import Routing

extension Value {
    /// A header or cookie name: a token (RFC 9110 §5.6.2).
    static func token(_ text: String) throws(ValueProblem) -> String {
        guard !text.isEmpty, text.utf8.allSatisfy(isTokenByte) else {
            throw ValueProblem("not a valid name", accepted: "letters, digits and !#$%&'*+-.^_`|~, such as X-User-Id")
        }
        return text
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    /// Text that is neither empty nor white space, without control characters.
    static func text(_ text: String) throws(ValueProblem) -> String {
        guard !text.trimmed.isEmpty else { throw ValueProblem("empty", accepted: "text that is not empty") }
        guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw ValueProblem("control characters in", accepted: "text of one line")
        }
        return text
    }

    /// A JSON pointer that names something below the root (RFC 6901).
    static func pointer(_ text: String) throws(ValueProblem) -> String {
        guard text.hasPrefix("/"), PointerPattern(text) != nil else { throw notAPointer(text) }
        return text
    }

    /// The same, or the empty pointer: the whole document (RFC 6901 §5).
    static func pointerPatternOrRoot(_ text: String) throws(ValueProblem) -> PointerPattern {
        if text.isEmpty, let root = PointerPattern(text) { return root }
        return try pointerPattern(text)
    }

    /// A JSON pointer whose tokens may be `*`.
    static func pointerPattern(_ text: String) throws(ValueProblem) -> PointerPattern {
        guard text.hasPrefix("/"), let pattern = PointerPattern(text) else { throw notAPointer(text) }
        return pattern
    }

    private static func notAPointer(_ text: String) -> ValueProblem {
        var guess: String?
        if text.hasPrefix("$.") {
            guess = "/" + text.dropFirst(2).split(separator: ".").joined(separator: "/")
        } else if !text.isEmpty, !text.hasPrefix("/"), !text.contains("~") {
            guess = "/" + text.split(separator: ".").joined(separator: "/")
        }
        return ValueProblem(
            "not a JSON pointer", accepted: "/name/name, with ~0 for ~ and ~1 for /", suggestion: guess)
    }

    /// `METHOD /pattern`, or `* /pattern` for every method.
    static func routePattern(_ text: String) throws(ValueProblem) -> RoutePattern {
        let accepted = "METHOD /path or * /path, with {name} for one segment and /** at the end for any rest"
        let parts = text.split(separator: " ").map(String.init)
        guard parts.count == 2 else {
            let guess = parts.count == 1 && text.hasPrefix("/") ? "* " + text : nil
            throw ValueProblem("not a route pattern", accepted: accepted, suggestion: guess)
        }
        if parts[0] != "*" {
            let method = try token(parts[0])
            // Methods are case-sensitive (RFC 9110 §9.1); nobody means a method `get`.
            if method.utf8.contains(where: { (0x61...0x7A).contains($0) }) {
                throw ValueProblem(
                    "a method in lower case in", accepted: accepted, suggestion: "\(method.uppercased()) \(parts[1])")
            }
        }
        if parts[1].contains("?") || parts[1].contains("#") {
            throw ValueProblem("a query in the path pattern", accepted: accepted)
        }
        guard let pattern = RoutePattern(text) else {
            let guess = parts[1].hasPrefix("/") ? nil : "\(parts[0]) /\(parts[1])"
            throw ValueProblem(
                "not a route pattern", accepted: accepted, suggestion: guess.flatMap { RoutePattern($0)?.text })
        }
        return pattern
    }

    /// Where a record is read: a target with `{record}` and `{user}`.
    static func readTemplate(_ text: String) throws(ValueProblem) -> ReadTemplate {
        guard let template = ReadTemplate(text) else {
            throw ValueProblem(
                "not a target to read", accepted: "/path with {record} and {user}, such as /records/{record}",
                suggestion: text.hasPrefix("/") ? nil : ReadTemplate("/" + text)?.text)
        }
        return template
    }

    /// A path that holds the user's id.
    static func userPath(_ text: String) throws(ValueProblem) -> PathPattern {
        let accepted = "/path with {user_id} for the user, such as /users/{user_id}/**"
        guard let pattern = PathPattern(text) else { throw ValueProblem("not a path pattern", accepted: accepted) }
        let variables = pattern.segments.compactMap {
            if case .variable(let name) = $0 { name } else { nil }
        }
        guard variables.count == 1 || variables.contains("user_id") else {
            throw ValueProblem(
                variables.isEmpty ? "no variable for the user in" : "no variable named user_id in", accepted: accepted)
        }
        return pattern
    }
}

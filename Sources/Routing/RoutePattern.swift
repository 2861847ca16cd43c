/// `METHOD /path/pattern`: a method (or `*`) and a path pattern.
package struct RoutePattern: Sendable, Equatable {
    package let text: String
    /// nil matches every method. Methods are case-sensitive (RFC 9110 §9.1), and `GET` is not `HEAD`.
    package let method: String?
    package let path: PathPattern

    /// Parses `METHOD /pattern`; nil when it is malformed.
    package init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let path = PathPattern(String(parts[1])) else { return nil }
        let isMethod = parts[0].utf8.allSatisfy(isTokenByte)
        guard parts[0] == "*" || (isMethod && !parts[0].contains("*")) else { return nil }
        self.text = text
        self.method = parts[0] == "*" ? nil : String(parts[0])
        self.path = path
    }
}

/// A path pattern: literal segments, `{name}` for one segment, `/**` at the end for any rest, nothing included.
///
/// The rules, for a path without its query:
/// - The path is cut at every `/` first and decoded afterwards, so that `%2F` never separates segments.
/// - A literal matches the octets that a segment stands for: `/caf%C3%A9` and `/café` are one, in pattern and path.
/// - `{name}` matches exactly one segment of at least one byte.
/// - Empty segments count: `/notes`, `/notes/` and `//notes` are three paths. A pattern that ends in `/` matches only
///   paths that do.
/// - `/**` matches nothing, a lone `/` and everything below: `/users/{id}/**` matches `/users/42`, `/users/42/` and
///   `/users/42/notes/7`. `/**` alone matches every path.
/// - Dot segments are segments like others; nothing is normalised, because the backend gets the path as it came.
package struct PathPattern: Sendable, Equatable {
    package enum Segment: Sendable, Equatable {
        /// The octets that the segment stands for, percent-decoded.
        case literal([UInt8])
        case variable(String)
    }
    package let text: String
    package let segments: [Segment]
    package let matchesRest: Bool

    /// Parses a pattern; nil when it does not begin with `/`, has `**` elsewhere than at the end, has braces that do
    /// not surround a whole segment, names a variable twice, or holds a query, a fragment or white space.
    package init?(_ text: String) {
        guard text.utf8.first == 0x2f, !text.utf8.contains(where: isForbiddenByte) else { return nil }
        var parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        matchesRest = parts.last == "**"
        if matchesRest { parts.removeLast() }
        var segments: [Segment] = []
        for part in parts {
            if part.contains("**") { return nil }
            if part.hasPrefix("{"), part.hasSuffix("}"), part.count > 2 {
                let variable = Segment.variable(String(part.dropFirst().dropLast()))
                if part.dropFirst().dropLast().contains(where: { $0 == "{" || $0 == "}" }) { return nil }
                if segments.contains(variable) { return nil }
                segments.append(variable)
            } else if part.contains("{") || part.contains("}") {
                return nil
            } else {
                segments.append(.literal(decoded(Array(part.utf8))))
            }
        }
        self.text = text
        self.segments = segments
    }

    /// Index of the segment with a variable; nil when the pattern has none of that name.
    package func segmentIndex(ofVariable name: String) -> Int? {
        segments.firstIndex(of: .variable(name))
    }
}

/// A byte that a path cannot have: white space, controls, `?`, `#`.
private func isForbiddenByte(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == 0x7f || byte == 0x3f || byte == 0x23
}

private func decoded(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: bytes.count) { output, count in
        guard let output = output.baseAddress else { return }
        count = bytes.withUnsafeBufferPointer { input in
            input.baseAddress.map { PercentCoding.decode($0, input.count, into: output) } ?? 0
        }
    }
}

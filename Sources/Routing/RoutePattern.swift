/// `METHOD /path/pattern`: a method (or `*`) and a path pattern.
package struct RoutePattern: Sendable, Equatable {
    package let text: String
    /// nil matches every method.
    package let method: String?
    package let path: PathPattern

    /// Parses `METHOD /pattern`; nil when it is malformed.
    package init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let path = PathPattern(String(parts[1])) else { return nil }
        self.text = text
        self.method = parts[0] == "*" ? nil : String(parts[0])
        self.path = path
    }
}

/// A path pattern: literal segments, `{name}` for one segment, `/**` at the end for any rest, nothing included.
package struct PathPattern: Sendable, Equatable {
    package enum Segment: Sendable, Equatable {
        case literal([UInt8])
        case variable(String)
    }
    package let text: String
    package let segments: [Segment]
    package let matchesRest: Bool

    /// Parses a pattern; nil when it does not begin with `/` or has `**` elsewhere than at the end.
    package init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        var parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        matchesRest = parts.last == "**"
        if matchesRest { parts.removeLast() }
        var segments: [Segment] = []
        for part in parts {
            if part.contains("**") { return nil }
            if part.hasPrefix("{"), part.hasSuffix("}"), part.count > 2 {
                segments.append(.variable(String(part.dropFirst().dropLast())))
            } else if part.contains("{") || part.contains("}") {
                return nil
            } else {
                segments.append(.literal(Array(part.utf8)))
            }
        }
        self.text = text
        self.segments = segments
    }
}

/// What does not count when two answers are compared.
package struct ComparisonRules: Sendable {
    /// JSON pointers (RFC 6901, `*` matches any member or element) whose values do not count.
    package var ignore: [PointerPattern] = []
    /// JSON pointers of arrays whose order does not count.
    package var unordered: [PointerPattern] = []

    package init(ignore: [PointerPattern] = [], unordered: [PointerPattern] = []) {
        self.ignore = ignore
        self.unordered = unordered
    }
}

/// A JSON pointer (RFC 6901) whose reference tokens may be `*`.
package struct PointerPattern: Sendable, Equatable {
    package enum Token: Sendable, Equatable {
        case any
        case name([UInt8])
    }
    package let text: String
    package let tokens: [Token]

    /// Parses a pointer; nil when it neither is empty nor begins with `/`, or holds a bad `~` escape.
    package init?(_ text: String) {
        guard text.isEmpty || text.hasPrefix("/") else { return nil }
        var tokens: [Token] = []
        for part in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            if part == "*" {
                tokens.append(.any)
                continue
            }
            var bytes: [UInt8] = []
            var iterator = part.utf8.makeIterator()
            while let byte = iterator.next() {
                guard byte == UInt8(ascii: "~") else {
                    bytes.append(byte)
                    continue
                }
                switch iterator.next() {
                case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
                default: return nil
                }
            }
            tokens.append(.name(bytes))
        }
        self.text = text
        self.tokens = tokens
    }
}

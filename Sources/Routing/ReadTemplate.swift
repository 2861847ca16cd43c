/// Where a record can be read that a write has touched (`read` of a route): a target with `{record}`, and `{user}` where the
/// backend wants it, such as `/users/{user}/records/{record}`. Both are percent-encoded into it.
package struct ReadTemplate: Sendable, Equatable {
    private enum Part: Sendable, Equatable {
        case text(String)
        case record
        case user
    }
    package let text: String
    private let parts: [Part]

    /// Parses a template; nil when it does not begin with `/`, has braces that are neither `{record}` nor `{user}`, or holds
    /// white space, controls, a fragment or characters outside ASCII.
    package init?(_ text: String) {
        guard text.utf8.first == 0x2f, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x23 }) else {
            return nil
        }
        var parts: [Part] = []
        var rest = text[...]
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            if brace != rest.startIndex { parts.append(.text(String(rest[..<brace]))) }
            rest = rest[brace...]
            if rest.hasPrefix("{record}") {
                parts.append(.record)
                rest = rest.dropFirst("{record}".count)
            } else if rest.hasPrefix("{user}") {
                parts.append(.user)
                rest = rest.dropFirst("{user}".count)
            } else {
                return nil
            }
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.text = text
        self.parts = parts
    }

    /// Whether the record's id is part of it.
    package var namesRecord: Bool { parts.contains(.record) }

    /// The target of a record; nil where the template wants what the change does not have.
    package func target(record: String?, user: String?) -> String? {
        var target = ""
        for part in parts {
            switch part {
            case .text(let text): target += text
            case .record:
                guard let record else { return nil }
                target += PercentCoding.encodedSegment(record)
            case .user:
                guard let user else { return nil }
                target += PercentCoding.encodedSegment(user)
            }
        }
        return target
    }
}

extension PercentCoding {
    /// A text as one segment of a path or one value of a query: all but unreserved characters encoded (RFC 3986 §2.3). `.` and
    /// `..` alone would be steps in the path, so they are encoded, too.
    package static func encodedSegment(_ text: String) -> String {
        let isDots = text == "." || text == ".."
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f, 0x7e: bytes.append(byte)
            case 0x2e where !isDots: bytes.append(byte)
            default: bytes += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

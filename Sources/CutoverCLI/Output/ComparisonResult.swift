import Comparison
import ControlPlane
import Values

/// What comparing two documents came to.
struct ComparisonResult {
    let first: Document
    let second: Document
    let firstHash: ContentHash
    let secondHash: ContentHash
    /// Status or a header line: its name and both values.
    let outer: [(name: String, first: String, second: String)]
    let differences: [Difference]
    /// More paths differ than were asked for.
    let isShortened: Bool

    var isEqual: Bool { outer.isEmpty && firstHash == secondHash }

    /// `/items/0/title  changed`, one line a path.
    func text(_ console: Console) -> String {
        if isEqual { return "equal  \(firstHash.hex)" }
        var table: [(path: String, how: String)] = outer.map { ($0.name, "\($0.first) → \($0.second)") }
        table += differences.map { ($0.path.isEmpty ? "(whole body)" : $0.path, describe($0)) }
        let width = min(60, table.map { printable($0.path).count }.max() ?? 0)
        var lines = table.map { padded(printable($0.path), to: width) + "  " + printable($0.how) }
        if isShortened { lines.append("and more: --limit N shows them") }
        return lines.joined(separator: "\n")
    }

    private func describe(_ difference: Difference) -> String {
        let (one, other) = (difference.first, difference.second)
        switch difference.kind {
        case .changed: return one.flatMap { one in other.map { "\(one) → \($0)" } } ?? "changed"
        case .onlyInFirst: return "only in \(first.name)" + (one.map { ": \($0)" } ?? "")
        case .onlyInSecond: return "only in \(second.name)" + (other.map { ": \($0)" } ?? "")
        case .bytes(let offset): return "differs from byte \(offset) on"
        }
    }

    /// One object; `paths` are those of the content, as in a mismatch, `differences` names status and header lines, too.
    var json: JSONValue {
        let found = outer.map { item -> JSONValue in
            .object([
                ("path", .string(item.name)), ("kind", "changed"), ("first", .string(item.first)),
                ("second", .string(item.second)),
            ])
        }
        return .object([
            ("equal", .bool(isEqual)), ("first", side(first, firstHash)), ("second", side(second, secondHash)),
            ("paths", .array(differences.map { .string($0.path) })),
            ("differences", .array(found + differences.map(differenceJSON))), ("more", .bool(isShortened)),
        ])
    }

    private func side(_ document: Document, _ hash: ContentHash) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("name", .string(document.name)), ("hash", .string(hash.hex)),
        ]
        if let status = document.status { members.append(("status", .number(String(status)))) }
        return .object(members)
    }

    private func differenceJSON(_ difference: Difference) -> JSONValue {
        var members: [(String, JSONValue)] = [("path", .string(difference.path))]
        switch difference.kind {
        case .changed: members.append(("kind", "changed"))
        case .onlyInFirst: members.append(("kind", "only-in-first"))
        case .onlyInSecond: members.append(("kind", "only-in-second"))
        case .bytes(let offset): members += [("kind", "bytes"), ("offset", .number(String(offset)))]
        }
        if let first = difference.first { members.append(("first", .string(first))) }
        if let second = difference.second { members.append(("second", .string(second))) }
        return .object(members)
    }
}

/// Compares two documents: of two answers also status and content type, of all the content.
func compare(
    _ first: Document, _ second: Document, rules: ComparisonRules, isJSON: Bool, limit: Int, includeValues: Bool
) -> ComparisonResult {
    var outer: [(name: String, first: String, second: String)] = []
    if let one = first.status, let other = second.status {
        if one != other { outer.append(("status", String(one), String(other))) }
        let (type, otherType) = (first.contentType ?? "none", second.contentType ?? "none")
        if type != otherType { outer.append(("content-type", type, otherType)) }
    }
    let hasher = ContentHasher()
    let hashes = (
        hasher.hash(first.bytes, isJSON: isJSON, rules: rules), hasher.hash(second.bytes, isJSON: isJSON, rules: rules)
    )
    var differences: [Difference] = []
    if hashes.0 != hashes.1 {
        differences = first.bytes.withUnsafeBufferPointer { one in
            second.bytes.withUnsafeBufferPointer { other in
                findDifferences(
                    one, other, isJSON: isJSON, rules: rules, limit: limit + 1, includeValues: includeValues)
            }
        }
    }
    return ComparisonResult(
        first: first, second: second, firstHash: hashes.0, secondHash: hashes.1, outer: outer,
        differences: Array(differences.prefix(limit)), isShortened: differences.count > limit)
}

/// One place where two documents differ.
package struct Difference: Sendable, Hashable {
    /// How the two differ at the path.
    package enum Kind: Sendable, Hashable {
        /// Both have a value there, and they differ.
        case changed
        /// Only the first document has it.
        case onlyInFirst
        /// Only the second document has it.
        case onlyInSecond
        /// The two were compared as bytes; they differ first at this offset.
        case bytes(offset: Int)
    }

    /// An RFC 6901 pointer; empty for the whole document. It holds keys of the documents: escape it for a terminal.
    package let path: String
    package let kind: Kind
    /// The JSON text of the first document's value, shortened; nil unless values were asked for.
    package let first: String?
    /// The JSON text of the second document's value, shortened; nil unless values were asked for.
    package let second: String?
}

/// The places where two bodies differ, in the order of the first document. Empty if and only if their content hashes are
/// equal. Not for the hot path: it builds both trees.
///
/// Elements of an unordered array have no place of their own: those without an equal on the other side are paired in
/// their order, and are named by the first document's index (by the second's when only it has them).
///
/// - Parameters:
///   - isJSON: as for ``ContentHasher/hash(_:isJSON:rules:)-(UnsafeBufferPointer<UInt8>,_,_)``.
///   - limit: the most differences to return; at least one is returned when there is one.
///   - includeValues: whether to return the values themselves, each cut to 256 bytes.
package func findDifferences(
    _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>, isJSON: Bool = true,
    rules: ComparisonRules, limit: Int = 20, includeValues: Bool = false
) -> [Difference] {
    if isJSON, let firstTree = JSONTreeBuilder.tree(of: first, rules: rules),
        let secondTree = JSONTreeBuilder.tree(of: second, rules: rules)
    {
        var finder = DifferenceFinder(
            first: first, second: second, limit: max(1, limit), includesValues: includeValues)
        finder.compare(firstTree, secondTree, path: "")
        return finder.found
    }
    let shorter = min(first.count, second.count)
    let offset = (0..<shorter).first { first[$0] != second[$0] } ?? shorter
    guard offset < shorter || first.count != second.count else { return [] }
    return [Difference(path: "", kind: .bytes(offset: offset), first: nil, second: nil)]
}

/// The RFC 6901 paths where two bodies differ, at most `limit`; `[""]` when they differ and one of them is not JSON.
/// Never a value.
package func differences(
    _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>, isJSON: Bool = true,
    rules: ComparisonRules, limit: Int = 20
) -> [String] {
    findDifferences(first, second, isJSON: isJSON, rules: rules, limit: limit).map(\.path)
}

/// Walks two trees side by side.
private struct DifferenceFinder {
    let first: UnsafeBufferPointer<UInt8>
    let second: UnsafeBufferPointer<UInt8>
    let limit: Int
    let includesValues: Bool
    var found: [Difference] = []

    mutating func compare(_ one: JSONTree, _ other: JSONTree, path: String) {
        guard one.digest != other.digest, found.count < limit else { return }
        switch (one.content, other.content) {
        case (.object(let members), .object(let others)):
            compare(members, others, path: path)
        case (.array(let elements), .array(let others)):
            pair(elements[...], others[...], path: path)
        case (.unorderedArray(let elements), .unorderedArray(let others)):
            pair(Self.unmatched(elements, in: others), Self.unmatched(others, in: elements), path: path)
        case (.scalar, _), (.object, _), (.array, _), (.unorderedArray, _):
            report(path, .changed, one, other)
        }
    }

    private mutating func compare(_ members: [JSONTree.Member], _ others: [JSONTree.Member], path: String) {
        var left = Dictionary(others.map { ($0.keyDigest, $0.value) }, uniquingKeysWith: { $1 })
        for member in members {
            let path = path + "/" + Self.escaped(member.key)
            if let other = left.removeValue(forKey: member.keyDigest) {
                compare(member.value, other, path: path)
            } else {
                report(path, .onlyInFirst, member.value, nil)
            }
        }
        for member in others where left[member.keyDigest] != nil {
            report(path + "/" + Self.escaped(member.key), .onlyInSecond, nil, member.value)
        }
    }

    private mutating func pair(
        _ elements: ArraySlice<JSONTree.Element>, _ others: ArraySlice<JSONTree.Element>, path: String
    ) {
        for (one, other) in zip(elements, others) {
            compare(one.value, other.value, path: "\(path)/\(one.index)")
        }
        for element in elements.dropFirst(others.count) {
            report("\(path)/\(element.index)", .onlyInFirst, element.value, nil)
        }
        for element in others.dropFirst(elements.count) {
            report("\(path)/\(element.index)", .onlyInSecond, nil, element.value)
        }
    }

    /// The elements that are left when each element of `others` has taken away one that equals it.
    private static func unmatched(
        _ elements: [JSONTree.Element], in others: [JSONTree.Element]
    ) -> ArraySlice<JSONTree.Element> {
        var counts: [Mixer.Digest: Int] = [:]
        for element in others {
            counts[element.value.digest, default: 0] += 1
        }
        return elements.filter { element in
            guard let count = counts[element.value.digest], count > 0 else { return true }
            counts[element.value.digest] = count - 1
            return false
        }[...]
    }

    private mutating func report(_ path: String, _ kind: Difference.Kind, _ one: JSONTree?, _ other: JSONTree?) {
        guard found.count < limit else { return }
        found.append(
            Difference(path: path, kind: kind, first: text(one, of: first), second: text(other, of: second)))
    }

    private func text(_ tree: JSONTree?, of document: UnsafeBufferPointer<UInt8>) -> String? {
        guard includesValues, let range = tree?.range else { return nil }
        let longest = 256
        guard range.count > longest else { return String(decoding: document[range], as: UTF8.self) }
        var end = range.lowerBound + longest
        // Not in the middle of a character.
        while end > range.lowerBound, document[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: document[range.lowerBound..<end], as: UTF8.self) + "…"
    }

    /// A key as a reference token (RFC 6901 §3).
    private static func escaped(_ key: [UInt8]) -> String {
        var bytes: [UInt8] = []
        for byte in key {
            switch byte {
            case UInt8(ascii: "~"): bytes += "~0".utf8
            case UInt8(ascii: "/"): bytes += "~1".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

import Comparison

/// The content hash: equal for a document and for the same value spelled otherwise, of one mind with the differences that are
/// shown, and the bytes' own for what is no JSON.
final class JSONHashFuzz {
    /// Where two documents meet (RFC 7464).
    private static let separator: UInt8 = 0x1e
    private let hasher = ContentHasher(seed: 1)
    private let other = ContentHasher(seed: 0xfeed_beef_feed_beef)
    private let rules: ComparisonRules

    init() {
        rules = ComparisonRules(
            ignore: ["/a", "/*/b", "/list/0"].compactMap { PointerPattern($0) },
            unordered: ["/list", "/*/list", ""].compactMap { PointerPattern($0) })
    }

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        let parts = input.split(separator: Self.separator, maxSplits: 1, omittingEmptySubsequences: false)
        let documents = parts.map { UnsafeBufferPointer(rebasing: $0) }
        for document in documents { judge(document) }
        guard documents.count == 2 else { return }
        for rules in [ComparisonRules(), rules] {
            let isEqual =
                hasher.hash(documents[0], isJSON: true, rules: rules)
                == other.hash(documents[1], isJSON: true, rules: rules)
            let found = findDifferences(documents[0], documents[1], rules: rules, includeValues: true)
            require(isEqual == found.isEmpty, "equal: \(isEqual), and yet \(found)")
        }
    }

    private func judge(_ bytes: UnsafeBufferPointer<UInt8>) {
        let plain = ComparisonRules()
        let hash = hasher.hash(bytes, isJSON: true, rules: plain)
        require(hash == other.hash(bytes, isJSON: true, rules: plain), "the hash depends on the seed")
        require(ContentHash(hex: hash.hex) == hash, "its digits are another hash")
        let asBytes = hasher.hash(bytes, isJSON: false, rules: plain)
        guard let document = JSONDocument(bytes: bytes) else {
            require(hash == asBytes, "no JSON, and not hashed as bytes")
            return
        }
        require(hash != asBytes, "JSON, and hashed as bytes")
        var writer = JSONRespelling(document, bytes)
        let again = writer.written()
        require(hasher.hash(again, isJSON: true) == hash, "another hash for \(String(decoding: again, as: UTF8.self))")
        again.withUnsafeBufferPointer { again in
            require(findDifferences(bytes, again, rules: plain).isEmpty, "a difference to itself")
            require(
                hasher.hash(bytes, isJSON: true, rules: rules) == other.hash(again, isJSON: true, rules: rules),
                "another hash by the rules")
        }
    }
}

/// Writes a document with other white space and its members in another order. Keys that stand there twice keep their order:
/// the last counts.
private struct JSONRespelling {
    private let document: JSONDocument
    private let bytes: UnsafeBufferPointer<UInt8>
    private var out: [UInt8] = []

    init(_ document: JSONDocument, _ bytes: UnsafeBufferPointer<UInt8>) {
        self.document = document
        self.bytes = bytes
    }

    mutating func written() -> [UInt8] {
        write(document.root.range)
        return out
    }

    private mutating func write(_ range: Range<Int>) {
        out.append(0x0a)
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "{"):
            out += "{\t".utf8
            let members = self.members(range)
            for (index, member) in members.enumerated() {
                if index > 0 { out += " ,".utf8 }
                out += bytes[member.key]
                out += "\r:".utf8
                write(member.value)
            }
            out += " }".utf8
        case UInt8(ascii: "["):
            out += "[ ".utf8
            for (index, element) in items(range).enumerated() {
                if index > 0 { out += "\n,".utf8 }
                write(element)
            }
            out += "\t]".utf8
        default: out += bytes[range]
        }
        out += "  ".utf8
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    /// The ranges between the brackets and commas of one level.
    private func items(_ range: Range<Int>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var (depth, start, isText, at) = (0, range.lowerBound + 1, false, range.lowerBound + 1)
        while at < range.upperBound {
            let byte = bytes[at]
            if isText {
                if byte == UInt8(ascii: "\\") { at += 1 } else if byte == UInt8(ascii: "\"") { isText = false }
            } else if byte == UInt8(ascii: "\"") {
                isText = true
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
            } else if at == range.upperBound - 1 || depth == 0 && byte == UInt8(ascii: ",") {
                if let item = trimmed(start..<at) { found.append(item) }
                start = at + 1
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
            }
            at += 1
        }
        return found
    }

    private func trimmed(_ range: Range<Int>) -> Range<Int>? {
        guard let first = range.first(where: { !isSpace(bytes[$0]) }),
            let last = range.last(where: { !isSpace(bytes[$0]) })
        else { return nil }
        return first..<(last + 1)
    }

    /// The members of an object in the reverse of their order, those of one key behind each other as they stood.
    private func members(_ range: Range<Int>) -> [(key: Range<Int>, value: Range<Int>)] {
        var groups: [[UInt16]: Int] = [:]
        var members: [[(key: Range<Int>, value: Range<Int>)]] = []
        for item in items(range) {
            var at = item.lowerBound + 1
            while bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
            let key = item.lowerBound..<(at + 1)
            guard let colon = (at..<item.upperBound).first(where: { bytes[$0] == UInt8(ascii: ":") }),
                let value = trimmed((colon + 1)..<item.upperBound)
            else { fatalError("a member without a value") }
            let name = units(key)
            if let group = groups[name] {
                members[group].append((key, value))
            } else {
                groups[name] = members.count
                members.append([(key, value)])
            }
        }
        return members.reversed().flatMap(\.self)
    }

    /// A key as UTF-16: two spellings of one key are the same member.
    private func units(_ range: Range<Int>) -> [UInt16] {
        var units: [UInt16] = []
        var plain: [UInt8] = []
        func flush() {
            units += Array(String(decoding: plain, as: UTF8.self).utf16)
            plain = []
        }
        var at = range.lowerBound + 1
        while at < range.upperBound - 1 {
            guard bytes[at] == UInt8(ascii: "\\") else {
                plain.append(bytes[at])
                at += 1
                continue
            }
            flush()
            let escape = bytes[at + 1]
            if escape == UInt8(ascii: "u") {
                units.append(UInt16(String(decoding: bytes[(at + 2)..<(at + 6)], as: UTF8.self), radix: 16) ?? 0)
                at += 6
                continue
            }
            let short: [UInt8: UInt16] = [
                UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13,
                UInt8(ascii: "t"): 9,
            ]
            units.append(short[escape] ?? UInt16(escape))
            at += 2
        }
        flush()
        return units
    }
}

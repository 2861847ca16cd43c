/// A document as a tree, for finding where two differ; the rules have been applied to it: what is ignored is not there.
///
/// Each node has the digest that the content hash is made of, so that two documents whose hashes are equal never show a
/// difference, and two whose hashes differ always do.
struct JSONTree {
    /// What a node has below it.
    enum Content {
        case scalar
        case object([Member])
        case array([Element])
        case unorderedArray([Element])
    }

    struct Member {
        let key: [UInt8]
        let keyDigest: Mixer.Digest
        let value: JSONTree
    }

    struct Element {
        /// Its index in the document, where ignored elements are counted.
        let index: Int
        let value: JSONTree
    }

    let digest: Mixer.Digest
    /// Where the value stands in the document.
    let range: Range<Int>
    let content: Content
}

/// Builds a ``JSONTree``.
struct JSONTreeBuilder: ~Copyable {
    private var cursor: JSONCursor
    private var rules = RuleMatcher()
    private var text = Storage<UInt8>(capacity: 64)

    private init(_ base: UnsafePointer<UInt8>, count: Int) {
        cursor = JSONCursor(base, count: count)
    }

    /// The tree of a whole document; nil when it is not JSON.
    static func tree(of bytes: UnsafeBufferPointer<UInt8>, rules: ComparisonRules) -> JSONTree? {
        guard let base = bytes.baseAddress else { return nil }
        var builder = JSONTreeBuilder(base, count: bytes.count)
        return try? builder.document(rules)
    }

    private mutating func document(_ rules: ComparisonRules) throws(NotJSON) -> JSONTree {
        let verdict = self.rules.begin(rules)
        cursor.skipWhitespace()
        let root = try value(verdict, depth: 0)
        cursor.skipWhitespace()
        guard cursor.position == cursor.end else { throw NotJSON() }
        return verdict.isIgnored
            ? JSONTree(digest: Digests.literal(.ignored), range: root.range, content: .scalar) : root
    }

    private mutating func value(_ verdict: RuleMatcher.Verdict, depth: Int) throws(NotJSON) -> JSONTree {
        let start = cursor.position
        switch cursor.current {
        case UInt8(ascii: "{"):
            return try object(verdict.candidates, depth: depth)
        case UInt8(ascii: "["):
            return try array(verdict, depth: depth)
        case UInt8(ascii: "\""):
            let value = try string()
            return JSONTree(digest: Self.digest(value), range: start..<cursor.position, content: .scalar)
        default:
            let digest = try scalar()
            return JSONTree(digest: digest, range: start..<cursor.position, content: .scalar)
        }
    }

    private mutating func scalar() throws(NotJSON) -> Mixer.Digest {
        switch cursor.current {
        case UInt8(ascii: "t"):
            try cursor.expect(literal: "true")
            return Digests.literal(.true)
        case UInt8(ascii: "f"):
            try cursor.expect(literal: "false")
            return Digests.literal(.false)
        case UInt8(ascii: "n"):
            try cursor.expect(literal: "null")
            return Digests.literal(.null)
        default:
            let number = cursor.canonical(try cursor.scanNumber(), scratch: &text)
            return Digests.number(number, longDigits: text.base)
        }
    }

    private mutating func string() throws(NotJSON) -> [UInt8] {
        let string = try cursor.scanString()
        text.reserve(string.count)
        let count = cursor.decode(string, into: text.base)
        return Array(UnsafeBufferPointer(start: text.base, count: count))
    }

    private static func digest(_ string: [UInt8]) -> Mixer.Digest {
        string.withUnsafeBufferPointer(Digests.string)
    }

    private mutating func object(_ candidates: RuleMatcher.Candidates, depth: Int) throws(NotJSON) -> JSONTree {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        let start = cursor.position
        var members: [JSONTree.Member] = []
        var places: [Mixer.Digest: Int] = [:]
        cursor.position += 1
        cursor.skipWhitespace()
        if cursor.current == UInt8(ascii: "}") {
            cursor.position += 1
        } else {
            repeat {
                guard cursor.current == UInt8(ascii: "\"") else { throw NotJSON() }
                let key = try string()
                let verdict = key.withUnsafeBufferPointer { bytes in
                    rules.member(
                        of: candidates, depth: depth, key: bytes.baseAddress ?? cursor.base, count: bytes.count)
                }
                cursor.skipWhitespace()
                try cursor.expect(UInt8(ascii: ":"))
                cursor.skipWhitespace()
                let value = try value(verdict, depth: depth + 1)
                rules.leave(verdict)
                if verdict.isIgnored { continue }
                let member = JSONTree.Member(key: key, keyDigest: Self.digest(key), value: value)
                if let place = places[member.keyDigest] {
                    members[place] = member
                } else {
                    places[member.keyDigest] = members.count
                    members.append(member)
                }
            } while try !cursor.endsContainer(UInt8(ascii: "}"))
        }
        let sum = members.reduce(0 as Mixer.Digest) {
            $0 &+ Digests.member(key: $1.keyDigest, value: $1.value.digest)
        }
        let digest = Digests.object(sum: sum, count: members.count)
        return JSONTree(digest: digest, range: start..<cursor.position, content: .object(members))
    }

    private mutating func array(_ verdict: RuleMatcher.Verdict, depth: Int) throws(NotJSON) -> JSONTree {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        let start = cursor.position
        var elements: [JSONTree.Element] = []
        cursor.position += 1
        cursor.skipWhitespace()
        if cursor.current == UInt8(ascii: "]") {
            cursor.position += 1
        } else {
            var index = 0
            repeat {
                let inner = rules.element(of: verdict.candidates, depth: depth, index: index)
                let value = try value(inner, depth: depth + 1)
                rules.leave(inner)
                if !inner.isIgnored {
                    elements.append(JSONTree.Element(index: index, value: value))
                }
                index += 1
            } while try !cursor.endsContainer(UInt8(ascii: "]"))
        }
        let range = start..<cursor.position
        if verdict.isUnordered {
            let sum = elements.reduce(0 as Mixer.Digest) { $0 &+ Digests.unorderedElement($1.value.digest) }
            let digest = Digests.unorderedArray(sum: sum, count: elements.count)
            return JSONTree(digest: digest, range: range, content: .unorderedArray(elements))
        }
        var mixer = Mixer(.array)
        for element in elements {
            mixer.absorb(element.value.digest)
        }
        return JSONTree(
            digest: Digests.array(mixer, count: elements.count), range: range, content: .array(elements))
    }
}

/// Hashes a JSON document in one pass: it never builds a tree, and allocates only to grow its scratch storage.
struct JSONDigester: ~Copyable {
    private var cursor = JSONCursor(Self.nowhere, count: 0)
    private var members: MemberStack
    private var text = Storage<UInt8>(capacity: 1024)
    private var rules = RuleMatcher()

    /// Points at nothing that is ever read: the cursor's length is 0 between two documents.
    private static var nowhere: UnsafePointer<UInt8> { UnsafePointer(bitPattern: 1).unsafelyUnwrapped }

    /// - Parameter seed: see ``MemberStack``; no result depends on it.
    init(seed: UInt64) {
        members = MemberStack(seed: seed)
    }

    /// The hash of the document.
    ///
    /// - Throws: ``NotJSON`` when the bytes are not one JSON document from end to end.
    mutating func hash(_ bytes: UnsafeBufferPointer<UInt8>, rules: ComparisonRules) throws(NotJSON) -> ContentHash {
        guard let base = bytes.baseAddress else { throw NotJSON() }
        cursor = JSONCursor(base, count: bytes.count)
        defer {
            cursor = JSONCursor(Self.nowhere, count: 0)
            members.reset()
            text.trim(to: 1 << 20)
        }
        let hasRules = !rules.ignore.isEmpty || !rules.unordered.isEmpty
        var verdict = RuleMatcher.Verdict()
        if hasRules {
            verdict = self.rules.begin(rules)
        }
        cursor.skipWhitespace()
        let root = try value(verdict, depth: 0)
        cursor.skipWhitespace()
        guard cursor.position == cursor.end else { throw NotJSON() }
        return Digests.document(verdict.isIgnored ? Digests.literal(.ignored) : root)
    }

    @inline(never)
    private mutating func value(_ verdict: RuleMatcher.Verdict, depth: Int) throws(NotJSON) -> Mixer.Digest {
        switch cursor.current {
        case UInt8(ascii: "\""):
            return try string()
        case UInt8(ascii: "{"):
            return try object(verdict.candidates, depth: depth)
        case UInt8(ascii: "["):
            return try verdict.isUnordered
                ? unorderedArray(verdict.candidates, depth: depth) : array(verdict.candidates, depth: depth)
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

    @inline(__always)
    private mutating func string() throws(NotJSON) -> Mixer.Digest {
        guard let digest = try cursor.digestPlainString() else { return try digestAnyString() }
        return digest
    }

    @inline(never)
    private mutating func digestAnyString() throws(NotJSON) -> Mixer.Digest {
        let (bytes, count) = decoded(try cursor.scanString())
        return Digests.string(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// The value of a string: its own bytes in the document, or the scratch storage when it holds escapes.
    @inline(__always)
    private mutating func decoded(_ string: JSONText) -> (UnsafePointer<UInt8>, Int) {
        guard string.escaped else { return (cursor.base + string.start, string.count) }
        text.reserve(string.count)
        return (UnsafePointer(text.base), cursor.decode(string, into: text.base))
    }

    private mutating func object(_ candidates: RuleMatcher.Candidates, depth: Int) throws(NotJSON) -> Mixer.Digest {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        let first = members.count
        cursor.position &+= 1
        cursor.skipWhitespace()
        if cursor.current == UInt8(ascii: "}") {
            cursor.position &+= 1
            return Digests.object(sum: 0, count: 0)
        }
        while true {
            guard cursor.current == UInt8(ascii: "\"") else { throw NotJSON() }
            var verdict = RuleMatcher.Verdict()
            let key = candidates.count == 0 ? try string() : try key(of: candidates, depth: depth, verdict: &verdict)
            cursor.skipWhitespace()
            try cursor.expect(UInt8(ascii: ":"))
            cursor.skipWhitespace()
            // Most values are strings: they are spared the call.
            let value =
                cursor.current == UInt8(ascii: "\"") ? try string() : try value(verdict, depth: depth &+ 1)
            if !verdict.isIgnored {
                members.append(key: key, digest: Digests.member(key: key, value: value))
            }
            if candidates.count > 0 {
                rules.leave(verdict)
            }
            if try cursor.endsContainer(UInt8(ascii: "}")) { break }
        }
        let (sum, count) = members.fold(from: first)
        return Digests.object(sum: sum, count: count)
    }

    /// Reads a key that a rule may name.
    private mutating func key(
        of candidates: RuleMatcher.Candidates, depth: Int, verdict: inout RuleMatcher.Verdict
    ) throws(NotJSON) -> Mixer.Digest {
        let (bytes, count) = decoded(try cursor.scanString())
        verdict = rules.member(of: candidates, depth: depth, key: bytes, count: count)
        return Digests.string(UnsafeBufferPointer(start: bytes, count: count))
    }

    private mutating func array(_ candidates: RuleMatcher.Candidates, depth: Int) throws(NotJSON) -> Mixer.Digest {
        var mixer = Mixer(.array)
        var count = 0
        guard try beginsArray(depth: depth) else { return Digests.array(mixer, count: 0) }
        var index = 0
        repeat {
            let (value, isIgnored) = try element(index, of: candidates, depth: depth)
            index &+= 1
            if !isIgnored {
                mixer.absorb(value)
                count &+= 1
            }
        } while try !cursor.endsContainer(UInt8(ascii: "]"))
        return Digests.array(mixer, count: count)
    }

    private mutating func unorderedArray(
        _ candidates: RuleMatcher.Candidates, depth: Int
    ) throws(NotJSON) -> Mixer.Digest {
        var sum: Mixer.Digest = 0
        var count = 0
        guard try beginsArray(depth: depth) else { return Digests.unorderedArray(sum: 0, count: 0) }
        var index = 0
        repeat {
            let (value, isIgnored) = try element(index, of: candidates, depth: depth)
            index &+= 1
            if !isIgnored {
                sum &+= Digests.unorderedElement(value)
                count &+= 1
            }
        } while try !cursor.endsContainer(UInt8(ascii: "]"))
        return Digests.unorderedArray(sum: sum, count: count)
    }

    @inline(__always)
    private mutating func element(
        _ index: Int, of candidates: RuleMatcher.Candidates, depth: Int
    ) throws(NotJSON) -> (value: Mixer.Digest, isIgnored: Bool) {
        guard candidates.count > 0 else {
            return (try value(RuleMatcher.Verdict(), depth: depth &+ 1), false)
        }
        let verdict = rules.element(of: candidates, depth: depth, index: index)
        let value = try value(verdict, depth: depth &+ 1)
        rules.leave(verdict)
        return (value, verdict.isIgnored)
    }

    /// Passes over the opening bracket; false, and over the closing one too, when the array is empty.
    @inline(__always)
    private mutating func beginsArray(depth: Int) throws(NotJSON) -> Bool {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        cursor.position &+= 1
        cursor.skipWhitespace()
        guard cursor.current == UInt8(ascii: "]") else { return true }
        cursor.position &+= 1
        return false
    }
}

/// Hashes a JSON document in one pass: it never builds a tree, and allocates only to grow its scratch storage.
///
/// Where tokens begin is found before they are read (``TokenWindow``), so that the place of one does not depend on what
/// the one before turned out to be: a processor works on several at a time, and white space costs nothing here.
struct JSONDigester: ~Copyable {
    var tokens = TokenWindow()
    /// One past the document's last byte.
    var end = Self.nowhere
    var members: MemberStack
    var keys = KeyCache()
    var text = Storage<UInt8>(capacity: 1024)
    var rules = RuleMatcher()

    /// Points at nothing that is ever read.
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
        end = base + bytes.count
        defer {
            end = Self.nowhere
            tokens.close()
            members.reset()
            text.trim(to: 1 << 20)
        }
        try tokens.open(base, count: bytes.count)
        let root: Mixer.Digest
        if rules.ignore.isEmpty && rules.unordered.isEmpty {
            root = try value(depth: 0)
        } else {
            let verdict = self.rules.begin(rules)
            let value = try value(verdict, depth: 0)
            root = verdict.isIgnored ? Digests.literal(.ignored) : value
        }
        try lookAhead()
        guard tokens.isEmpty else { throw NotJSON() }
        return Digests.document(root)
    }

    /// Makes sure that ``TokenWindow/lookahead`` tokens can be read.
    @inline(__always)
    mutating func lookAhead() throws(NotJSON) {
        if tokens.next > tokens.last {
            try tokens.refill()
        }
    }

    /// The digest of the value that is next, which no rule is about. ``TokenWindow/lookahead`` tokens less one have to be
    /// there, and are there again behind a container.
    @inline(__always)
    mutating func value(depth: Int) throws(NotJSON) -> Mixer.Digest {
        let first = tokens.next.pointee.pointee
        // Not a switch: most values are strings.
        if _fastPath(first == UInt8(ascii: "\"")) { return try string() }
        if first == UInt8(ascii: "{") { return try object(depth: depth) }
        if first == UInt8(ascii: "[") { return try array(depth: depth) }
        return try scalar()
    }

    @inline(never)
    private mutating func object(depth: Int) throws(NotJSON) -> Mixer.Digest {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        tokens.next += 1
        if tokens.next.pointee.pointee == UInt8(ascii: "}") {
            tokens.next += 1
            try lookAhead()
            return Digests.object(sum: 0, count: 0)
        }
        let first = members.count
        repeat {
            try lookAhead()
            let next = tokens.next
            let open = next[0]
            guard open.pointee == UInt8(ascii: "\"") else { throw NotJSON() }
            let close = next[1]
            let count = close - open &- 1
            var mixer: Mixer
            let key: Mixer.Digest
            if close.pointee == UInt8(ascii: "\""), count < 16, close + 16 <= end {
                let (x, y) = Mixer.block(UnsafeRawPointer(open + 1), count: count)
                let entry = keys.entry(x, y, count: count)
                key = entry.pointee.digest
                mixer = Mixer(.member, state: entry.pointee.member)
                tokens.next = next + 2
            } else {
                key = try string()
                mixer = Digests.member(key: key)
            }
            guard tokens.next.pointee.pointee == UInt8(ascii: ":") else { throw NotJSON() }
            tokens.next += 1
            let member = members.begin(key: key)
            mixer.absorb(try value(depth: depth &+ 1))
            members.complete(member, digest: mixer.finish())
        } while try !endsContainer(UInt8(ascii: "}"))
        try lookAhead()
        let (sum, count) = members.fold(from: first)
        return Digests.object(sum: sum, count: count)
    }

    @inline(never)
    private mutating func array(depth: Int) throws(NotJSON) -> Mixer.Digest {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        var mixer = Mixer(.array)
        var count = 0
        tokens.next += 1
        if tokens.next.pointee.pointee == UInt8(ascii: "]") {
            tokens.next += 1
        } else {
            repeat {
                try lookAhead()
                mixer.absorb(try value(depth: depth &+ 1))
                count &+= 1
            } while try !endsContainer(UInt8(ascii: "]"))
        }
        try lookAhead()
        return Digests.array(mixer, count: count)
    }

    /// Passes over what follows a member or an element: true at the closing bracket, false at a comma.
    @inline(__always)
    mutating func endsContainer(_ closing: UInt8) throws(NotJSON) -> Bool {
        let byte = tokens.next.pointee.pointee
        tokens.next += 1
        if byte == UInt8(ascii: ",") { return false }
        guard byte == closing else { throw NotJSON() }
        return true
    }
}

/// The same where rules may be about what is read.
extension JSONDigester {
    /// The digest of the value that is next; see ``value(depth:)``.
    mutating func value(_ verdict: RuleMatcher.Verdict, depth: Int) throws(NotJSON) -> Mixer.Digest {
        switch tokens.next.pointee.pointee {
        case UInt8(ascii: "{") where verdict.candidates.count > 0:
            return try object(verdict.candidates, depth: depth)
        case UInt8(ascii: "[") where verdict.isUnordered:
            return try unorderedArray(verdict.candidates, depth: depth)
        case UInt8(ascii: "[") where verdict.candidates.count > 0:
            return try array(verdict.candidates, depth: depth)
        default:
            return try value(depth: depth)
        }
    }

    private mutating func object(_ candidates: RuleMatcher.Candidates, depth: Int) throws(NotJSON) -> Mixer.Digest {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        let first = members.count
        tokens.next += 1
        if tokens.next.pointee.pointee == UInt8(ascii: "}") {
            tokens.next += 1
        } else {
            repeat {
                try lookAhead()
                guard tokens.next.pointee.pointee == UInt8(ascii: "\"") else { throw NotJSON() }
                let name = try stringValue()
                let key = Digests.string(name)
                let verdict = rules.member(
                    of: candidates, depth: depth, key: name.baseAddress ?? end, count: name.count)
                guard tokens.next.pointee.pointee == UInt8(ascii: ":") else { throw NotJSON() }
                tokens.next += 1
                let value = try value(verdict, depth: depth &+ 1)
                rules.leave(verdict)
                if verdict.isIgnored { continue }
                members.complete(members.begin(key: key), digest: Digests.member(key: key, value: value))
            } while try !endsContainer(UInt8(ascii: "}"))
        }
        try lookAhead()
        let (sum, count) = members.fold(from: first)
        return Digests.object(sum: sum, count: count)
    }

    private mutating func array(_ candidates: RuleMatcher.Candidates, depth: Int) throws(NotJSON) -> Mixer.Digest {
        var mixer = Mixer(.array)
        var count = 0
        try forEachElement(of: candidates, depth: depth) { value in
            mixer.absorb(value)
            count &+= 1
        }
        return Digests.array(mixer, count: count)
    }

    private mutating func unorderedArray(
        _ candidates: RuleMatcher.Candidates, depth: Int
    ) throws(NotJSON) -> Mixer.Digest {
        var sum: Mixer.Digest = 0
        var count = 0
        try forEachElement(of: candidates, depth: depth) { value in
            sum &+= Digests.unorderedElement(value)
            count &+= 1
        }
        return Digests.unorderedArray(sum: sum, count: count)
    }

    /// Passes over an array, calling `body` with the digest of each element that is not ignored.
    @inline(__always)
    private mutating func forEachElement(
        of candidates: RuleMatcher.Candidates, depth: Int, _ body: (Mixer.Digest) -> Void
    ) throws(NotJSON) {
        guard depth < JSONCursor.deepest else { throw NotJSON() }
        tokens.next += 1
        if tokens.next.pointee.pointee == UInt8(ascii: "]") {
            tokens.next += 1
        } else {
            var index = 0
            repeat {
                try lookAhead()
                let verdict = rules.element(of: candidates, depth: depth, index: index)
                let value = try value(verdict, depth: depth &+ 1)
                rules.leave(verdict)
                index &+= 1
                if !verdict.isIgnored { body(value) }
            } while try !endsContainer(UInt8(ascii: "]"))
        }
        try lookAhead()
    }
}

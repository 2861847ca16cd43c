/// Follows the pointers of ``ComparisonRules`` down a document.
///
/// At each container it knows which pointers have matched so far: a slice of a stack of numbers (first the ignore
/// pointers, then the unordered ones). A container with an empty slice needs no look at its keys any more, and without
/// rules the slice is empty from the start: then nothing of this costs anything but one comparison a member.
struct RuleMatcher: ~Copyable {
    /// The pointers that may still match below a container.
    struct Candidates {
        var start = 0
        var count = 0
    }

    /// What the rules say about one value.
    struct Verdict {
        var isIgnored = false
        var isUnordered = false
        var candidates = Candidates()
    }

    private var rules = ComparisonRules()
    private var numbers = Storage<Int>(capacity: 16)

    private func tokens(_ number: Int) -> [PointerPattern.Token] {
        let ignored = rules.ignore.count
        return number < ignored ? rules.ignore[number].tokens : rules.unordered[number - ignored].tokens
    }

    /// Begins a document; returns what the rules say about the whole of it.
    mutating func begin(_ rules: ComparisonRules) -> Verdict {
        self.rules = rules
        numbers.count = 0
        var verdict = Verdict()
        for number in 0..<rules.ignore.count + rules.unordered.count {
            note(number, length: 0, in: &verdict)
        }
        verdict.candidates.count = numbers.count
        return verdict
    }

    /// What the rules say about the member with this key of a container `depth` levels down. To be followed by
    /// ``leave(_:)``.
    mutating func member(
        of parent: Candidates, depth: Int, key: UnsafePointer<UInt8>, count: Int
    ) -> Verdict {
        var verdict = Verdict()
        verdict.candidates.start = numbers.count
        for index in parent.start..<parent.start + parent.count {
            let number = numbers.base[index]
            switch tokens(number)[depth] {
            case .any:
                note(number, length: depth + 1, in: &verdict)
            case .name(let name):
                if name.count == count, name.elementsEqual(UnsafeBufferPointer(start: key, count: count)) {
                    note(number, length: depth + 1, in: &verdict)
                }
            }
        }
        verdict.candidates.count = numbers.count - verdict.candidates.start
        return verdict
    }

    /// What the rules say about an element of an array `depth` levels down (RFC 6901 §4: its decimal index is its name).
    mutating func element(of parent: Candidates, depth: Int, index: Int) -> Verdict {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var at = 20
            var rest = index
            repeat {
                at -= 1
                digits[at] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            guard let base = digits.baseAddress else { return Verdict() }
            return member(of: parent, depth: depth, key: base + at, count: 20 - at)
        }
    }

    /// Forgets the candidates of a value whose end has been reached.
    mutating func leave(_ verdict: Verdict) {
        numbers.count = verdict.candidates.start
    }

    private mutating func note(_ number: Int, length: Int, in verdict: inout Verdict) {
        if tokens(number).count > length {
            numbers.append(number)
        } else if number < rules.ignore.count {
            verdict.isIgnored = true
        } else {
            verdict.isUnordered = true
        }
    }
}

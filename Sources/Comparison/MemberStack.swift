/// The members of the objects that are being read: those of the innermost object on top. Finds the members that count
/// when a key occurs more than once (the last does).
struct MemberStack: ~Copyable {
    /// Not private: Swift 6.3.1 emits a broken module when other files destroy a `Storage` of a private type.
    struct Member: BitwiseCopyable {
        let key: Mixer.Digest
        var digest: Mixer.Digest
    }

    /// Up to this many members, keys are compared pairwise where their marks meet; beyond it, through a table.
    private static let smallObject = 24
    /// The number of places for marks.
    private static let marks = 1024

    private var members = Storage<Member>(capacity: 256)
    private var table = Storage<UInt32>(capacity: 256)
    /// Where keys of the object that is folded have been: places that hold `mark`. An old mark that comes up again only
    /// costs a comparison.
    private var marks = Storage<UInt32>(capacity: Self.marks)
    private var mark: UInt32 = 0
    private let seed: UInt64

    /// - Parameter seed: where keys go in the table depends on it, so that nobody can prepare a document whose keys all
    ///   collide there. The result never depends on it.
    init(seed: UInt64) {
        self.seed = seed
        marks.base.initialize(repeating: 0, count: Self.marks)
    }

    var count: Int {
        @inline(__always) get { members.count }
    }

    /// Puts on a member whose digest is not known yet; it is to follow by ``complete(_:digest:)``.
    @inline(__always)
    mutating func begin(key: Mixer.Digest) -> Int {
        members.append(Member(key: key, digest: 0))
        return members.count &- 1
    }

    @inline(__always)
    mutating func complete(_ member: Int, digest: Mixer.Digest) {
        members.base[member].digest = digest
    }

    /// Takes off the members from `first` on and returns the sum and the number of those that count.
    @inline(__always)
    mutating func fold(from first: Int) -> (sum: Mixer.Digest, count: Int) {
        let total = members.count &- first
        let result = total <= Self.smallObject ? foldSmall(first) : foldLarge(first)
        members.count = first
        return result
    }

    /// Empties the stack after a document was given up halfway, and gives back what only a huge one needed.
    mutating func reset() {
        members.count = 0
        members.trim(to: 1 << 16)
        table.trim(to: 1 << 18)
    }

    /// From the last member to the first, because the last with a key counts.
    @inline(__always)
    private mutating func foldSmall(_ first: Int) -> (sum: Mixer.Digest, count: Int) {
        var sum: Mixer.Digest = 0
        var counted = 0
        mark &+= 1
        let mark = mark
        let marks = marks.base
        let end = members.base + members.count
        var member = end
        for _ in first..<members.count {
            member -= 1
            let place = Int(truncatingIfNeeded: UInt64(truncatingIfNeeded: member.pointee.key)) & (Self.marks - 1)
            if marks[place] == mark, Self.isRepeated(member, before: end) { continue }
            marks[place] = mark
            sum &+= member.pointee.digest
            counted &+= 1
        }
        return (sum, counted)
    }

    @inline(never)
    private static func isRepeated(_ member: UnsafePointer<Member>, before end: UnsafePointer<Member>) -> Bool {
        var later = member + 1
        while later < end {
            if later.pointee.key == member.pointee.key { return true }
            later += 1
        }
        return false
    }

    @inline(never)
    private mutating func foldLarge(_ first: Int) -> (sum: Mixer.Digest, count: Int) {
        let total = members.count - first
        let slots = 1 << (Int.bitWidth - (2 * total - 1).leadingZeroBitCount)
        table.reserve(slots)
        // 0 marks a free slot; others hold the member's number in this object plus one.
        table.base.initialize(repeating: 0, count: slots)
        var sum: Mixer.Digest = 0
        var counted = 0
        for number in stride(from: total, to: 0, by: -1) {
            let member = members.base[first + number - 1]
            let spread = (UInt64(truncatingIfNeeded: member.key) ^ seed)
                .multipliedFullWidth(by: UInt64(truncatingIfNeeded: member.key >> 64) ^ ~seed | 1)
            var slot = Int(truncatingIfNeeded: spread.high ^ spread.low) & (slots - 1)
            while true {
                let occupant = Int(table.base[slot])
                if occupant == 0 {
                    table.base[slot] = UInt32(truncatingIfNeeded: number)
                    sum &+= member.digest
                    counted += 1
                    break
                }
                if members.base[first + occupant - 1].key == member.key { break }
                slot = (slot + 1) & (slots - 1)
            }
        }
        return (sum, counted)
    }
}

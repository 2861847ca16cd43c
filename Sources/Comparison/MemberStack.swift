/// The members of the objects that are being read: those of the innermost object on top. Finds the members that count
/// when a key occurs more than once (the last does).
struct MemberStack: ~Copyable {
    /// Not private: Swift 6.3.1 emits a broken module when other files destroy a `Storage` of a private type.
    struct Member: BitwiseCopyable {
        let key: Mixer.Digest
        let digest: Mixer.Digest
    }

    /// Up to this many members, keys are compared pairwise behind a filter of 64 bits; beyond it, through a table.
    private static let smallObject = 24

    private var members = Storage<Member>(capacity: 256)
    private var table = Storage<UInt32>(capacity: 256)
    private let seed: UInt64

    /// - Parameter seed: where keys go in the table depends on it, so that nobody can prepare a document whose keys all
    ///   collide there. The result never depends on it.
    init(seed: UInt64) {
        self.seed = seed
    }

    var count: Int {
        @inline(__always) get { members.count }
    }

    @inline(__always)
    mutating func append(key: Mixer.Digest, digest: Mixer.Digest) {
        members.append(Member(key: key, digest: digest))
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

    @inline(__always)
    private func foldSmall(_ first: Int) -> (sum: Mixer.Digest, count: Int) {
        var sum: Mixer.Digest = 0
        var counted = 0
        var filter: UInt64 = 0
        var index = members.count
        while index > first {
            index &-= 1
            let member = members.base[index]
            let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: member.key)
            if filter & bit != 0, isRepeated(member.key, after: index) {
                continue
            }
            filter |= bit
            sum &+= member.digest
            counted &+= 1
        }
        return (sum, counted)
    }

    @inline(never)
    private func isRepeated(_ key: Mixer.Digest, after index: Int) -> Bool {
        for later in index + 1..<members.count where members.base[later].key == key {
            return true
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

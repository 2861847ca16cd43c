/// Which lanes and users legacy still owes something to: changes that it lacks and that a reverse sync has not put back
/// yet. Not thread-safe.
///
/// However many changes legacy lacks, the tables stay as they are: counters, found by hash. Two lanes that share a counter
/// are only stricter: the one waits for the other.
package struct OwedLegs: Sendable {
    /// Counters for lanes: 4 MiB.
    package static let laneSlots = 1 << 20
    /// Counters for users: 1 MiB.
    package static let userSlots = 1 << 18

    private var lanes: [UInt32]
    private var users: [UInt32]
    /// Changes that are counted.
    package private(set) var total = 0

    package init() {
        lanes = Array(repeating: 0, count: OwedLegs.laneSlots)
        users = Array(repeating: 0, count: OwedLegs.userSlots)
    }

    /// A change that legacy lacks.
    package mutating func add(keys: [LaneKey], user: String?) {
        total += 1
        for key in keys { lanes[slot(key)] += 1 }
        if let user { users[slot(user)] += 1 }
    }

    /// The change is in its lanes, or was never accepted. To be called once for every `add`, with the same keys and user.
    package mutating func remove(keys: [LaneKey], user: String?) {
        precondition(total > 0, "more changes were put back than were missing")
        total -= 1
        for key in keys { lanes[slot(key)] -= 1 }
        if let user { users[slot(user)] -= 1 }
    }

    /// Whether something may be missing in one of these lanes.
    package func isOwed(keys: [LaneKey]) -> Bool { keys.contains { lanes[slot($0)] > 0 } }

    /// Whether something of this user may be missing.
    package func isOwed(user: String) -> Bool { users[slot(user)] > 0 }

    private func slot(_ key: LaneKey) -> Int { Int(UInt(bitPattern: key.hashValue) % UInt(OwedLegs.laneSlots)) }
    private func slot(_ user: String) -> Int { Int(UInt(bitPattern: user.hashValue) % UInt(OwedLegs.userSlots)) }
}

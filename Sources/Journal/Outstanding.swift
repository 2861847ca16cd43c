package import Rollout

/// How many legs are outstanding, per user and side, and since when: `behind`, `draining`, `cutover_journal_pending` and
/// `cutover_journal_oldest_pending_seconds`. Not thread-safe.
///
/// It counts what it is told: the caller adds a leg when it must hold for the user to read its own writes (when the client
/// has been answered), and removes it when it holds, is parked or is skipped.
package struct Outstanding: Sendable {
    private struct Arrival {
        var sequence: Sequence64
        var acceptedMilliseconds: Int64
    }

    /// The legs of one side, in the order of acceptance. Removal leaves the arrival behind; the front is dropped lazily and the rest is
    /// compacted when more than half of it is dead, so that one old leg cannot make it grow without bound.
    private struct Ages {
        var arrivals: [Arrival] = []
        var front = 0
        var present: Set<Sequence64> = []

        mutating func insert(_ arrival: Arrival) -> Bool {
            guard present.insert(arrival.sequence).inserted else { return false }
            // By sequence, not by clock: clocks step back. Only a leg that comes back is not the last.
            var (low, high) = (front, arrivals.count)
            if let last = arrivals.last, last.sequence < arrival.sequence { low = high }
            while low < high {
                let middle = (low + high) / 2
                if arrivals[middle].sequence < arrival.sequence { low = middle + 1 } else { high = middle }
            }
            arrivals.insert(arrival, at: low)
            return true
        }

        mutating func remove(_ sequence: Sequence64) -> Bool {
            guard present.remove(sequence) != nil else { return false }
            while front < arrivals.count, !present.contains(arrivals[front].sequence) { front += 1 }
            if present.isEmpty {
                arrivals.removeAll(keepingCapacity: arrivals.capacity <= 1024)
                front = 0
            } else if arrivals.count > 64, arrivals.count > 2 * present.count {
                arrivals.removeAll { !present.contains($0.sequence) }
                front = 0
            }
            return true
        }
    }

    private var users: [String: PerSide<Int32>] = [:]
    private var anonymous: PerSide<Int32> = PerSide(0)
    private var ages = PerSide(Ages())

    package init() {}

    /// A leg has become outstanding.
    /// - Returns: false, and nothing changes, when it was already.
    @discardableResult
    package mutating func add(_ sequence: Sequence64, user: String?, _ side: Side, acceptedMilliseconds: Int64) -> Bool
    {
        guard ages[side].insert(Arrival(sequence: sequence, acceptedMilliseconds: acceptedMilliseconds)) else {
            return false
        }
        change(user, side, by: 1)
        return true
    }

    /// A leg is no longer outstanding.
    /// - Returns: false, and nothing changes, when it was not.
    @discardableResult
    package mutating func remove(_ sequence: Sequence64, user: String?, _ side: Side) -> Bool {
        guard ages[side].remove(sequence) else { return false }
        change(user, side, by: -1)
        return true
    }

    /// Legs to a side that this user waits for.
    package func count(user: String?, _ side: Side) -> Int {
        guard let user else { return Int(anonymous[side]) }
        return Int(users[user]?[side] ?? 0)
    }

    /// All legs to a side.
    package func total(_ side: Side) -> Int { ages[side].present.count }

    /// When the oldest outstanding leg of a side was accepted, in milliseconds since 1970; nil when there is none.
    package func oldestAcceptedMilliseconds(_ side: Side) -> Int64? {
        let ages = ages[side]
        return ages.present.isEmpty ? nil : ages.arrivals[ages.front].acceptedMilliseconds
    }

    private mutating func change(_ user: String?, _ side: Side, by amount: Int32) {
        guard let user else {
            anonymous[side] += amount
            return
        }
        var counts = users[user] ?? PerSide(0)
        counts[side] += amount
        users[user] = counts.legacy == 0 && counts.new == 0 ? nil : counts
    }
}

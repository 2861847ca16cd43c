/// Lazy timing wheel for channel deadlines: moving a deadline later costs one store, because an entry is looked at
/// again only when its old tick comes up (the idea of Varghese & Lauck's hashed wheels, scheme 6).
struct DeadlineWheel {
    struct Entry {
        var slot: Int
        var generation: UInt32
    }

    /// An entry in its bucket, and the tick that it is there for: ticks a turn of the wheel apart share a bucket.
    private struct Place {
        var entry: Entry
        var tick: UInt64
    }

    /// Length of a tick is 2^5 = 32 ms; the wheel spans about 33 s, later deadlines are re-inserted on the way.
    static let tickShift: UInt64 = 5
    private static let size: UInt64 = 1024
    private var buckets = [[Place]](repeating: [], count: Int(DeadlineWheel.size))
    private var current: UInt64
    /// No entry has a tick before this one.
    private(set) var earliest: UInt64 = .max

    init(now: UInt64) { current = now >> DeadlineWheel.tickShift }

    static func tick(of milliseconds: UInt64) -> UInt64 { (milliseconds >> tickShift) + 1 }

    /// Returns the tick at which the entry will come up: the wanted one or the horizon.
    mutating func insert(_ entry: Entry, tick wanted: UInt64) -> UInt64 {
        let tick = min(max(wanted, current + 1), current + DeadlineWheel.size - 1)
        buckets[Int(tick & (DeadlineWheel.size - 1))].append(Place(entry: entry, tick: tick))
        if tick < earliest { earliest = tick }
        return tick
    }

    /// Milliseconds until the earliest entry, nil when empty.
    func wait(from now: UInt64) -> UInt64? {
        guard earliest != .max else { return nil }
        let due = earliest << DeadlineWheel.tickShift
        return due > now ? due - now : 0
    }

    /// Moves the wheel to `now` and hands out what came up, with the tick it was stored under.
    mutating func advance(to now: UInt64, _ visit: (Entry, UInt64, inout DeadlineWheel) -> Void) {
        let target = now >> DeadlineWheel.tickShift
        guard target > current else { return }
        guard earliest <= target else {
            current = target
            return
        }
        // After a long stop every bucket comes up once, whatever the distance.
        let first = max(earliest, current + 1)
        let last = min(target, first + DeadlineWheel.size - 1)
        current = target
        earliest = .max
        var tick = first
        while tick <= last {
            let index = Int(tick & (DeadlineWheel.size - 1))
            if !buckets[index].isEmpty {
                var due: [Place] = []
                swap(&due, &buckets[index])
                for place in due {
                    // What was put back a moment ago, for the wheel's next turn, may be in a bucket of this one.
                    if place.tick <= target {
                        visit(place.entry, place.tick, &self)
                    } else {
                        buckets[index].append(place)
                    }
                }
                if buckets[index].isEmpty {
                    due.removeAll(keepingCapacity: true)
                    swap(&due, &buckets[index])
                }
            }
            tick += 1
        }
        findEarliest()
    }

    private mutating func findEarliest() {
        earliest = .max
        for offset in 1..<DeadlineWheel.size where !buckets[Int((current + offset) & (DeadlineWheel.size - 1))].isEmpty
        {
            earliest = current + offset
            return
        }
    }
}

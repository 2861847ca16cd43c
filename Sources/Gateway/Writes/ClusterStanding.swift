import CLinux
package import Journal
import Rollout
import Synchronization

/// How this gateway stands with the others of its store: whether it may deliver, and what they have outstanding. Safe from
/// any thread. Where the store is not shared it always may, and they have nothing.
package final class ClusterStanding: Sendable {
    /// Instant of the monotonic clock in nanoseconds; `.max` where there is no lease to lose.
    private let leaseEnds = Atomic<UInt64>(.max)
    private let isFenced = Atomic<Bool>(false)
    /// How many users the sets below hold, by side: what spares the lock.
    private let legacyCount = Atomic<Int>(0)
    private let newCount = Atomic<Int>(0)
    private let users = Mutex(ForeignOutstanding())
    /// Users whose outstanding legs every gateway has been told of, by side.
    private let announced = Mutex((legacy: Set<String>(), new: Set<String>()))
    private let announcedCount = Atomic<Int>(0)
    private let joined = Mutex<(any JournalCluster)?>(nil)

    package init() {}

    /// The other gateways; nil where the store is not shared.
    package var cluster: (any JournalCluster)? { joined.withLock { $0 } }

    /// The store is shared from now on, and nothing is delivered until the first lease. Before anything is admitted.
    package func join(_ cluster: any JournalCluster) {
        leaseEnds.store(0, ordering: .sequentiallyConsistent)
        joined.withLock { $0 = cluster }
    }

    /// Whether other gateways use the store. Spares every write the lock of `cluster`.
    @inline(__always)
    var isShared: Bool { leaseEnds.load(ordering: .relaxed) != .max }

    // MARK: The lease

    /// Nothing may be delivered after this instant of the monotonic clock, in nanoseconds.
    package func leaseRenewed(until end: UInt64) {
        guard !isFenced.load(ordering: .sequentiallyConsistent) else { return }
        leaseEnds.store(end, ordering: .sequentiallyConsistent)
    }

    /// Another gateway has this one's changes. What is in memory is void: this process must deliver nothing any more.
    package func fence() {
        isFenced.store(true, ordering: .sequentiallyConsistent)
        leaseEnds.store(0, ordering: .sequentiallyConsistent)
    }

    /// Whether a leg may be sent now. Reads the clock anew: a process that was stopped must not go by what it knew before.
    @inline(__always)
    package var mayDeliver: Bool {
        let end = leaseEnds.load(ordering: .relaxed)
        return end == .max || clinux_monotonic_nanoseconds() < end
    }

    /// Whether an answer may be given in the name of the journal: not when another gateway decides about it by now.
    var mayAnswer: Bool { !isFenced.load(ordering: .relaxed) }

    // MARK: What others have outstanding

    /// Replaces what is known of the other gateways' outstanding legs.
    package func setForeign(_ foreign: ForeignOutstanding) {
        // The sets first: whoever sees a count must find the user.
        users.withLock { $0 = foreign }
        func count(_ users: Set<String?>, _ side: SideSet) -> Int {
            users.count + (foreign.everybody.contains(side) ? 1 : 0)
        }
        legacyCount.store(count(foreign.legacy, .legacy), ordering: .sequentiallyConsistent)
        newCount.store(count(foreign.new, .new), ordering: .sequentiallyConsistent)
    }

    @inline(__always)
    func mayHaveForeign(_ side: Side) -> Bool {
        switch side {
        case .legacy: legacyCount.load(ordering: .relaxed) != 0
        case .new: newCount.load(ordering: .relaxed) != 0
        }
    }

    func hasForeign(_ user: String, _ side: Side) -> Bool {
        guard mayHaveForeign(side) else { return false }
        return users.withLock { foreign in
            foreign.everybody.contains(SideSet(side))
                || (side == .legacy ? foreign.legacy.contains(user) : foreign.new.contains(user))
        }
    }

    // MARK: Telling the others

    /// Makes every gateway regard a user as having legs to a side outstanding, before the client knows of the write.
    ///
    /// One announcement lasts until nothing of the user is outstanding here any more: whenever another gateway looks, it finds
    /// at least one of the legs that overlap in between.
    /// - Parameter isOutstanding: whether legs of this user to that side are still outstanding here.
    /// - Returns: false when not all could be told in time.
    func announce(_ user: String, _ side: Side, isOutstanding: () -> Bool) async -> Bool {
        // Also where this gateway seems to be alone: only the cluster knows whether it can be sure of that at this moment.
        guard let cluster else { return true }
        let isKnown = announced.withLock { side == .legacy ? $0.legacy.contains(user) : $0.new.contains(user) }
        if isKnown { return true }
        let isTold = await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
            cluster.announce { continuation.resume(returning: $0) }
        }
        guard isTold else { return false }
        announced.withLock { announced in
            if side == .legacy { announced.legacy.insert(user) } else { announced.new.insert(user) }
            announcedCount.store(announced.legacy.count + announced.new.count, ordering: .sequentiallyConsistent)
        }
        // The leg may have settled while the others were told.
        if !isOutstanding() { settledAll(user, side) }
        return true
    }

    /// Nothing of this user is outstanding here any more: the next leg is to be announced again.
    func settledAll(_ user: String, _ side: Side) {
        announced.withLock { announced in
            if side == .legacy { announced.legacy.remove(user) } else { announced.new.remove(user) }
            announcedCount.store(announced.legacy.count + announced.new.count, ordering: .sequentiallyConsistent)
        }
    }

    @inline(__always)
    var hasAnnounced: Bool { announcedCount.load(ordering: .relaxed) != 0 }
}

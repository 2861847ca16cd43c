/// The times of leases and of the talk between gateways that share a store. One place, because they hang together: a gateway
/// stops delivering before the store lets others take its changes, and it is replaced within 10 s of its death.
package enum ClusterTimes {
    /// How long a lease is in the store, by the store's clock.
    package static let leaseSeconds = 6
    /// How long a gateway may deliver after the moment in which it *sent* a renewal that succeeded, by its own monotonic clock.
    /// The store counts from a later moment and for a second more, so that the right always ends before the lease.
    package static let rightNanoseconds: UInt64 = 5_000_000_000
    /// Between two renewals.
    package static let renewalNanoseconds: UInt64 = 1_000_000_000
    /// How long a lease that the store's clock calls expired must have been seen unchanged, by the observer's monotonic clock,
    /// before it is taken. A store whose clock is set forward, or that was away, so does not make every gateway fence the
    /// others. It costs a second at most: who watches has begun to count when the renewals ended.
    package static let patienceNanoseconds: UInt64 = 5_000_000_000
    /// Between two looks at versions, announcements and members, where no notification comes.
    package static let glanceNanoseconds: UInt64 = 250_000_000
    /// How long an announcement may take.
    package static let announcementNanoseconds: UInt64 = 2_000_000_000
    /// The pauses between two tries while the store does not answer: doubled from the first to the second.
    package static let retryNanoseconds: ClosedRange<UInt64> = 200_000_000...2_000_000_000
    /// The pauses between two looks at changes of others that hold up lanes: doubled while nothing moves.
    package static let watchNanoseconds: ClosedRange<UInt64> = 20_000_000...200_000_000
    /// Between two looks at what is outstanding at others, while something is: this, or ten times as long as a look takes.
    package static let refreshNanoseconds: UInt64 = 250_000_000
}

/// How much a gateway keeps and asks for at once about the others.
package enum ClusterLimits {
    /// Changes in one page of a takeover, and asked for in one look at what is watched.
    package static let page = 1_000
    /// Announcements that may wait; one more is told no.
    package static let waitingAnnouncements = 65_536
    /// Users with legs outstanding at others that are kept by name, a side; with more, every user counts
    /// (`ForeignOutstanding.everybody`).
    package static let foreignUsers = 200_000
}

/// Growing pauses between tries.
package struct ClusterBackoff: Sendable {
    private let range: ClosedRange<UInt64>
    private var next: UInt64

    /// - Parameter range: from the first pause to the longest, in nanoseconds.
    package init(_ range: ClosedRange<UInt64>) {
        self.range = range
        next = range.lowerBound
    }

    /// The pause before the next try, in nanoseconds. The one after it is twice as long.
    package mutating func pause() -> UInt64 {
        defer { next = min(next * 2, range.upperBound) }
        return next
    }

    /// Something succeeded, or moved: the next pause is the first one again.
    package mutating func reset() { next = range.lowerBound }
}

/// Tells which leases of others have run out, from looks at their rows. Without I/O; instants are those of the observer's
/// monotonic clock, in nanoseconds. Not thread-safe.
package struct ClusterObservations: Sendable {
    /// A lease of another gateway as the store shows it.
    package struct Lease: Sendable, Equatable {
        package var id: Int64
        /// When it ends, in microseconds by the store's clock; only compared for change.
        package var expiresMicroseconds: Int64
        /// Whether the store's clock is past that.
        package var isExpired: Bool

        package init(id: Int64, expiresMicroseconds: Int64, isExpired: Bool) {
            self.id = id
            self.expiresMicroseconds = expiresMicroseconds
            self.isExpired = isExpired
        }
    }

    private struct Sight {
        var expiresMicroseconds: Int64
        var since: UInt64
    }

    /// As many as there are gateways that have not ended.
    private var sights: [Int64: Sight] = [:]

    package init() {}

    /// A look at all leases of others that have not ended.
    /// - Returns: those to take: expired by the store's clock, and unchanged before the observer's eyes for long enough.
    package mutating func saw(_ leases: [Lease], now: UInt64) -> [Lease] {
        var kept: [Int64: Sight] = [:]
        var found: [Lease] = []
        for lease in leases {
            var sight = Sight(expiresMicroseconds: lease.expiresMicroseconds, since: now)
            if let before = sights[lease.id], before.expiresMicroseconds == lease.expiresMicroseconds { sight = before }
            kept[lease.id] = sight
            if lease.isExpired, now - sight.since >= ClusterTimes.patienceNanoseconds { found.append(lease) }
        }
        sights = kept
        return found
    }

    /// The store was away: nobody could renew, so what was seen before counts no more.
    package mutating func lostSight() { sights = [:] }
}

package import Journal
package import JournalThreads

extension ThreadedJournal {
    /// The shared journal: a PostgreSQL database, which it makes ready.
    /// - Parameters:
    ///   - membership: filled by the cluster (`PostgresCluster`); without a gateway in it every group is refused as `fenced`.
    ///   - limits: a group takes at most `PostgresStore.groupWrites` writes, whatever they say.
    /// - Throws: what `PostgresStore.init` throws.
    package convenience init(
        postgres address: PostgresAddress, membership: Membership, limits: JournalLimits = JournalLimits(),
        retention: Retention? = nil, onGroup: @escaping @Sendable (GroupReport) -> Void = { _ in }
    ) throws(JournalError) {
        let store = try PostgresStore(address, membership: membership)
        let reader = PostgresReader(address, membership: membership)
        var limits = limits
        // Other gateways wait for what is settled here.
        limits.updateGatherMilliseconds = 0
        limits.groupWrites = min(limits.groupWrites, PostgresStore.groupWrites)
        self.init(store: store, reader: reader, limits: limits, retention: retention, onGroup: onGroup)
    }
}

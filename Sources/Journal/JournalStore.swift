package import Rollout

/// What can be read from a journal. Not thread-safe: each connection belongs to one thread.
package protocol JournalReading: AnyObject {
    /// Changes with an outstanding leg, in the order of acceptance.
    /// - Parameter sequence: the last one already seen; 0 for the first page.
    func outstanding(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange]
    /// A page of changes whose leg of one side is outstanding, in the order of acceptance.
    func outstanding(_ query: OutstandingQuery) throws(JournalError) -> [OutstandingChange]
    /// Users and sides of outstanding changes, in the order of acceptance: what a start counts.
    /// - Parameter sequence: the last one already seen; 0 for the first page.
    func outstandingPlaces(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingPlace]
    /// Outstanding changes whose answer is not known: what a start has to decide. As many as were under way when the last process ended.
    func unanswered(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange]
    /// One change with headers and body; nil when it is unknown or pruned.
    func load(_ sequence: Sequence64) throws(JournalError) -> StoredChange?
    /// Rows, newest first.
    /// - Parameter cursor: rows with a smaller sequence; nil for the newest page.
    func rows(parkedOnly: Bool, before cursor: Sequence64?, limit: Int) throws(JournalError) -> [JournalRow]
    /// Sequences with a parked leg, in the order of acceptance: what `journal replay --all-parked` walks.
    func parked(after sequence: Sequence64, limit: Int) throws(JournalError) -> [Sequence64]
    /// A change accepted after this one that has one of those records of it that carry no revision, and whose leg to that side holds, was
    /// superseded, or is outstanding; nil when the journal knows of none (any more: pruned changes are not looked at). What the backend would
    /// take for newer is older than that. Needs an index over records.
    func changeBehind(_ sequence: Sequence64, on side: Side) throws(JournalError) -> Sequence64?
    /// Changes whose authoritative side is new and that were accepted while legacy was not written (`side` new, `dual_write`
    /// false), whatever has become of them, in the order of acceptance. Needs an index: a store may hold millions of others.
    /// - Parameters:
    ///   - sequence: the last one already seen; 0 for the first page.
    ///   - skippedOnly: only those whose leg to legacy is still `skipped`: what legacy lacks, and what new refused. Needs an
    ///     index of its own, because it is asked at every start.
    func unshared(after sequence: Sequence64, skippedOnly: Bool, limit: Int) throws(JournalError) -> [UnsharedChange]
    func counts() throws(JournalError) -> JournalCounts
    /// The stored state of the rollout; nil in a fresh store.
    func loadRollout() throws(JournalError) -> RolloutRecord?
    /// Events, newest first.
    func events(before cursor: Int64?, limit: Int) throws(JournalError) -> [RolloutEvent]
    func pins() throws(JournalError) -> [Pin]
    /// Rows of the history of all gateways, newest first.
    /// - Parameters:
    ///   - from: none that begins before, in milliseconds since 1970.
    ///   - cursor: only those after this place; nil for the newest page.
    func history(_ resolution: HistoryResolution, from: Int64, before cursor: HistoryCursor?, limit: Int)
        throws(JournalError) -> [HistoryRow]
    /// Grows with every change of rollout or pins in a store that gateways share; 0 in one that is not shared. What is read
    /// after it is at least as new.
    func sharedVersion() throws(JournalError) -> Int64
}

extension JournalReading {
    package func sharedVersion() throws(JournalError) -> Int64 { 0 }
}

/// A journal that can be written. Synchronous; used from the journal thread only.
///
/// Every method is one transaction: when it throws, nothing of it is kept.
package protocol JournalStore: JournalReading {
    /// Keeps the updates, then judges the submissions in order, all in ONE durable transaction.
    ///
    /// Submissions of one group see each other. Per submission: a known key of the user is answered from what is stored
    /// (contract §6.5); then each record's revision must be above the last accepted one (§6.6); else it gets the next place.
    /// - Parameter now: milliseconds since 1970.
    /// A fact about a change that belongs to another gateway by now (`JournalCluster`) is dropped.
    /// - Returns: one admission per submission, in order. A disk that refuses the group is a thrown error, not `.unavailable`.
    func commit(_ submissions: [Submission], updates: [JournalUpdate], now: Int64) throws(JournalError)
        -> CommittedGroup

    /// Makes settled changes this gateway's own, so that it can put a leg of them back to `pending` (a replay, a reverse sync): in
    /// a store that is shared, facts about another gateway's change are dropped.
    /// - Returns: those that are its own now. What another gateway has outstanding stays with that one.
    func claim(_ sequences: [Sequence64]) throws(JournalError) -> [Sequence64]

    /// Gives room on the disk back, as far as that goes; after a `full`.
    func makeRoom()

    /// Looks at a bounded number of the oldest rows and removes what no rule needs any more. A row with an outstanding or
    /// parked leg is never removed.
    func prune(_ retention: Retention, now: Int64) throws(JournalError) -> PruneResult

    /// Replaces the state of the rollout and appends the event.
    /// - Parameter generation: the generation that the caller has seen (0 in a fresh store).
    /// - Returns: false, and nothing is changed, when the stored generation is another one.
    func saveRollout(_ record: RolloutRecord, replacing generation: Int64, event: RolloutEvent) throws(JournalError)
        -> Bool
    func setPin(_ pin: Pin, event: RolloutEvent) throws(JournalError)
    /// - Returns: false, and no event is kept, when the user was not pinned.
    func removePin(user: String, event: RolloutEvent) throws(JournalError) -> Bool
    func appendEvent(_ event: RolloutEvent) throws(JournalError)

    /// Adds rows to the history, each merged with what is stored for the same span (`HistoryRow.merged(with:)`), and removes at
    /// most `historyPruneRows` of each resolution that are older than they are kept.
    ///
    /// Not to be called again with the same rows after a failure: what may have been kept would be counted twice.
    /// - Parameter now: milliseconds since 1970.
    func appendHistory(_ rows: [HistoryRow], now: Int64) throws(JournalError)
}

/// Old rows of each resolution that one `appendHistory` removes at most.
package let historyPruneRows = 50

extension JournalStore {
    /// A store that is not shared owns all of it.
    package func claim(_ sequences: [Sequence64]) throws(JournalError) -> [Sequence64] { sequences }

    /// `commit` without updates.
    package func accept(_ submissions: [Submission], now: Int64) throws(JournalError) -> [Admission] {
        try commit(submissions, updates: [], now: now).admissions
    }

    /// `commit` without submissions.
    package func apply(_ updates: [JournalUpdate], now: Int64) throws(JournalError) {
        _ = try commit([], updates: updates, now: now)
    }
}

/// What one durable group came to.
package struct CommittedGroup: Sendable {
    /// One per submission, in order.
    package var admissions: [Admission]
    /// Earlier changes of other gateways with outstanding legs in the lanes of what was accepted, in the order of acceptance:
    /// they come first. Changes that this gateway has taken over are among them, too, because the commit may be ahead of
    /// `ClusterEvents.takenOver`: those that stand in the lanes as its own already are to be passed over. Always empty in a
    /// store that is not shared.
    package var foreign: [OutstandingChange]

    package init(admissions: [Admission], foreign: [OutstandingChange] = []) {
        self.admissions = admissions
        self.foreign = foreign
    }
}

/// How long settled rows are kept.
package struct Retention: Sendable, Equatable {
    /// How long a change stays replayable towards legacy (`rollback_window`).
    package var rollbackWindowMilliseconds: Int64
    /// How long an idempotency key and its answer are kept.
    package var idempotencyMilliseconds: Int64

    package init(rollbackWindowMilliseconds: Int64 = 86_400_000, idempotencyMilliseconds: Int64 = 86_400_000) {
        self.rollbackWindowMilliseconds = rollbackWindowMilliseconds
        self.idempotencyMilliseconds = idempotencyMilliseconds
    }
}

/// What one `prune` did.
package struct PruneResult: Sendable, Equatable {
    package var deletedChanges: Int
    package var releasedKeys: Int
    /// Whether old rows are left to look at: call again soon.
    package var hasMore: Bool

    package init(deletedChanges: Int, releasedKeys: Int, hasMore: Bool) {
        self.deletedChanges = deletedChanges
        self.releasedKeys = releasedKeys
        self.hasMore = hasMore
    }
}

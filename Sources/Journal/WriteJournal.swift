/// The journal as the data plane sees it: asynchronous, safe from any thread. Every completion runs on a thread of the
/// journal and must only hand its value on (to the loop of the connection).
package protocol WriteJournal: AnyObject, Sendable {
    /// Starts the journal's threads. Once, before anything else.
    /// - Parameter onAdmitted: called on the journal thread with each group that has become durable, before any completion of
    ///   that group: the place to enter the lanes.
    func start(onAdmitted: @escaping @Sendable (AdmittedGroup) -> Void)
    /// Judges a write and makes it durable. The completion is called exactly once, `.unavailable` included.
    func submit(_ submission: Submission, completion: @escaping @Sendable (Admission) -> Void)
    /// Keeps a fact. It waits a few milliseconds for company, is retried until it is durable, and is never lost while the
    /// process lives. Facts of one change are kept in the order in which they were posted.
    func post(_ update: JournalUpdate)
    /// Keeps a fact that something else waits for; it goes with the next group.
    /// - Parameter kept: called once, when the fact is durable, or when the journal is closed.
    func post(_ update: JournalUpdate, kept: @escaping @Sendable () -> Void)
    /// Reads a change back for a retry, off the writer's thread.
    func load(_ sequence: Sequence64, completion: @escaping @Sendable (Result<StoredChange?, JournalError>) -> Void)
    /// A page of changes whose leg of one side is outstanding. It shows everything that was posted before this call; fails when the
    /// journal cannot keep that now.
    func outstanding(
        _ query: OutstandingQuery, completion: @escaping @Sendable (Result<[OutstandingChange], JournalError>) -> Void)
}

/// The accepted writes of one group.
package struct AdmittedGroup: Sendable {
    /// In the order of acceptance.
    package var changes: [(sequence: Sequence64, submission: Submission)]
    /// Changes of other gateways that come before some of them (`CommittedGroup.foreign`).
    package var foreign: [OutstandingChange]

    package init(changes: [(sequence: Sequence64, submission: Submission)], foreign: [OutstandingChange] = []) {
        self.changes = changes
        self.foreign = foreign
    }
}

/// The journal as the control plane sees it: work that runs on the journal's own threads.
package protocol JournalAccess: AnyObject, Sendable {
    /// Runs on the reading connection. Does not hold up writes.
    func read<Value: Sendable>(
        _ work: @escaping @Sendable (any JournalReading) throws(JournalError) -> Value
    ) async throws(JournalError) -> Value
    /// Runs on the journal thread, between two groups.
    func write<Value: Sendable>(
        _ work: @escaping @Sendable (any JournalStore) throws(JournalError) -> Value
    ) async throws(JournalError) -> Value
}

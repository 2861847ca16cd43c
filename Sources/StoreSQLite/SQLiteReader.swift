package import Journal
package import Rollout

/// What reads a journal through prepared statements: the same code for the writing and the reading connection.
package protocol SQLiteReading: JournalReading {
    var queries: SQLiteQueries { get }
}

extension SQLiteReading {
    package func outstanding(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange] {
        try queries.outstanding.page(after: sequence, limit: limit)
    }

    package func outstanding(_ query: OutstandingQuery) throws(JournalError) -> [OutstandingChange] {
        try queries.outstanding.page(query)
    }

    package func outstandingPlaces(
        after sequence: Sequence64, limit: Int
    ) throws(JournalError) -> [OutstandingPlace] {
        try queries.outstanding.places(after: sequence, limit: limit)
    }

    package func unanswered(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange] {
        try queries.outstanding.unanswered(after: sequence, limit: limit)
    }

    package func load(_ sequence: Sequence64) throws(JournalError) -> StoredChange? { try queries.load(sequence) }

    package func rows(
        parkedOnly: Bool, before cursor: Sequence64?, limit: Int
    ) throws(JournalError) -> [JournalRow] {
        try queries.rows(parkedOnly: parkedOnly, before: cursor, limit: limit)
    }

    package func parked(after sequence: Sequence64, limit: Int) throws(JournalError) -> [Sequence64] {
        try queries.parked(after: sequence, limit: limit)
    }

    package func unshared(
        after sequence: Sequence64, skippedOnly: Bool, limit: Int
    ) throws(JournalError) -> [UnsharedChange] {
        try queries.unshared(after: sequence, skippedOnly: skippedOnly, limit: limit)
    }

    package func changeBehind(_ sequence: Sequence64, on side: Side) throws(JournalError) -> Sequence64? {
        try queries.changeBehind(sequence, on: side)
    }

    package func counts() throws(JournalError) -> JournalCounts { try queries.readCounts() }
    package func loadRollout() throws(JournalError) -> RolloutRecord? { try queries.readRollout() }

    package func events(before cursor: Int64?, limit: Int) throws(JournalError) -> [RolloutEvent] {
        try queries.events(before: cursor, limit: limit)
    }

    package func pins() throws(JournalError) -> [Pin] { try queries.readPins() }

    package func history(
        _ resolution: HistoryResolution, from: Int64, before cursor: HistoryCursor?, limit: Int
    ) throws(JournalError) -> [HistoryRow] {
        try queries.history(resolution, from: from, before: cursor, limit: limit)
    }
}

/// A reading connection to a journal that a `SQLiteStore` of the same process has made ready. Belongs to one thread.
package final class SQLiteReader: SQLiteReading {
    package let queries: SQLiteQueries

    /// - Parameter path: `SQLiteStore.databasePath`.
    package init(path: String) throws(JournalError) {
        queries = try SQLiteQueries(SQLiteConnection(path: path, readOnly: true))
    }
}

package import Journal
internal import StoreSQLite
package import SyncModel

/// Reads the file of a `SQLiteSyncStore` on a connection of its own. Belongs to one thread at a time.
package final class SQLiteSyncReader: SyncReading {
    private let rows: RecordStatements
    private let feed: Statement
    private let userPage: Statement
    private let months: Statement

    /// The file exists: the store has made it.
    package init(path: String) throws(JournalError) {
        let connection = try SQLiteConnection(path: path, readOnly: true)
        rows = try RecordStatements(connection)
        feed = try Statement(
            connection,
            """
            SELECT sequence, change_id, user_id, record_id, device_id, revision, type, deleted, payload, accepted_at
            FROM changes WHERE user_id = ? AND sequence > ? ORDER BY sequence LIMIT ?
            """)
        userPage = try Statement(connection, "SELECT user_id FROM users WHERE user_id > ? ORDER BY user_id LIMIT ?")
        // From the index alone.
        months = try Statement(
            connection,
            """
            SELECT strftime('%Y-%m', created_at / 1000, 'unixepoch') AS month, count(*)
            FROM highlights INDEXED BY highlights_created
            WHERE type = 'highlight' AND deleted = 0 AND created_at >= ? GROUP BY month ORDER BY month
            """)
    }

    package func record(_ id: String, of user: String) throws(JournalError) -> SyncRecord? {
        if let record = try rows.record(id, of: user, in: .documents) { return record }
        return try rows.record(id, of: user, in: .highlights)
    }

    package func records(
        of user: String, from cursor: RecordCursor, type: RecordType?, limit: Int
    ) throws(JournalError) -> [SyncRecord] {
        try rows.records(of: user, from: cursor, type: type, limit: limit)
    }

    package func changes(of user: String, after sequence: Int64, limit: Int) throws(JournalError) -> [FeedEntry] {
        feed.bind(user).bind(sequence).bind(limit)
        var found: [FeedEntry] = []
        while try feed.step() {
            found.append(
                FeedEntry(
                    sequence: feed.integer(0), id: feed.text(1), user: feed.text(2), record: feed.text(3),
                    device: feed.text(4), revision: feed.integer(5),
                    type: RecordType(rawValue: feed.text(6)) ?? .document,
                    deleted: feed.integer(7) != 0, payload: feed.text(8), acceptedAt: feed.integer(9)))
        }
        return found
    }

    package func users(after user: String, limit: Int) throws(JournalError) -> [String] {
        userPage.bind(user).bind(limit)
        var found: [String] = []
        while try userPage.step() { found.append(userPage.text(0)) }
        return found
    }

    package func highlights(since: Int64) throws(JournalError) -> [MonthOfHighlights] {
        months.bind(since)
        var found: [MonthOfHighlights] = []
        while try months.step() {
            found.append(MonthOfHighlights(month: months.text(0), highlights: months.integer(1)))
        }
        return found
    }
}

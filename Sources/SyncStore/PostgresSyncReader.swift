package import Journal
package import StorePostgres
package import SyncModel

/// Reads the tables of a `PostgresSyncStore` on a connection of its own. Belongs to one thread at a time.
package final class PostgresSyncReader: SyncReading {
    private let connection: PostgresConnection

    /// Connects at its first use.
    package init(_ address: PostgresAddress) {
        connection = PostgresConnection(address, setup: PostgresSyncSchema.setup)
    }

    static func record(_ rows: PostgresRows, _ row: Int, _ table: RecordType.Table) -> SyncRecord {
        SyncRecord(
            user: rows.text(row, 0), record: rows.text(row, 1),
            type: RecordType(rawValue: rows.text(row, 2)) ?? .document, revision: rows.integer(row, 3),
            device: rows.text(row, 4), deleted: rows.boolean(row, 5), payload: rows.text(row, 6),
            fieldRevisions: table == .highlights ? rows.text(row, 11) : "",
            progressAt: table == .documents ? rows.integerOrNil(row, 11) : nil, createdAt: rows.integer(row, 7),
            updatedAt: rows.integer(row, 8), recordName: rows.text(row, 9), container: rows.text(row, 10))
    }

    private static func select(_ name: String, _ table: RecordType.Table, _ rest: String) -> PostgresStatement {
        PostgresStatement(
            "sync_\(name)_\(table.rawValue)",
            "SELECT \(RecordStatements.columns(table)) FROM \(table.rawValue) WHERE user_id = $1 AND \(rest)")
    }

    package func record(_ id: String, of user: String) throws(JournalError) -> SyncRecord? {
        for table in RecordType.Table.allCases {
            let rows = try connection.query(
                Self.select("one", table, "record_id = $2"), PostgresParameters().text(user).text(id))
            if rows.count > 0 { return Self.record(rows, 0, table) }
        }
        return nil
    }

    package func records(
        of user: String, from cursor: RecordCursor, type: RecordType?, limit: Int
    ) throws(JournalError) -> [SyncRecord] {
        let parameters = PostgresParameters().text(user).text(cursor.after).int64(Int64(limit))
        let rows =
            if let type {
                try connection.query(
                    Self.select(
                        "typed", cursor.table,
                        "record_id > $2 AND type = $4 AND NOT deleted ORDER BY record_id LIMIT $3"),
                    parameters.text(type.rawValue))
            } else {
                try connection.query(
                    Self.select("page", cursor.table, "record_id > $2 ORDER BY record_id LIMIT $3"), parameters)
            }
        return (0..<rows.count).map { Self.record(rows, $0, cursor.table) }
    }

    package func changes(of user: String, after sequence: Int64, limit: Int) throws(JournalError) -> [FeedEntry] {
        let rows = try connection.query(
            PostgresStatement(
                "sync_feed",
                """
                SELECT sequence, change_id, user_id, record_id, device_id, revision, type, deleted, payload, accepted_at
                FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
                """), PostgresParameters().text(user).int64(sequence).int64(Int64(limit)))
        return (0..<rows.count).map { row in
            FeedEntry(
                sequence: rows.integer(row, 0), id: rows.text(row, 1), user: rows.text(row, 2),
                record: rows.text(row, 3), device: rows.text(row, 4), revision: rows.integer(row, 5),
                type: RecordType(rawValue: rows.text(row, 6)) ?? .document, deleted: rows.boolean(row, 7),
                payload: rows.text(row, 8), acceptedAt: rows.integer(row, 9))
        }
    }

    package func users(after user: String, limit: Int) throws(JournalError) -> [String] {
        let rows = try connection.query(
            PostgresStatement(
                "sync_user_page", "SELECT user_id FROM users WHERE user_id > $1 ORDER BY user_id LIMIT $2"),
            PostgresParameters().text(user).int64(Int64(limit)))
        return (0..<rows.count).map { rows.text($0, 0) }
    }

    package func highlights(since: Int64) throws(JournalError) -> [MonthOfHighlights] {
        let rows = try connection.query(
            PostgresStatement(
                "sync_months",
                """
                SELECT to_char(to_timestamp(created_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM') AS month, count(*)
                FROM highlights WHERE type = 'highlight' AND NOT deleted AND created_at >= $1
                GROUP BY month ORDER BY month
                """), PostgresParameters().int64(since))
        return (0..<rows.count).map { MonthOfHighlights(month: rows.text($0, 0), highlights: rows.integer($0, 1)) }
    }
}

package import Journal

/// Reads every row of an embedded journal that no gateway has open, as it is stored, and changes nothing: an older file is read as it
/// is, too. One snapshot for as long as it lives. Belongs to one thread.
package final class SQLiteExport {
    /// A page ends with this many rows.
    package static let pageRows = 500
    /// A page ends when its values come to this many bytes; one row may be longer.
    package static let pageBytes = 4_194_304

    private let connection: SQLiteConnection

    /// - Parameter path: the database file. The caller holds the lock of its data directory.
    /// - Throws: `cannotOpen`, `foreign`, `newerSchema`, `damaged`.
    package init(path: String) throws(JournalError) {
        connection = try SQLiteConnection(path: path, readOnly: true)
        guard try connection.integer("PRAGMA application_id") == Schema.applicationID else {
            throw JournalError(.foreign, "\(path) holds no journal of Cutover")
        }
        let version = try connection.integer("PRAGMA user_version")
        guard version <= Schema.version else {
            throw JournalError(
                .newerSchema,
                "\(path) has schema version \(version), this program knows versions up to \(Schema.version)")
        }
        try connection.execute("BEGIN")
    }

    package func count(_ table: JournalTable) throws(JournalError) -> Int64 {
        try holds(table) ? try connection.integer("SELECT count(*) FROM \"\(table.name)\"") : 0
    }

    /// Whether the file has this table: an older one may lack it, and holds no rows of it then.
    private func holds(_ table: JournalTable) throws(JournalError) -> Bool {
        try connection.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '\(table.name)'")
            == 1
    }

    /// The newest place ever given out; 0: none.
    package func lastSequence() throws(JournalError) -> Sequence64 {
        try connection.integer("SELECT \(SQLiteQueries.lastSequence)")
    }

    /// The newest number ever given to an event; 0: none.
    package func lastEvent() throws(JournalError) -> Int64 {
        try connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
    }

    /// Hands out every row in the order of the keys, page by page. A row of `batch_record` has one value more: the user of its change.
    package func pages(
        _ table: JournalTable, _ body: ([[StoredValue]]) throws(JournalError) -> Void
    ) throws(JournalError) {
        guard try holds(table) else { return }
        var selected = Self.list(table.columns)
        var columns = table.columns.map(\.kind)
        if table.name == JournalTable.batchRecord.name {
            selected += ", ifnull((SELECT c.user FROM change c WHERE c.sequence = batch_record.sequence), '')"
            columns.append(.text)
        }
        let scan = try Statement(
            connection, "SELECT \(selected) FROM \"\(table.name)\" ORDER BY \(Self.list(table.keys))")
        defer { scan.reset() }
        var page: [[StoredValue]] = []
        var size = 0
        while try scan.step() {
            let row = columns.indices.map { Self.value(scan, Int32($0), columns[$0]) }
            size += row.reduce(0) { $0 + $1.size }
            page.append(row)
            guard page.count >= Self.pageRows || size >= Self.pageBytes else { continue }
            try body(page)
            page.removeAll(keepingCapacity: true)
            size = 0
        }
        if !page.isEmpty { try body(page) }
    }

    /// Which of these keys are in the table.
    package func contains(_ table: JournalTable, keys: [[StoredValue]]) throws(JournalError) -> [Bool] {
        guard try holds(table) else { return keys.map { _ in false } }
        let condition = table.keys.map { "\"\($0.name)\" = ?" }.joined(separator: " AND ")
        let find = try Statement(connection, "SELECT 1 FROM \"\(table.name)\" WHERE \(condition)")
        return try keys.map { key throws(JournalError) in
            for value in key {
                switch value {
                case .integer(let number): find.bind(number)
                case .text(let text): find.bind(text)
                case .null, .bytes: find.bindNull()
                }
            }
            let isThere = try find.step()
            find.reset()
            return isThere
        }
    }

    private static func list(_ columns: [JournalTable.Column]) -> String {
        columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    }

    private static func value(_ row: Statement, _ column: Int32, _ kind: JournalTable.Kind) -> StoredValue {
        if row.isNull(column) { return .null }
        return switch kind {
        case .flag, .small, .medium, .integer: .integer(row.integer(column))
        case .text: .text(row.text(column))
        case .bytes: .bytes(row.bytes(column))
        }
    }
}

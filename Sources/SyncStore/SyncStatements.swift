internal import Comparison
internal import Journal
internal import StoreSQLite
internal import SyncModel

/// The statements of the writing connection, each prepared once.
final class SyncStatements {
    let changeByKey: Statement
    let newestVersion: Statement
    let version: Statement
    private let insertChange: Statement
    private let noteUser: Statement
    private let noteDevice: Statement
    private let eraseChanges: Statement
    private let putDocument: Statement
    private let putHighlight: Statement
    private let records: RecordStatements

    private static let known = "SELECT user_id, record_id, revision, content, deleted FROM changes"

    init(_ connection: SQLiteConnection) throws(JournalError) {
        changeByKey = try Statement(connection, "\(Self.known) WHERE user_id = ? AND idempotency_key = ?")
        version = try Statement(connection, "\(Self.known) WHERE record_id = ? AND revision = ?")
        newestVersion = try Statement(
            connection, "SELECT user_id, type FROM changes WHERE record_id = ? ORDER BY revision DESC LIMIT 1")
        insertChange = try Statement(
            connection,
            """
            INSERT INTO changes (sequence, change_id, user_id, record_id, device_id, revision, type, deleted, payload,
                content, idempotency_key, accepted_at, record_name, container)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        noteUser = try Statement(
            connection,
            """
            INSERT INTO users (user_id, created_at, updated_at, record_name, container) VALUES (?1, ?2, ?2, ?1, ?3)
            ON CONFLICT (user_id) DO UPDATE SET updated_at = excluded.updated_at
            """)
        noteDevice = try Statement(
            connection,
            """
            INSERT INTO devices (user_id, device_id, created_at, updated_at, record_name, container)
            VALUES (?1, ?2, ?3, ?3, ?2, ?4)
            ON CONFLICT (user_id, device_id) DO UPDATE SET updated_at = excluded.updated_at
            """)
        eraseChanges = try Statement(
            connection, "UPDATE changes SET payload = '' WHERE record_id = ? AND revision < ? AND payload <> ''")
        putDocument = try Statement(connection, Self.put(.documents))
        putHighlight = try Statement(connection, Self.put(.highlights))
        records = try RecordStatements(connection)
    }

    /// Inserts a record, or replaces the one that is there.
    private static func put(_ table: RecordType.Table) -> String {
        let own = RecordStatements.ownColumn(table)
        return """
            INSERT INTO \(table.rawValue) (user_id, record_id, type, revision, device_id, deleted, payload, \(own),
                created_at, updated_at, record_name, container)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (user_id, record_id) DO UPDATE SET revision = excluded.revision,
                device_id = excluded.device_id, deleted = excluded.deleted, payload = excluded.payload,
                \(own) = excluded.\(own), updated_at = excluded.updated_at, record_name = excluded.record_name,
                container = excluded.container
            """
    }

    func record(_ id: String, of user: String, in table: RecordType.Table) throws(JournalError) -> SyncRecord? {
        try records.record(id, of: user, in: table)
    }

    func insert(_ accepted: AcceptedChange, as sequence: Int64, now: Int64) throws(JournalError) {
        let change = accepted.change
        insertChange.bind(sequence).bind(change.id).bind(change.user).bind(change.record).bind(change.device)
            .bind(change.revision).bind(accepted.type.rawValue).bind(change.deleted).bind(change.payload)
            .bind(change.content.hex).bind(change.key).bind(now).bind(change.recordName ?? change.record)
            .bind(change.container ?? "")
        try insertChange.run()
    }

    func note(user change: SyncChange, now: Int64) throws(JournalError) {
        noteUser.bind(change.user).bind(now).bind(change.container ?? "")
        try noteUser.run()
    }

    func note(device change: SyncChange, now: Int64) throws(JournalError) {
        noteDevice.bind(change.user).bind(change.device).bind(now).bind(change.container ?? "")
        try noteDevice.run()
    }

    func put(_ record: SyncRecord) throws(JournalError) {
        let statement = record.type.table == .documents ? putDocument : putHighlight
        statement.bind(record.user).bind(record.record).bind(record.type.rawValue).bind(record.revision)
            .bind(record.device).bind(record.deleted).bind(record.payload)
        switch record.type.table {
        case .documents: statement.bind(record.progressAt)
        case .highlights: statement.bind(record.fieldRevisions)
        }
        statement.bind(record.createdAt).bind(record.updatedAt).bind(record.recordName).bind(record.container)
        try statement.run()
    }

    func erase(_ version: RecordVersion) throws(JournalError) {
        eraseChanges.bind(version.record).bind(version.revision)
        try eraseChanges.run()
    }
}

/// Reads of single records and of lists, for the writing and the reading connections.
final class RecordStatements {
    private let one: [RecordType.Table: Statement]
    private let page: [RecordType.Table: Statement]
    private let pageOfType: [RecordType.Table: Statement]

    /// The column that only this table has.
    static func ownColumn(_ table: RecordType.Table) -> String {
        switch table {
        case .documents: "progress_at"
        case .highlights: "field_revisions"
        }
    }

    /// The columns of a record, in the order in which `row` reads them; of any store.
    static func columns(_ table: RecordType.Table) -> String {
        """
        user_id, record_id, type, revision, device_id, deleted, payload, created_at, updated_at, record_name, container,
        \(ownColumn(table))
        """
    }

    init(_ connection: SQLiteConnection) throws(JournalError) {
        func each(_ rest: String) throws(JournalError) -> [RecordType.Table: Statement] {
            var statements: [RecordType.Table: Statement] = [:]
            for table in RecordType.Table.allCases {
                statements[table] = try Statement(
                    connection, "SELECT \(Self.columns(table)) FROM \(table.rawValue) WHERE user_id = ? AND \(rest)")
            }
            return statements
        }
        one = try each("record_id = ?")
        page = try each("record_id > ? ORDER BY record_id LIMIT ?")
        pageOfType = try each("record_id > ? AND type = ? AND deleted = 0 ORDER BY record_id LIMIT ?")
    }

    func record(_ id: String, of user: String, in table: RecordType.Table) throws(JournalError) -> SyncRecord? {
        guard let statement = one[table] else { return nil }
        statement.bind(user).bind(id)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return Self.row(statement, table)
    }

    func records(
        of user: String, from cursor: RecordCursor, type: RecordType?, limit: Int
    ) throws(JournalError) -> [SyncRecord] {
        guard let statement = type == nil ? page[cursor.table] : pageOfType[cursor.table] else { return [] }
        statement.bind(user).bind(cursor.after)
        if let type { statement.bind(type.rawValue) }
        statement.bind(limit)
        var found: [SyncRecord] = []
        while try statement.step() { found.append(Self.row(statement, cursor.table)) }
        return found
    }

    private static func row(_ row: Statement, _ table: RecordType.Table) -> SyncRecord {
        SyncRecord(
            user: row.text(0), record: row.text(1), type: RecordType(rawValue: row.text(2)) ?? .document,
            revision: row.integer(3), device: row.text(4), deleted: row.integer(5) != 0, payload: row.text(6),
            fieldRevisions: table == .highlights ? row.text(11) : "",
            progressAt: table == .documents ? row.integerOrNil(11) : nil, createdAt: row.integer(7),
            updatedAt: row.integer(8), recordName: row.text(9), container: row.text(10))
    }
}

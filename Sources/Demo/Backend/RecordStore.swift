/// The records of a sample backend in one SQLite file. Belongs to one thread at a time.
final class RecordStore {
    private let database: Database
    private let selectRecord: Query
    private let selectPage: Query
    private let selectKey: Query
    private let insertKey: Query
    private let replaceRecord: Query
    private let countRecords: Query

    private static let columns = "user, record, type, revision, device, deleted, payload, content, key"

    /// - Parameter path: file of the database; it is made when it is not there.
    init(path: String) throws(StoreFailure) {
        database = try Database(path: path)
        // A sample that is thrown away needs no fsync; it must only survive its own service being stopped.
        try database.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 2000;
            CREATE TABLE IF NOT EXISTS records (
                user TEXT NOT NULL, record TEXT NOT NULL, type TEXT NOT NULL, revision INTEGER NOT NULL,
                device TEXT NOT NULL, deleted INTEGER NOT NULL, payload TEXT NOT NULL, content TEXT NOT NULL,
                key TEXT NOT NULL, PRIMARY KEY (user, record)) STRICT, WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS changes (
                user TEXT NOT NULL, key TEXT NOT NULL, record TEXT NOT NULL, revision INTEGER NOT NULL,
                content TEXT NOT NULL, PRIMARY KEY (user, key)) STRICT, WITHOUT ROWID;
            """)
        let columns = RecordStore.columns
        selectRecord = try Query(database, "SELECT \(columns) FROM records WHERE user = ? AND record = ?")
        selectPage = try Query(
            database, "SELECT \(columns) FROM records WHERE user = ? AND record > ? ORDER BY record LIMIT ?")
        selectKey = try Query(database, "SELECT record, revision, content FROM changes WHERE user = ? AND key = ?")
        insertKey = try Query(
            database, "INSERT INTO changes (user, key, record, revision, content) VALUES (?, ?, ?, ?, ?)")
        replaceRecord = try Query(
            database, "INSERT OR REPLACE INTO records (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        countRecords = try Query(database, "SELECT count(*) FROM records")
    }

    /// Applies a change, or says why not; with the record as it is afterwards.
    func apply(_ change: Change) throws(StoreFailure) -> (verdict: RevisionVerdict, record: StoredRecord?) {
        try database.transaction { () throws(StoreFailure) in
            let current = try record(change.record, of: change.user)
            let verdict = judge(change, current: current, keyUse: try use(of: change.key, by: change.user))
            guard verdict == .accepted else { return (verdict, current) }
            let record = StoredRecord(change)
            try put(record)
            return (verdict, record)
        }
    }

    /// Takes over records from elsewhere as they are, as a backfill does.
    func seed(_ records: [StoredRecord]) throws(StoreFailure) {
        try database.transaction { () throws(StoreFailure) in
            for record in records { try put(record) }
        }
    }

    /// A record, tombstones included.
    func record(_ record: String, of user: String) throws(StoreFailure) -> StoredRecord? {
        var found: StoredRecord?
        try selectRecord.run([.text(user), .text(record)]) { found = StoredRecord($0) }
        return found
    }

    /// The records of a user behind a cursor (the id of the last one seen; empty at the start), in the order of their ids.
    func records(of user: String, after cursor: String, limit: Int) throws(StoreFailure) -> [StoredRecord] {
        var found: [StoredRecord] = []
        try selectPage.run([.text(user), .text(cursor), .integer(Int64(limit))]) { found.append(StoredRecord($0)) }
        return found
    }

    /// Number of records, tombstones included.
    func count() throws(StoreFailure) -> Int {
        var count = 0
        try countRecords.run([]) { count = Int($0.integer(0)) }
        return count
    }

    private func use(of key: String, by user: String) throws(StoreFailure) -> KeyUse? {
        var found: KeyUse?
        try selectKey.run([.text(user), .text(key)]) {
            found = KeyUse(record: $0.text(0), revision: $0.integer(1), content: $0.text(2))
        }
        return found
    }

    private func put(_ record: StoredRecord) throws(StoreFailure) {
        try insertKey.run([
            .text(record.user), .text(record.key), .text(record.record), .integer(record.revision),
            .text(record.content),
        ])
        try replaceRecord.run([
            .text(record.user), .text(record.record), .text(record.type), .integer(record.revision),
            .text(record.device),
            .integer(record.deleted ? 1 : 0), .text(record.payload), .text(record.content), .text(record.key),
        ])
    }
}

extension StoredRecord {
    fileprivate init(_ row: Query) {
        self.init(
            user: row.text(0), record: row.text(1), type: row.text(2), revision: row.integer(3), device: row.text(4),
            deleted: row.integer(5) != 0, payload: row.text(6), content: row.text(7), key: row.text(8))
    }
}

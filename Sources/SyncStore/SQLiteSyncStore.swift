internal import Comparison
package import Journal
internal import JournalThreads
internal import StoreSQLite
package import SyncModel

/// The service's records in one SQLite file. Belongs to one thread.
///
/// WAL with `synchronous = FULL`: when `apply` returns, the group is on the disk.
package final class SQLiteSyncStore: SyncStoring {
    package let path: String
    private let connection: SQLiteConnection
    private let statements: SyncStatements
    private var lastSequence: Int64

    /// Opens or creates the file.
    package init(path: String) throws(JournalError) {
        self.path = path
        connection = try SQLiteConnection(path: path, readOnly: false)
        try SQLiteSyncSchema.file.prepare(connection)
        statements = try SyncStatements(connection)
        lastSequence = try connection.integer("SELECT max(sequence) FROM changes")
    }

    package func apply(_ requests: [[SyncChange]], now: Int64) throws(JournalError) -> [BatchOutcome] {
        var last = lastSequence
        let outcomes = try connection.transaction { () throws(JournalError) in
            var state = SyncState()
            for request in requests { for change in request { try look(for: change, into: &state) } }
            let outcomes = requests.map { state.decide($0, now: now) }
            try keep(state, after: &last, now: now)
            return outcomes
        }
        lastSequence = last
        return outcomes
    }

    // MARK: Reading what decides

    private func look(for change: SyncChange, into state: inout SyncState) throws(JournalError) {
        let byKey = statements.changeByKey
        byKey.bind(change.user).bind(change.key)
        if try byKey.step() {
            state.know(known(byKey), key: change.key)
            byKey.reset()
        }
        let newest = statements.newestVersion
        newest.bind(change.record)
        // Without a change there is no record: one look-up for what is new.
        guard try newest.step() else { return }
        let user = newest.text(0)
        let type = RecordType(rawValue: newest.text(1)) ?? .document
        newest.reset()
        guard let record = try statements.record(change.record, of: user, in: type.table) else {
            throw JournalError(.damaged, "\(path) is damaged: a change has no record")
        }
        state.know(record)
        guard change.revision <= record.revision else { return }
        let version = statements.version
        version.bind(change.record).bind(change.revision)
        if try version.step() {
            state.know(version: known(version))
            version.reset()
        }
    }

    private func known(_ row: Statement) -> KnownChange {
        KnownChange(
            user: row.text(0), record: row.text(1), revision: row.integer(2),
            content: ContentHash(hex: row.text(3)) ?? ContentHash(high: 0, low: 0), deleted: row.integer(4) != 0)
    }

    // MARK: Writing what was decided

    private func keep(_ state: SyncState, after last: inout Int64, now: Int64) throws(JournalError) {
        for accepted in state.accepted {
            last += 1
            try statements.insert(accepted, as: last, now: now)
        }
        let touched = Touched(state.accepted)
        for change in touched.users { try statements.note(user: change, now: now) }
        for change in touched.devices { try statements.note(device: change, now: now) }
        for id in state.written { if let record = state[id] { try statements.put(record) } }
        for version in state.erased { try statements.erase(version) }
    }
}

internal import CSQLite
package import Journal

/// One connection to a database file. Owns the handle and closes it. Belongs to one thread at a time.
package final class SQLiteConnection {
    /// How long SQLite waits for a lock before it reports `busy`.
    static let busyTimeoutMilliseconds: Int32 = 2_000

    /// Set up once per process. Too late (somebody opened a connection before) is no error: it is only slower.
    /// Gives the file system for writing, nil for SQLite's own.
    private static let configured: String? = {
        _ = csqlite_configure()
        return csqlite_gathering_vfs().map { String(cString: $0) }
    }()

    package let path: String
    /// Valid from a successful `init` to `deinit`; handed out to `Statement` only, which keeps this object alive.
    let handle: OpaquePointer
    // Prepared once, by the first transaction; no `Statement`, which would keep this object alive.
    private var begin: OpaquePointer?
    private var commit: OpaquePointer?

    /// - Parameters:
    ///   - readOnly: open for reading; the file must exist.
    ///   - vfs: the name of a file system registered with SQLite; nil for that of the machine.
    package init(path: String, readOnly: Bool, vfs: String? = nil) throws(JournalError) {
        let gathering = Self.configured
        let vfs = vfs ?? (readOnly ? nil : gathering)
        var opened: OpaquePointer?
        let access = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        // NOMUTEX: a connection is used by one thread at a time, so SQLite's own lock would only cost.
        let code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
        guard let opened, code == SQLITE_OK else {
            sqlite3_close_v2(opened)
            throw Self.error(code, path: path, detail: nil)
        }
        self.path = path
        handle = opened
        // The prepared statements alone use up SQLite's default; the values bound to them then all come from malloc.
        // Debian builds SQLite without this; there it does nothing.
        csqlite_lookaside(handle, 1_200, 500)
        sqlite3_busy_timeout(handle, Self.busyTimeoutMilliseconds)
    }

    deinit {
        sqlite3_finalize(begin)
        sqlite3_finalize(commit)
        sqlite3_close_v2(handle)
    }

    /// Runs statements without parameters or results.
    package func execute(_ sql: String) throws(JournalError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// The first column of the first row as an integer; 0 when there is no row.
    package func integer(_ sql: String) throws(JournalError) -> Int64 {
        let statement = try Statement(self, sql)
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Runs `body` in one write transaction; rolls back and rethrows when it throws.
    package func transaction<Value>(_ body: () throws(JournalError) -> Value) throws(JournalError) -> Value {
        try run(&begin, "BEGIN IMMEDIATE")
        do {
            let value = try body()
            try run(&commit, "COMMIT")
            return value
        } catch {
            // SQLite rolls some errors back by itself; rolling back again is then an error that says nothing new.
            if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            csqlite_forget_gathered(handle)
            throw error
        }
    }

    private func run(_ statement: inout OpaquePointer?, _ sql: String) throws(JournalError) {
        if statement == nil {
            let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
            guard code == SQLITE_OK else { throw error(code) }
        }
        let code = sqlite3_step(statement)
        // The message is read before the reset, which may clear it.
        let failure = code == SQLITE_DONE ? nil : error(code)
        sqlite3_reset(statement)
        if let failure { throw failure }
    }

    /// The error of the call that has just failed with `code` on this connection.
    func error(_ code: Int32) -> JournalError {
        Self.error(code, path: path, detail: sqlite3_errmsg(handle).map { String(cString: $0) })
    }

    private static func error(_ code: Int32, path: String, detail: String?) -> JournalError {
        let kind: JournalError.Kind
        let what: String
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: (kind, what) = (.busy, "is locked by another connection")
        case SQLITE_FULL: (kind, what) = (.full, "cannot grow: no space left")
        case SQLITE_READONLY, SQLITE_PERM: (kind, what) = (.readOnly, "cannot be written")
        case SQLITE_IOERR: (kind, what) = (.io, "cannot be read or written")
        case SQLITE_CORRUPT: (kind, what) = (.damaged, "is damaged")
        case SQLITE_NOTADB: (kind, what) = (.damaged, "is not a database, or is damaged")
        case SQLITE_CANTOPEN: (kind, what) = (.cannotOpen, "cannot be opened")
        default: (kind, what) = (.other, "reports an error")
        }
        let reason = detail ?? sqlite3_errstr(code).map { String(cString: $0) } ?? "unknown"
        return JournalError(kind, "\(path) \(what): \(reason) (SQLite \(code))")
    }
}

internal import CSQLite

/// One connection to a SQLite file. Owns the handle and closes it. Belongs to one thread at a time.
final class Database {
    fileprivate let handle: OpaquePointer

    init(path: String) throws(StoreFailure) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard let opened, code == SQLITE_OK else {
            let detail = sqlite3_errstr(code).map { String(cString: $0) } ?? "error \(code)"
            sqlite3_close_v2(opened)
            throw StoreFailure(message: "cannot open \(path): \(detail)")
        }
        handle = opened
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs statements without parameters or rows.
    func execute(_ sql: String) throws(StoreFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
    }

    /// Runs `body` in one write transaction; rolls back and rethrows when it throws.
    func transaction<Value>(_ body: () throws(StoreFailure) -> Value) throws(StoreFailure) -> Value {
        try execute("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // SQLite rolls some errors back by itself; doing it again is then an error that says nothing new.
            if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    fileprivate var failure: StoreFailure {
        StoreFailure(message: sqlite3_errmsg(handle).map { String(cString: $0) } ?? "unknown SQLite error")
    }
}

/// A prepared statement. Owns it, finalises it, and keeps its connection alive until then.
final class Query {
    private let database: Database
    private let handle: OpaquePointer

    init(_ database: Database, _ sql: String) throws(StoreFailure) {
        var prepared: OpaquePointer?
        guard
            sqlite3_prepare_v3(database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
                == SQLITE_OK,
            let prepared
        else { throw database.failure }
        self.database = database
        handle = prepared
    }

    deinit { sqlite3_finalize(handle) }

    /// Binds the values in their order and calls `row` for each row.
    func run(_ values: [Value], row: (Query) -> Void = { _ in }) throws(StoreFailure) {
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, value) in values.enumerated() {
            guard bind(value, Int32(index + 1)) == SQLITE_OK else { throw database.failure }
        }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: row(self)
            case SQLITE_DONE: return
            default: throw database.failure
            }
        }
    }

    /// What a parameter may be.
    enum Value {
        case integer(Int64)
        case text(String)
    }

    private func bind(_ value: Value, _ index: Int32) -> Int32 {
        switch value {
        case .integer(let number): sqlite3_bind_int64(handle, index, number)
        // SQLite copies the bytes, so the pointer need not outlive the call; -1 lets it find the end.
        case .text(let text): csqlite_bind_text(handle, index, text, -1)
        }
    }

    // MARK: Columns of the present row

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }
}

/// The store did not work: a full disk, a damaged file, a lock.
struct StoreFailure: Error {
    let message: String
}

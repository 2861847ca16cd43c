internal import CSQLite
package import Journal

/// One prepared statement. Owns it, finalises it, and keeps its connection alive until then.
///
/// Values are bound in order: `statement.bind(1).bind("a")`. A failed bind is reported by the next `step`.
package final class Statement {
    private let connection: SQLiteConnection
    private let handle: OpaquePointer
    private var position: Int32 = 0
    private var bindFailure: Int32 = SQLITE_OK
    /// Whether all values are NULL still.
    private var isNew = true
    /// Where bound texts stay until the statement has run: SQLite then need not find room for each of them. What does not fit is
    /// copied by SQLite.
    private var texts: UnsafeMutableBufferPointer<CChar>?
    private var textsUsed = 0
    private static let textBytes = 2_048

    package init(_ connection: SQLiteConnection, _ sql: String) throws(JournalError) {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard let prepared, code == SQLITE_OK else { throw connection.error(code) }
        self.connection = connection
        handle = prepared
    }

    deinit {
        sqlite3_finalize(handle)
        texts?.deallocate()
    }

    // MARK: Binding

    private func bound(_ code: Int32) -> Statement {
        if code != SQLITE_OK, bindFailure == SQLITE_OK { bindFailure = code }
        return self
    }

    private func next() -> Int32 {
        position += 1
        return position
    }

    @discardableResult package func bind(_ value: Int64) -> Statement {
        bound(sqlite3_bind_int64(handle, next(), value))
    }
    @discardableResult package func bind(_ value: Int) -> Statement { bind(Int64(value)) }
    @discardableResult package func bind(_ value: Bool) -> Statement { bind(value ? 1 as Int64 : 0) }

    @discardableResult package func bindNull() -> Statement { bound(sqlite3_bind_null(handle, next())) }

    @discardableResult package func bind(_ value: Int64?) -> Statement {
        guard let value else { return bindNull() }
        return bind(value)
    }

    @discardableResult package func bind(_ value: Int?) -> Statement { bind(value.map { Int64($0) }) }

    @discardableResult package func bind(_ value: String?) -> Statement {
        guard var text = value else { return bindNull() }
        let index = next()
        // An empty text has no address, which would bind NULL.
        if text.isEmpty { return bound(csqlite_bind_text(handle, index, "", 0)) }
        return bound(
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { bytes in
                    guard let kept = keep(bytes) else {
                        // SQLite copies the bytes, so the pointer need not outlive the closure.
                        return csqlite_bind_text(handle, index, bytes.baseAddress, Int32(bytes.count))
                    }
                    // What it points to changes only after the reset.
                    return csqlite_bind_text_static(handle, index, kept, Int32(bytes.count))
                }
            })
    }

    /// Copies a text to where it stays until the reset; nil when there is no room.
    private func keep(_ bytes: UnsafeBufferPointer<CChar>) -> UnsafePointer<CChar>? {
        let place = texts ?? .allocate(capacity: Self.textBytes)
        texts = place
        guard let base = place.baseAddress, let source = bytes.baseAddress, bytes.count <= Self.textBytes - textsUsed
        else { return nil }
        let start = base + textsUsed
        start.update(from: source, count: bytes.count)
        textsUsed += bytes.count
        return UnsafePointer(start)
    }

    /// Binds a word that lives as long as the program.
    @discardableResult package func bind(_ word: StaticString) -> Statement {
        bound(
            word.utf8Start.withMemoryRebound(to: CChar.self, capacity: word.utf8CodeUnitCount) {
                csqlite_bind_text_static(handle, next(), $0, Int32(word.utf8CodeUnitCount))
            })
    }

    /// Binds bytes without copying them: they must stay where they are until `run` or `reset` has returned.
    @discardableResult package func bind(borrowing bytes: UnsafeBufferPointer<UInt8>) -> Statement {
        let index = next()
        guard let base = bytes.baseAddress, !bytes.isEmpty else {
            return bound(sqlite3_bind_zeroblob(handle, index, 0))
        }
        return bound(csqlite_bind_blob_static(handle, index, base, Int32(bytes.count)))
    }

    // MARK: Running

    /// Moves to the next row. Returns false, and resets, at the end.
    package func step() throws(JournalError) -> Bool {
        assert(
            isNew && position == 0 || position == sqlite3_bind_parameter_count(handle),
            "a statement runs with values of its last use")
        guard bindFailure == SQLITE_OK else {
            let code = bindFailure
            reset()
            throw connection.error(code)
        }
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            return true
        case SQLITE_DONE:
            reset()
            return false
        case let code:
            // The message is read before the reset, which may clear it.
            let error = connection.error(code)
            reset()
            throw error
        }
    }

    /// Runs a statement to its end, whatever rows it has.
    package func run() throws(JournalError) {
        while try step() {}
    }

    /// Makes the statement ready to be bound again. Needed only where rows were left unread.
    ///
    /// What was bound stays where it is, unread: every use binds all values anew before it runs.
    package func reset() {
        sqlite3_reset(handle)
        position = 0
        textsUsed = 0
        isNew = false
        bindFailure = SQLITE_OK
    }

    /// Rows changed by the statement that ran last on this connection.
    package var changedRows: Int { Int(sqlite3_changes(connection.handle)) }

    // MARK: Columns of the present row

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    package func integerOrNil(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    package func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    package func textOrNil(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    package func bytes(_ column: Int32) -> [UInt8] {
        guard let blob = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_column_bytes(handle, column))))
    }
}

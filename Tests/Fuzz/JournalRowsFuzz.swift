import CSQLite
import Journal
import Rollout

@testable import StoreSQLite

/// Rows of the journal that nobody wrote: read, they are a value or an error that says "damaged", and a change that could be read
/// is the same change after it was written again.
final class JournalRowsFuzz {
    private enum Kind { case text, optionalText, integer, optionalInteger, blob, optionalBlob, state, side }
    private typealias Columns = [(name: String, kind: Kind)]

    private let store: SQLiteStore

    init() {
        do { store = try SQLiteStore(directory: scratchDirectory("journal")) } catch { fatalError("\(error)") }
    }

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        var values = InputValues(Array(input))
        guard sqlite3_exec(store.connection.handle, "BEGIN", nil, nil, nil) == SQLITE_OK else { fatalError("no begin") }
        defer {
            sqlite3_exec(store.connection.handle, "ROLLBACK", nil, nil, nil)
            store.unanswered = [:]
        }
        for sequence in 1...3 as ClosedRange<Int64> where values.hasMore {
            insert("change", Self.change, sequence, &values)
            insert("change_body", Self.body, sequence, &values)
            insert("batch_record", Self.batchRecord, sequence, &values)
        }
        if values.hasMore { insert("record_revision", Self.revision, nil, &values) }
        if values.hasMore { insert("rollout", Self.rollout, 1, &values) }
        if values.hasMore { insert("event", Self.event, 1, &values) }
        if values.hasMore { insert("pin", Self.pin, nil, &values) }
        readLists()
        for sequence in 1...3 as ClosedRange<Int64> { roundTrip(sequence) }
    }

    private func readLists() {
        attempt { () throws(JournalError) in
            let rows = try store.rows(parkedOnly: false, before: nil, limit: 10)
            require(try store.rows(parkedOnly: false, before: nil, limit: 10) == rows, "two readings differ")
        }
        attempt { () throws(JournalError) in _ = try store.rows(parkedOnly: true, before: nil, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.parked(after: 0, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.unshared(after: 0, skippedOnly: false, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.unshared(after: 0, skippedOnly: true, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.outstanding(after: 0, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.outstandingPlaces(after: 0, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.unanswered(after: 0, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.counts() }
        attempt { () throws(JournalError) in
            let record = try store.loadRollout()
            require(try store.loadRollout() == record, "two readings differ")
        }
        attempt { () throws(JournalError) in _ = try store.events(before: nil, limit: 10) }
        attempt { () throws(JournalError) in _ = try store.pins() }
    }

    /// Reads a change, writes what was read under another place, and reads that.
    private func roundTrip(_ sequence: Int64) {
        attempt { () throws(JournalError) in
            guard let change = try store.load(sequence) else { return }
            _ = try store.changeBehind(sequence, on: .legacy)
            _ = try store.judge(change.submission)
            let place = sequence + 100
            // Two changes cannot hold one key, nor one revision of a record: what stood there before goes.
            sqlite3_exec(store.connection.handle, "SAVEPOINT copy", nil, nil, nil)
            for table in ["record_revision", "change", "change_body", "batch_record"] {
                sqlite3_exec(store.connection.handle, "DELETE FROM \(table)", nil, nil, nil)
            }
            defer { sqlite3_exec(store.connection.handle, "ROLLBACK TO copy", nil, nil, nil) }
            try store.insert(change.submission, as: place, now: change.acceptedMilliseconds)
            guard let again = try store.load(place) else { fatalError("a change that was written is not there") }
            require(isSame(change.submission, again.submission), "\(change.submission), again \(again.submission)")
            require(again.acceptedMilliseconds == change.acceptedMilliseconds, "accepted at another time")
            let answer = StoredAnswer(status: 200, headerLines: [], body: change.submission.body, servedBy: .new)
            try store.keep(
                .answered(place, servedBy: .new, legs: change.legs, answer: answer, revisionAccepted: true))
            guard let answered = try store.load(place) else { fatalError("a change that was answered is not there") }
            require(answered.legs == change.legs && answered.answeredStatus == 200, "\(answered)")
        }
    }

    private func isSame(_ one: Submission, _ other: Submission) -> Bool {
        one.user == other.user && one.records == other.records && one.idempotencyKey == other.idempotencyKey
            && one.outgoingKey == other.outgoingKey && one.fingerprint == other.fingerprint
            && one.method == other.method && one.target == other.target && one.headerLines == other.headerLines
            && one.conditionalLines == other.conditionalLines && one.body == other.body && one.side == other.side
            && one.dualWrite == other.dualWrite
    }

    /// Damaged is an answer; anything else is not.
    private func attempt(_ body: () throws(JournalError) -> Void) {
        do { try body() } catch {
            // A batch whose records stand there twice cannot be written again: SQLite says so.
            require(error.kind == .damaged || "\(error)".contains("constraint"), "\(error)")
        }
    }

    // MARK: Writing rows past the store

    private func insert(_ table: String, _ columns: Columns, _ sequence: Int64?, _ values: inout InputValues) {
        let names = columns.map(\.name).joined(separator: ", ")
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let first = sequence.map { (table == "rollout" ? "id, " : "sequence, ", "\($0), ") } ?? ("", "")
        var handle: OpaquePointer?
        let sql = "INSERT OR IGNORE INTO \(table) (\(first.0)\(names)) VALUES (\(first.1)\(marks))"
        guard sqlite3_prepare_v2(store.connection.handle, sql, -1, &handle, nil) == SQLITE_OK else {
            fatalError("\(sql): \(String(cString: sqlite3_errmsg(store.connection.handle)))")
        }
        defer { sqlite3_finalize(handle) }
        for (index, column) in columns.enumerated() { bind(handle, Int32(index + 1), column.kind, &values) }
        sqlite3_step(handle)
    }

    private func bind(_ handle: OpaquePointer?, _ index: Int32, _ kind: Kind, _ values: inout InputValues) {
        func bind(text: [UInt8]) {
            withExactCopy(text) { base in
                base.withMemoryRebound(to: CChar.self, capacity: max(1, text.count)) {
                    _ = csqlite_bind_text(handle, index, $0, Int32(text.count))
                }
            }
        }
        func bind(blob: [UInt8]) { withExactCopy(blob) { _ = csqlite_bind_blob(handle, index, $0, Int32(blob.count)) } }
        switch kind {
        case .text: bind(text: values.bytes())
        case .optionalText: if let text = values.optional({ $0.bytes() }) { bind(text: text) }
        case .integer: sqlite3_bind_int64(handle, index, values.integer())
        case .optionalInteger:
            if let number = values.optional({ $0.integer() }) { sqlite3_bind_int64(handle, index, number) }
        case .blob: bind(blob: values.bytes())
        case .optionalBlob: if let blob = values.optional({ $0.bytes() }) { bind(blob: blob) }
        case .state:
            let pick = Int(values.byte())
            bind(
                text: pick < 250
                    ? Array(LegState.allCases[pick % LegState.allCases.count].rawValue.utf8) : values.bytes())
        case .side:
            let pick = values.byte()
            sqlite3_bind_int64(handle, index, pick < 250 ? Int64(pick % 2) : values.integer())
        }
    }

    private static let change: Columns = [
        ("accepted_at", .integer), ("user", .text), ("record", .optionalText), ("revision", .optionalInteger),
        ("payload_hash", .optionalText), ("record_count", .integer), ("has_revision", .integer),
        ("idempotency_key", .optionalText), ("outgoing_key", .text), ("holds_key", .integer), ("fingerprint", .text),
        ("method", .text), ("target", .text), ("side", .side), ("dual_write", .integer), ("is_answered", .integer),
        ("answered_status", .optionalInteger), ("served_by", .optionalInteger), ("answer_header_lines", .optionalBlob),
        ("answer_body", .optionalBlob), ("legacy_state", .state), ("legacy_attempts", .integer),
        ("legacy_refusals", .integer), ("legacy_last_status", .optionalInteger),
        ("legacy_next_attempt_at", .optionalInteger), ("new_state", .state), ("new_attempts", .integer),
        ("new_refusals", .integer), ("new_last_status", .optionalInteger), ("new_next_attempt_at", .optionalInteger),
    ]
    private static let body: Columns = [("header_lines", .blob), ("conditional_lines", .blob), ("body", .blob)]
    private static let batchRecord: Columns = [
        ("ordinal", .integer), ("record", .text), ("revision", .optionalInteger), ("payload_hash", .text),
    ]
    private static let revision: Columns = [
        ("user", .text), ("record", .text), ("revision", .integer), ("sequence", .integer), ("payload_hash", .text),
        ("idempotency_key", .optionalText),
    ]
    private static let rollout: Columns = [
        ("generation", .integer), ("plan", .text), ("stage", .text), ("percent_hundredths", .integer), ("state", .text),
        ("since", .integer), ("details", .text),
    ]
    private static let event: Columns = [
        ("at", .integer), ("actor", .text), ("action", .text), ("before", .text), ("after", .text), ("reason", .text),
    ]
    private static let pin: Columns = [("user", .text), ("side", .side), ("since", .integer)]
}

/// Values out of an input, one behind the other; zeros where it has ended.
struct InputValues {
    private let input: [UInt8]
    private var at = 0

    init(_ input: [UInt8]) { self.input = input }

    var hasMore: Bool { at < input.count }

    mutating func byte() -> UInt8 {
        guard at < input.count else { return 0 }
        defer { at += 1 }
        return input[at]
    }

    /// Small numbers are one byte; 0xff is followed by eight.
    mutating func integer() -> Int64 {
        let first = byte()
        guard first == 0xff else { return Int64(first) }
        return Int64(bitPattern: (0..<8).reduce(UInt64(0)) { number, _ in number << 8 | UInt64(byte()) })
    }

    /// As many as the first byte says.
    mutating func bytes() -> [UInt8] {
        let count = min(Int(byte()), input.count - at)
        defer { at += count }
        return Array(input[at..<(at + count)])
    }

    mutating func optional<Value>(_ value: (inout InputValues) -> Value) -> Value? {
        byte() & 1 == 0 ? nil : value(&self)
    }
}

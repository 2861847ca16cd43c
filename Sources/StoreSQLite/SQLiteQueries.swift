internal import Journal
internal import Rollout

/// The prepared reading statements of one connection.
package final class SQLiteQueries {
    static let legs =
        """
        legacy_state, legacy_attempts, legacy_refusals, legacy_last_status, legacy_next_attempt_at,
        new_state, new_attempts, new_refusals, new_last_status, new_next_attempt_at
        """
    private static let rowColumns =
        "sequence, accepted_at, user, record, revision, record_count, method, target, side, \(legs)"

    /// The newest place ever given out: pruned changes count.
    static let lastSequence =
        """
        max(ifnull((SELECT max(sequence) FROM change), 0),
            ifnull((SELECT value FROM counter WHERE name = 'pruned_sequence'), 0))
        """

    let connection: SQLiteConnection
    let outstanding: OutstandingQueries
    private let batchRecords: Statement
    private let change: Statement
    private let rowsPage: Statement
    private let parkedRowsPage: Statement
    private let parkedPage: Statement
    private let unsharedPage: Statement
    private let skippedPage: Statement
    private let behindOnLegacy: Statement
    private let behindOnNew: Statement
    private let counts: Statement
    private let rollout: Statement
    private let eventsPage: Statement
    private let allPins: Statement

    init(_ connection: SQLiteConnection) throws(JournalError) {
        self.connection = connection
        let batchRecords = try Statement(
            connection, "SELECT record, revision, payload_hash FROM batch_record WHERE sequence = ? ORDER BY ordinal")
        self.batchRecords = batchRecords
        outstanding = try OutstandingQueries(connection) { sequence throws(JournalError) in
            try Self.records(batchRecords, sequence)
        }
        change = try Statement(
            connection,
            """
            SELECT sequence, accepted_at, user, record, revision, payload_hash, record_count, idempotency_key,
                outgoing_key, fingerprint, method, target, side, dual_write, answered_status,
                header_lines, conditional_lines, body, \(Self.legs)
            FROM change JOIN change_body USING (sequence) WHERE sequence = ?
            """)
        rowsPage = try Statement(
            connection, "SELECT \(Self.rowColumns) FROM change WHERE sequence < ? ORDER BY sequence DESC LIMIT ?")
        parkedRowsPage = try Statement(
            connection,
            """
            SELECT \(Self.rowColumns) FROM change INDEXED BY change_parked
            WHERE \(Schema.parked) AND sequence < ? ORDER BY sequence DESC LIMIT ?
            """)
        parkedPage = try Statement(
            connection,
            """
            SELECT sequence FROM change INDEXED BY change_parked
            WHERE \(Schema.parked) AND sequence > ? ORDER BY sequence LIMIT ?
            """)
        func unshared(_ index: String, _ condition: String) throws(JournalError) -> Statement {
            try Statement(
                connection,
                """
                SELECT sequence, accepted_at, user, record, record_count, is_answered, \(Self.legs)
                FROM change INDEXED BY \(index)
                WHERE \(condition) AND sequence > ? ORDER BY sequence LIMIT ?
                """)
        }
        unsharedPage = try unshared("change_unshared", Schema.unshared)
        skippedPage = try unshared("change_skipped", Schema.skipped)
        behindOnLegacy = try Statement(connection, Self.behind("legacy_state"))
        behindOnNew = try Statement(connection, Self.behind("new_state"))
        counts = try Statement(
            connection,
            """
            SELECT
                (SELECT count(*) FROM change INDEXED BY change_outstanding
                    WHERE \(Schema.outstanding) AND legacy_state IN ('pending', 'awaiting-copy')),
                (SELECT count(*) FROM change INDEXED BY change_outstanding
                    WHERE \(Schema.outstanding) AND new_state IN ('pending', 'awaiting-copy')),
                (SELECT count(*) FROM change INDEXED BY change_parked
                    WHERE \(Schema.parked) AND legacy_state = 'parked'),
                (SELECT count(*) FROM change INDEXED BY change_parked
                    WHERE \(Schema.parked) AND new_state = 'parked'),
                \(Self.lastSequence)
            """)
        rollout = try Statement(
            connection,
            "SELECT generation, plan, stage, percent_hundredths, state, since, details FROM rollout WHERE id = 1")
        eventsPage = try Statement(
            connection,
            """
            SELECT sequence, at, actor, action, before, after, reason FROM event
            WHERE sequence < ? ORDER BY sequence DESC LIMIT ?
            """)
        allPins = try Statement(connection, "SELECT user, side, since FROM pin ORDER BY user")
    }

    /// The records of one change that have no revision, and for each of them what was accepted later: alone, in a batch, or with a
    /// revision, which another route may give it.
    static func behind(_ state: String) -> String {
        let holds = "c.\(state) IN ('applied', 'superseded', 'pending', 'awaiting-copy')"
        return """
            WITH item (user, record) AS (
                SELECT user, record FROM change WHERE sequence = ?1 AND \(Schema.unversioned)
                UNION ALL SELECT c.user, b.record FROM batch_record b CROSS JOIN change c ON c.sequence = b.sequence
                    WHERE b.sequence = ?1 AND b.revision IS NULL)
            SELECT sequence FROM (
                SELECT c.sequence FROM item i CROSS JOIN change c INDEXED BY change_record
                    ON c.user = i.user AND c.record = i.record AND c.sequence > ?1
                    WHERE (c.record IS NOT NULL AND c.revision IS NULL) AND \(holds)
                UNION ALL SELECT c.sequence FROM item i CROSS JOIN batch_record b INDEXED BY batch_record_record
                    ON b.record = i.record AND b.sequence > ?1 CROSS JOIN change c ON c.sequence = b.sequence
                    WHERE b.revision IS NULL AND c.user = i.user AND \(holds)
                UNION ALL SELECT c.sequence FROM item i CROSS JOIN record_revision r
                    ON r.user = i.user AND r.record = i.record AND r.sequence > ?1
                    CROSS JOIN change c ON c.sequence = r.sequence WHERE \(holds))
            LIMIT 1
            """
    }

    func changeBehind(_ sequence: Sequence64, on side: Side) throws(JournalError) -> Sequence64? {
        let statement = side == .legacy ? behindOnLegacy : behindOnNew
        return try Self.all(statement.bind(sequence)) { row throws(JournalError) in row.integer(0) }.first
    }

    func load(_ sequence: Sequence64) throws(JournalError) -> StoredChange? {
        change.bind(sequence)
        guard try change.step() else { return nil }
        defer { change.reset() }
        let row = change
        var records: [RecordRevision] = []
        if let record = row.textOrNil(3) {
            records.append(RecordRevision(record: record, revision: row.integerOrNil(4), payloadHash: row.text(5)))
        }
        if row.integer(6) > 1 { records += try readBatchRecords(sequence) }
        let submission = Submission(
            user: Self.user(row.text(2)), records: records, idempotencyKey: row.textOrNil(7), outgoingKey: row.text(8),
            fingerprint: row.text(9), method: row.text(10), target: row.text(11), headerLines: row.bytes(15),
            conditionalLines: row.bytes(16), body: row.bytes(17), side: try Self.side(row.integer(12)),
            dualWrite: row.integer(13) != 0)
        return StoredChange(
            sequence: sequence, acceptedMilliseconds: row.integer(1), submission: submission,
            legs: try Self.legs(row, from: 18), answeredStatus: row.integerOrNil(14).map { Int($0) })
    }

    func rows(parkedOnly: Bool, before cursor: Sequence64?, limit: Int) throws(JournalError) -> [JournalRow] {
        let row = parkedOnly ? parkedRowsPage : rowsPage
        return try Self.all(row.bind(cursor ?? .max).bind(limit)) { row throws(JournalError) in
            JournalRow(
                sequence: row.integer(0), acceptedMilliseconds: row.integer(1), user: Self.user(row.text(2)),
                record: row.textOrNil(3), revision: row.integerOrNil(4), recordCount: Int(row.integer(5)),
                method: row.text(6), target: row.text(7), side: try Self.side(row.integer(8)),
                legs: try Self.legs(row, from: 9))
        }
    }

    func parked(after sequence: Sequence64, limit: Int) throws(JournalError) -> [Sequence64] {
        try Self.all(parkedPage.bind(sequence).bind(limit)) { row throws(JournalError) in row.integer(0) }
    }

    func unshared(
        after sequence: Sequence64, skippedOnly: Bool, limit: Int
    ) throws(JournalError) -> [UnsharedChange] {
        let page = skippedOnly ? skippedPage : unsharedPage
        return try Self.all(page.bind(sequence).bind(limit)) { row throws(JournalError) in
            var records = row.textOrNil(3).map { [$0] } ?? []
            if row.integer(4) > 1 { records += try readBatchRecords(row.integer(0)).map(\.record) }
            return UnsharedChange(
                sequence: row.integer(0), acceptedMilliseconds: row.integer(1), user: Self.user(row.text(2)),
                records: records, isAnswered: row.integer(5) != 0, legs: try Self.legs(row, from: 6))
        }
    }

    func readCounts() throws(JournalError) -> JournalCounts {
        var result = JournalCounts()
        guard try counts.step() else { return result }
        result.outstandingLegacy = Int(counts.integer(0))
        result.outstandingNew = Int(counts.integer(1))
        result.parkedLegacy = Int(counts.integer(2))
        result.parkedNew = Int(counts.integer(3))
        result.lastSequence = counts.integer(4)
        counts.reset()
        return result
    }

    func readRollout() throws(JournalError) -> RolloutRecord? {
        try Self.all(rollout) { row throws(JournalError) in
            RolloutRecord(
                generation: row.integer(0), plan: row.text(1), stage: row.text(2),
                percentHundredths: Int(row.integer(3)), state: row.text(4), sinceMilliseconds: row.integer(5),
                details: row.text(6))
        }.first
    }

    func events(before cursor: Int64?, limit: Int) throws(JournalError) -> [RolloutEvent] {
        try Self.all(eventsPage.bind(cursor ?? .max).bind(limit)) { row throws(JournalError) in
            RolloutEvent(
                sequence: row.integer(0), atMilliseconds: row.integer(1), actor: row.text(2), action: row.text(3),
                before: row.text(4), after: row.text(5), reason: row.text(6))
        }
    }

    func readPins() throws(JournalError) -> [Pin] {
        try Self.all(allPins) { row throws(JournalError) in
            Pin(user: row.text(0), side: try Self.side(row.integer(1)), sinceMilliseconds: row.integer(2))
        }
    }

    /// The records of a batch after its first.
    func readBatchRecords(_ sequence: Sequence64) throws(JournalError) -> [RecordRevision] {
        try Self.records(batchRecords, sequence)
    }

    private static func records(
        _ statement: Statement, _ sequence: Sequence64
    ) throws(JournalError) -> [RecordRevision] {
        try all(statement.bind(sequence)) { row throws(JournalError) in
            RecordRevision(record: row.text(0), revision: row.integerOrNil(1), payloadHash: row.text(2))
        }
    }
}

extension SQLiteQueries {
    /// Reads every row of a bound statement, and leaves it reset whatever happens.
    static func all<Row>(
        _ statement: Statement, _ read: (Statement) throws(JournalError) -> Row
    ) throws(JournalError) -> [Row] {
        var rows: [Row] = []
        do {
            while try statement.step() { rows.append(try read(statement)) }
        } catch {
            statement.reset()
            throw error
        }
        return rows
    }

    static func user(_ stored: String) -> String? { stored.isEmpty ? nil : stored }

    static func side(_ stored: Int64) throws(JournalError) -> Side {
        guard let raw = UInt8(exactly: stored), let side = Side(rawValue: raw) else {
            throw JournalError(.damaged, "the journal holds an unknown side \(stored)")
        }
        return side
    }

    static func legs(_ row: Statement, from column: Int32) throws(JournalError) -> Legs {
        Legs(legacy: try leg(row, from: column), new: try leg(row, from: column + 5))
    }

    private static func leg(_ row: Statement, from column: Int32) throws(JournalError) -> LegStatus {
        let stored = row.text(column)
        guard let state = LegState(rawValue: stored) else {
            throw JournalError(.damaged, "the journal holds an unknown leg state \(stored)")
        }
        return LegStatus(
            state, attempts: Int(row.integer(column + 1)), refusals: Int(row.integer(column + 2)),
            lastStatus: row.integerOrNil(column + 3).map { Int($0) },
            nextAttemptMilliseconds: row.integerOrNil(column + 4))
    }
}

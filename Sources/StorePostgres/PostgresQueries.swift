internal import Journal
internal import Rollout

/// The reading statements, and what their rows mean.
enum PostgresQueries {
    private static let legs =
        """
        c.legacy_state, c.legacy_attempts, c.legacy_refusals, c.legacy_last_status, c.legacy_next_attempt_at,
        c.new_state, c.new_attempts, c.new_refusals, c.new_last_status, c.new_next_attempt_at
        """
    /// What `outstanding` reads, of `change c`.
    static let outstandingColumns =
        """
        c.sequence, c.accepted_at, c."user", c.side, c.answered_status, \(legs), CASE WHEN c.record_count > 1 THEN
            c.record || ARRAY(SELECT b.record FROM batch_record b WHERE b.sequence = c.sequence ORDER BY b.ordinal)
            WHEN c.record_count = 1 THEN ARRAY[c.record] ELSE ARRAY[]::text[] END
        """
    private static let rowColumns =
        """
        SELECT c.sequence, c.accepted_at, c."user", c.record, c.revision, c.record_count, c.method, c.target, c.side, \(legs)
        FROM change c
        """

    // What the following four have in common: $1 the owner, $2 its last confirmed group, $3 after which sequence, $4 how many.
    private static let own =
        "\(PostgresSchema.outstanding) AND c.owner = $1 AND c.group_number <= $2 AND c.sequence > $3"
    private static let order = "ORDER BY c.sequence LIMIT $4"

    static let outstanding = PostgresStatement(
        "outstanding", "SELECT \(outstandingColumns) FROM change c WHERE \(own) \(order)")
    static let unanswered = PostgresStatement(
        "unanswered",
        "SELECT \(outstandingColumns) FROM change c WHERE \(own) AND c.answered_status IS NULL \(order)")
    static let places = PostgresStatement(
        "places",
        """
        SELECT c.sequence, c.accepted_at, c."user", c.answered_status IS NOT NULL,
            \(isOutstanding(.legacy)), \(isOutstanding(.new))
        FROM change c WHERE \(own) \(order)
        """)

    /// $5 up to which sequence, $6 up to which takeover; for one user $7.
    static func page(_ query: OutstandingQuery) -> PostgresStatement {
        let name = query.side == .legacy ? "legacy" : "new"
        let filter = "\(own) AND \(isOutstanding(query.side)) AND c.sequence <= $5 AND c.group_number >= -$6::bigint"
        switch query.scope {
        case .everyone:
            return PostgresStatement(
                "page_\(name)", "SELECT \(outstandingColumns) FROM change c WHERE \(filter) \(order)")
        case .user:
            let user = #"left(c."user", 64) = left($7, 64) AND c."user" = $7"#
            return PostgresStatement(
                "page_\(name)_user",
                "SELECT \(outstandingColumns) FROM change c WHERE \(filter) AND \(user) \(order)")
        }
    }

    private static func isOutstanding(_ side: Side) -> String {
        "c.\(side == .legacy ? "legacy_state" : "new_state") IN ('pending', 'awaiting-copy')"
    }

    /// Owner, lanes: what other gateways have outstanding in them, and what was taken over from others (negative group numbers,
    /// see `take_over`): the cluster may not have told of it yet. Ranges, because an index cannot find `<>`. The last condition is
    /// wrapped, so that the rows are found by their number and not by walking over all that is outstanding.
    static let foreign = PostgresStatement(
        "foreign",
        """
        SELECT \(outstandingColumns) FROM change c WHERE c.sequence = ANY (ARRAY(
            SELECT c.sequence FROM change c
                WHERE c.lane = ANY ($2) AND -c.owner < -$1::bigint AND \(PostgresSchema.outstanding)
            UNION SELECT c.sequence FROM change c
                WHERE c.lane = ANY ($2) AND -c.owner > -$1::bigint AND \(PostgresSchema.outstanding)
            UNION SELECT c.sequence FROM change c
                WHERE c.lane = ANY ($2) AND -c.owner = -$1::bigint AND c.group_number < 0 AND \(PostgresSchema.outstanding)
            UNION SELECT b.sequence FROM batch_lane b WHERE b.lane = ANY ($2)))
            AND (c.owner <> $1 OR c.group_number < 0) AND coalesce(\(PostgresSchema.outstanding), false)
        ORDER BY c.sequence
        """)
    private static func batch(_ column: String) -> String {
        "ARRAY(SELECT r.\(column) FROM batch_record r WHERE r.sequence = c.sequence ORDER BY r.ordinal)"
    }
    // One statement, not two: pruning could come between them.
    static let load = PostgresStatement(
        "load",
        """
        SELECT c.accepted_at, c."user", c.record, c.revision, c.payload_hash, c.record_count, c.idempotency_key,
            c.outgoing_key, c.fingerprint, c.method, c.target, c.side, c.dual_write, c.answered_status,
            b.header_lines, b.conditional_lines, b.body, \(legs),
            \(batch("record")), \(batch("revision")), \(batch("payload_hash"))
        FROM change c JOIN change_body b ON b.sequence = c.sequence WHERE c.sequence = $1
        """)
    static let rows = PostgresStatement(
        "rows", "\(rowColumns) WHERE c.sequence < $1 ORDER BY c.sequence DESC LIMIT $2")
    static let parkedRows = PostgresStatement(
        "parked_rows",
        "\(rowColumns) WHERE \(PostgresSchema.parked) AND c.sequence < $1 ORDER BY c.sequence DESC LIMIT $2")
    static let parked = PostgresStatement(
        "parked",
        "SELECT sequence FROM change WHERE \(PostgresSchema.parked) AND sequence > $1 ORDER BY sequence LIMIT $2")
    /// After which sequence, how many.
    static func unshared(skippedOnly: Bool) -> PostgresStatement {
        PostgresStatement(
            skippedOnly ? "skipped" : "unshared",
            """
            SELECT \(outstandingColumns), c.is_answered FROM change c
            WHERE \(skippedOnly ? PostgresSchema.skipped : PostgresSchema.unshared) AND c.sequence > $1
            ORDER BY c.sequence LIMIT $2
            """)
    }
    /// $1 a change. As in SQLite, but found by the hash of the lane.
    static func behind(_ side: Side) -> PostgresStatement {
        let name = side == .legacy ? "legacy" : "new"
        let holds = "c.\(name)_state IN ('applied', 'superseded', 'pending', 'awaiting-copy')"
        return PostgresStatement(
            "behind_\(name)",
            """
            WITH item AS (
                SELECT c."user", c.record, c.lane FROM change c
                    WHERE c.sequence = $1 AND c.record IS NOT NULL AND c.revision IS NULL
                UNION ALL SELECT c."user", b.record, b.lane FROM batch_record b JOIN change c ON c.sequence = b.sequence
                    WHERE b.sequence = $1 AND b.revision IS NULL)
            SELECT sequence FROM (
                SELECT c.sequence FROM item i JOIN change c ON c.lane = i.lane AND c.sequence > $1
                    WHERE c.record IS NOT NULL AND c.revision IS NULL AND c.record = i.record AND c."user" = i."user"
                        AND \(holds)
                UNION ALL SELECT c.sequence FROM item i JOIN batch_record b ON b.lane = i.lane AND b.sequence > $1
                    JOIN change c ON c.sequence = b.sequence
                    WHERE b.revision IS NULL AND b.record = i.record AND c."user" = i."user" AND \(holds)
                UNION ALL SELECT c.sequence FROM item i
                    JOIN record_revision r ON r.record_digest = digest_of(i."user", i.record) AND r.sequence > $1
                    JOIN change c ON c.sequence = r.sequence
                    WHERE r.record = i.record AND r."user" = i."user" AND \(holds)) AS later
            LIMIT 1
            """)
    }
    static let counts = PostgresStatement(
        "counts",
        """
        SELECT o.legacy, o.new, p.legacy, p.new, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM change_sequence)
        FROM (SELECT count(*) FILTER (WHERE legacy_state IN ('pending', 'awaiting-copy')) AS legacy,
                count(*) FILTER (WHERE new_state IN ('pending', 'awaiting-copy')) AS new
            FROM change WHERE \(PostgresSchema.outstanding)) AS o,
            (SELECT count(*) FILTER (WHERE legacy_state = 'parked') AS legacy,
                count(*) FILTER (WHERE new_state = 'parked') AS new
            FROM change WHERE \(PostgresSchema.parked)) AS p
        """)
    static let rollout = PostgresStatement(
        "rollout",
        "SELECT generation, plan, stage, percent_hundredths, state, since, details FROM rollout WHERE id = 1")
    static let events = PostgresStatement(
        "events",
        """
        SELECT sequence, at, actor, action, before, after, reason FROM event
        WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2
        """)
    static let sharedVersion = PostgresStatement("shared_version", "SELECT value FROM counter WHERE name = 'version'")
    static let pins = PostgresStatement("pins", #"SELECT "user", side, since FROM pin ORDER BY "user" COLLATE "C""#)
}

// MARK: - Rows

extension PostgresQueries {
    static func all<Row>(
        _ rows: PostgresRows, _ read: (PostgresRows, Int) throws(JournalError) -> Row
    ) throws(JournalError) -> [Row] {
        var all: [Row] = []
        all.reserveCapacity(rows.count)
        for row in 0..<rows.count { all.append(try read(rows, row)) }
        return all
    }

    static func outstanding(_ rows: PostgresRows, _ row: Int) throws(JournalError) -> OutstandingChange {
        OutstandingChange(
            sequence: rows.integer(row, 0), acceptedMilliseconds: rows.integer(row, 1), user: user(rows.text(row, 2)),
            records: rows.texts(row, 15), side: try side(rows.integer(row, 3)), legs: try legs(rows, row, from: 5),
            answeredStatus: rows.integerOrNil(row, 4).map { Int($0) })
    }

    static func unshared(_ rows: PostgresRows, _ row: Int) throws(JournalError) -> UnsharedChange {
        let change = try outstanding(rows, row)
        return UnsharedChange(
            sequence: change.sequence, acceptedMilliseconds: change.acceptedMilliseconds, user: change.user,
            records: change.records, isAnswered: rows.boolean(row, 16), legs: change.legs)
    }

    static func place(_ rows: PostgresRows, _ row: Int) -> OutstandingPlace {
        var sides: SideSet = []
        if rows.boolean(row, 4) { sides.insert(.legacy) }
        if rows.boolean(row, 5) { sides.insert(.new) }
        return OutstandingPlace(
            sequence: rows.integer(row, 0), acceptedMilliseconds: rows.integer(row, 1), user: user(rows.text(row, 2)),
            sides: sides, isAnswered: rows.boolean(row, 3))
    }

    static func stored(_ rows: PostgresRows, _ sequence: Sequence64) throws(JournalError) -> StoredChange {
        var records: [RecordRevision] = []
        if let record = rows.textOrNil(0, 2) {
            records.append(
                RecordRevision(record: record, revision: rows.integerOrNil(0, 3), payloadHash: rows.text(0, 4)))
        }
        for ((record, revision), hash) in zip(zip(rows.texts(0, 27), rows.int64s(0, 28)), rows.texts(0, 29)) {
            records.append(RecordRevision(record: record, revision: revision, payloadHash: hash))
        }
        let submission = Submission(
            user: user(rows.text(0, 1)), records: records, idempotencyKey: rows.textOrNil(0, 6),
            outgoingKey: rows.text(0, 7), fingerprint: rows.text(0, 8), method: rows.text(0, 9),
            target: rows.text(0, 10), headerLines: rows.bytes(0, 14), conditionalLines: rows.bytes(0, 15),
            body: rows.bytes(0, 16), side: try side(rows.integer(0, 11)), dualWrite: rows.boolean(0, 12))
        return StoredChange(
            sequence: sequence, acceptedMilliseconds: rows.integer(0, 0), submission: submission,
            legs: try legs(rows, 0, from: 17), answeredStatus: rows.integerOrNil(0, 13).map { Int($0) })
    }

    static func row(_ rows: PostgresRows, _ row: Int) throws(JournalError) -> JournalRow {
        JournalRow(
            sequence: rows.integer(row, 0), acceptedMilliseconds: rows.integer(row, 1), user: user(rows.text(row, 2)),
            record: rows.textOrNil(row, 3), revision: rows.integerOrNil(row, 4), recordCount: Int(rows.integer(row, 5)),
            method: rows.text(row, 6), target: rows.text(row, 7), side: try side(rows.integer(row, 8)),
            legs: try legs(rows, row, from: 9))
    }

    static func user(_ stored: String) -> String? { stored.isEmpty ? nil : stored }

    static func side(_ stored: Int64) throws(JournalError) -> Side {
        guard let raw = UInt8(exactly: stored), let side = Side(rawValue: raw) else {
            throw JournalError(.damaged, "the journal holds an unknown side \(stored)")
        }
        return side
    }

    private static func legs(_ rows: PostgresRows, _ row: Int, from column: Int) throws(JournalError) -> Legs {
        Legs(legacy: try leg(rows, row, from: column), new: try leg(rows, row, from: column + 5))
    }

    private static func leg(_ rows: PostgresRows, _ row: Int, from column: Int) throws(JournalError) -> LegStatus {
        let stored = rows.text(row, column)
        guard let state = LegState(rawValue: stored) else {
            throw JournalError(.damaged, "the journal holds an unknown leg state \(stored)")
        }
        return LegStatus(
            state, attempts: Int(rows.integer(row, column + 1)), refusals: Int(rows.integer(row, column + 2)),
            lastStatus: rows.integerOrNil(row, column + 3).map { Int($0) },
            nextAttemptMilliseconds: rows.integerOrNil(row, column + 4))
    }
}

package import Journal

/// Takes a whole journal into an empty shared store, in one transaction, and reads it back. Belongs to one thread.
///
/// What arrives belongs to a gateway that has ended: the next one that starts takes over what is outstanding, as it takes over
/// from any gateway that is gone.
package final class PostgresImport {
    /// How long one page, a lock of the tables and the commit may take.
    package static let timeoutMilliseconds: UInt64 = 60_000
    /// The name of the gateway row that owns what was taken in.
    static let ownerName = "store migrate"

    private let connection: PostgresConnection
    private var lanes = LaneHash(low: 0, high: 0)
    private var owner: Int64 = 0

    /// Does not connect yet.
    package init(_ address: PostgresAddress) { connection = PostgresConnection(address) }

    /// Where it is connected to, for messages.
    package var place: String { connection.place }

    // MARK: The frame

    /// Looks whether the store could take a journal, and changes nothing.
    /// - Throws: `foreign`, `newerSchema`, `cannotOpen`, `unreachable`; `inUse` when it holds something already.
    package func inspect() throws(JournalError) {
        let version = try PostgresSchema.presentVersion(connection)
        if version > 0 {
            try requireEmpty(version: version)
            return
        }
        let mayCreate = try ask(
            "import_may_create",
            """
            SELECT has_database_privilege(current_database(), 'CREATE')
                OR coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace
                    WHERE nspname = '\(PostgresSchema.name)'), false)
            """
        ).boolean(0, 0)
        guard mayCreate else {
            throw connection.failure(
                .cannotOpen,
                "does not let this role create the schema \(PostgresSchema.name); accepted: CREATE on the database, or an empty schema of that name"
            )
        }
    }

    /// Makes the store ready, begins the transaction, and keeps gateways out of the store until it ends.
    /// - Throws: as `inspect`.
    package func begin() throws(JournalError) {
        // First of all: what is refused is not brought up to date either.
        try inspect()
        try PostgresSchema.prepare(connection)
        try start("BEGIN")
        // Whoever joins writes to `gateway`, and nobody writes anything else without having joined.
        try connection.script(
            "LOCK TABLE gateway, rollout, event, pin, counter, history IN EXCLUSIVE MODE",
            timeoutMilliseconds: Self.timeoutMilliseconds)
        try requireEmpty(version: PostgresSchema.version)
        // Ended by an update, which fences it; and so that it is looked after as any other that has ended.
        owner = try ask(
            "import_owner",
            "INSERT INTO gateway (name, expires_at) VALUES ('\(Self.ownerName)', clock_timestamp()) RETURNING id"
        ).integer(0, 0)
        try connection.script("UPDATE gateway SET ended_at = clock_timestamp() WHERE id = \(owner)")
    }

    /// Begins reading what the store holds, as one snapshot.
    package func beginReading() throws(JournalError) {
        guard try PostgresSchema.presentVersion(connection) == PostgresSchema.version else {
            throw connection.failure(.cannotOpen, "holds no journal of this version")
        }
        try start("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// - Throws: what the connection throws. When it broke off just then, the whole journal is there, or nothing.
    package func commit() throws(JournalError) {
        try connection.script("COMMIT", timeoutMilliseconds: Self.timeoutMilliseconds)
    }

    package func rollback() { try? connection.script("ROLLBACK", timeoutMilliseconds: Self.timeoutMilliseconds) }

    /// Whether the last call that threw may have been carried out all the same.
    package var isOutcomeUnknown: Bool { connection.isOutcomeUnknown }

    private func start(_ begin: String) throws(JournalError) {
        // Between two pages the other side reads. Whoever dies in between is noticed by its closed connection.
        try connection.script(
            """
            \(begin); SET LOCAL statement_timeout TO \(Self.timeoutMilliseconds);
            SET LOCAL lock_timeout TO \(Self.timeoutMilliseconds / 2);
            SET LOCAL idle_in_transaction_session_timeout TO \(Self.timeoutMilliseconds);
            """)
        let seeds = try ask("import_seeds", "SELECT lane_seed_low, lane_seed_high FROM cutover_schema")
        lanes = LaneHash(low: seeds.integer(0, 0), high: seeds.integer(0, 1))
    }

    /// - Parameter version: of the schema that the store has.
    private func requireEmpty(version: Int64) throws(JournalError) {
        let hasHistory = version >= PostgresSchema.historyVersion
        let rows = try ask(
            hasHistory ? "import_holds" : "import_held",
            """
            SELECT (SELECT count(*) FROM change), (SELECT count(*) FROM record_revision), (SELECT count(*) FROM event),
                (SELECT count(*) FROM pin), (SELECT count(*) FROM rollout),
                (SELECT count(*) FROM gateway WHERE ended_at IS NULL AND expires_at > clock_timestamp()),
                \(hasHistory ? "(SELECT count(*) FROM history)" : "0::bigint")
            """)
        let nouns = ["change", "record revision", "event", "pin", "rollout", "running gateway", "history row"]
        let held = nouns.indices.filter { rows.integer(0, $0) > 0 }.map { index in
            "\(rows.integer(0, index)) \(nouns[index])\(rows.integer(0, index) == 1 ? "" : "s")"
        }
        guard held.isEmpty else {
            throw connection.failure(
                .inUse,
                "is not empty: it holds \(held.joined(separator: ", ")); accepted: a database without a schema \(PostgresSchema.name), or with an empty journal in it"
            )
        }
    }

    private func ask(
        _ name: String, _ sql: String, _ parameters: PostgresParameters = PostgresParameters()
    ) throws(JournalError) -> PostgresRows {
        try run(PostgresStatement(name, sql), parameters)
    }

    private func run(
        _ statement: PostgresStatement, _ parameters: PostgresParameters
    ) throws(JournalError) -> PostgresRows {
        let results = try connection.run([(statement, parameters)], timeoutMilliseconds: Self.timeoutMilliseconds)
        guard let rows = results.last else { throw connection.failure(.other, "gave no result") }
        return rows
    }
}

// MARK: - Rows

extension PostgresImport {
    /// Keeps one page of rows, as `SQLiteExport.pages` gives them.
    package func insert(_ table: JournalTable, _ page: [[StoredValue]]) throws(JournalError) {
        var parameters = PostgresParameters().int64(owner)
        for (index, column) in table.columns.enumerated() {
            parameters = ImportedTable.with(parameters, column.kind, page.map { $0[index] })
        }
        let lanes = page.map { lane(table, $0) }
        var commands = [(ImportedTable(table: table).insert, parameters.int64s(lanes))]
        if table.name == JournalTable.batchRecord.name {
            commands.append((Self.insertLanes, PostgresParameters().int64s(page.map(Self.sequence)).int64s(lanes)))
        }
        _ = try connection.run(commands, timeoutMilliseconds: Self.timeoutMilliseconds)
    }

    /// Lanes of a batch after its first count while it is outstanding or parked (`settle_lanes`).
    private static let insertLanes = PostgresStatement(
        "import_lanes",
        """
        INSERT INTO batch_lane (lane, sequence)
        SELECT u.lane, u.sequence FROM unnest($1::bigint[], $2::bigint[]) AS u (sequence, lane)
        CROSS JOIN LATERAL (
            SELECT c.lane FROM change c
            WHERE c.sequence = u.sequence AND (\(PostgresSchema.outstanding) OR \(PostgresSchema.parked)) LIMIT 1) AS open
        WHERE u.lane <> open.lane ON CONFLICT DO NOTHING
        """)

    private static func sequence(_ row: [StoredValue]) -> Int64 {
        if case .integer(let number)? = row.first { number } else { 0 }
    }

    /// The lane of a change, or of a record of a batch, by this store's own hash; 0 where a table has none.
    private func lane(_ table: JournalTable, _ row: [StoredValue]) -> Int64 {
        func text(_ index: Int?) -> String? {
            if let index, case .text(let text) = row[index] { text } else { nil }
        }
        let record = text(table.place("record"))
        let user: String?
        switch table.name {
        case JournalTable.change.name: user = text(table.place("user"))
        case JournalTable.batchRecord.name: user = text(table.columns.count)
        default: return 0
        }
        let owner = user.flatMap { $0.isEmpty ? nil : $0 }
        return lanes.lanes(user: owner, records: record.map { [$0] } ?? []).first ?? 0
    }

    /// Continues the numbers of changes and events after the newest ones. Not undone by a rollback, which does no harm.
    package func continueNumbers(sequence: Sequence64, event: Int64) throws(JournalError) {
        for (name, last) in [("change_sequence", sequence), ("event_sequence_seq", event)] where last > 0 {
            _ = try ask("import_\(name)", "SELECT setval('\(name)', $1)", PostgresParameters().int64(last))
        }
    }

    /// The newest numbers given to a change and to an event; 0: none.
    package func lastNumbers() throws(JournalError) -> (sequence: Sequence64, event: Int64) {
        let rows = try ask(
            "import_numbers",
            """
            SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM change_sequence),
                (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_sequence_seq)
            """)
        return (rows.integer(0, 0), rows.integer(0, 1))
    }
}

// MARK: - Reading back

extension PostgresImport {
    package func count(_ table: JournalTable) throws(JournalError) -> Int64 {
        try ask("import_count_\(table.name)", "SELECT count(*) FROM \(table.name)").integer(0, 0)
    }

    /// Compares a page of the other store with the same rows here.
    /// - Returns: per row what is not the same, by the names of columns; `missing` is true where there is no such row.
    package func compare(
        _ table: JournalTable, _ page: [[StoredValue]]
    ) throws(JournalError) -> [(isMissing: Bool, columns: [String])] {
        var parameters = PostgresParameters()
        for (index, column) in table.keys.enumerated() {
            parameters = ImportedTable.with(parameters, column.kind, page.map { $0[index] })
        }
        let rows = try run(ImportedTable(table: table).find, parameters)
        var verdicts = [(isMissing: Bool, columns: [String])](repeating: (true, []), count: page.count)
        for row in 0..<rows.count {
            let place = Int(rows.integer(row, 0)) - 1
            guard page.indices.contains(place) else { continue }
            var columns = table.columns.indices.filter { index in
                ImportedTable.value(rows, row, index + 3, table.columns[index].kind) != page[place][index]
            }.map { table.columns[$0].name }
            if rows.integer(row, 1) != lane(table, page[place]) { columns.append("lane") }
            if !rows.boolean(row, 2) { columns.append("what the store derives") }
            verdicts[place] = (false, columns)
        }
        return verdicts
    }

    /// Hands out the keys of every row that is here, page by page.
    package func keys(
        _ table: JournalTable, _ body: ([[StoredValue]]) throws(JournalError) -> Void
    ) throws(JournalError) {
        let imported = ImportedTable(table: table)
        try connection.script(imported.openKeys, timeoutMilliseconds: Self.timeoutMilliseconds)
        while true {
            let rows = try run(imported.nextKeys, PostgresParameters())
            guard rows.count > 0 else { return }
            try body(
                (0..<rows.count).map { row in
                    table.keys.indices.map { ImportedTable.value(rows, row, $0, table.keys[$0].kind) }
                })
        }
    }

    /// The lanes of batches: how many there are, and how many that belong to no batch that is outstanding or parked. Those that
    /// are missing show with the records of their batch.
    package func batchLanes() throws(JournalError) -> (count: Int64, stray: Int64) {
        let rows = try ask(
            "import_batch_lanes",
            """
            SELECT count(*), count(*) FILTER (WHERE coalesce((
                SELECT false FROM batch_record b CROSS JOIN LATERAL (
                    SELECT c.lane FROM change c WHERE c.sequence = b.sequence
                        AND (\(PostgresSchema.outstanding) OR \(PostgresSchema.parked)) LIMIT 1) AS open
                WHERE b.sequence = l.sequence AND b.lane = l.lane AND open.lane <> l.lane LIMIT 1), true))
            FROM batch_lane l
            """)
        return (rows.integer(0, 0), rows.integer(0, 1))
    }
}

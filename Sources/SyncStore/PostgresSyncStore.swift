internal import Comparison
package import Journal
package import StorePostgres
package import SyncModel

/// The service's records in PostgreSQL. Belongs to one thread. A group is three round trips, however many changes it has: each statement takes arrays.
package final class PostgresSyncStore: SyncStoring {
    private let connection: PostgresConnection

    /// Connects, and makes the tables that are not there.
    package init(_ address: PostgresAddress) throws(JournalError) {
        connection = PostgresConnection(address, setup: PostgresSyncSchema.setup)
        try PostgresSyncSchema.prepare(connection)
    }

    package func apply(_ requests: [[SyncChange]], now: Int64) throws(JournalError) -> [BatchOutcome] {
        try connection.transaction { () throws(JournalError) in
            var state = SyncState()
            let last = try look(for: requests.flatMap(\.self), into: &state)
            let outcomes = requests.map { state.decide($0, now: now) }
            if !state.accepted.isEmpty { try keep(state, after: last, now: now) }
            return outcomes
        }
    }

    // MARK: Reading what decides

    /// - Returns: the last place that was given.
    private func look(for changes: [SyncChange], into state: inout SyncState) throws(JournalError) -> Int64 {
        let records = PostgresParameters().texts(Array(Set(changes.map(\.record))))
        let rows = try connection.run([
            (Self.lock, PostgresParameters()), (Self.lastSequence, PostgresParameters()),
            (Self.byKey, PostgresParameters().texts(changes.map(\.user)).texts(changes.map(\.key))),
            (
                Self.versions,
                PostgresParameters().texts(changes.map(\.record)).int64s(changes.map(\.revision))
            ),
            (Self.documents, records), (Self.highlights, records),
        ])
        for row in 0..<rows[2].count { state.know(Self.known(rows[2], row), key: rows[2].text(row, 5)) }
        for row in 0..<rows[3].count { state.know(version: Self.known(rows[3], row)) }
        for (rows, table) in [(rows[4], RecordType.Table.documents), (rows[5], .highlights)] {
            for row in 0..<rows.count { state.know(PostgresSyncReader.record(rows, row, table)) }
        }
        return rows[1].integer(0, 0)
    }

    private static func known(_ rows: PostgresRows, _ row: Int) -> KnownChange {
        KnownChange(
            user: rows.text(row, 0), record: rows.text(row, 1), revision: rows.integer(row, 2),
            content: ContentHash(hex: rows.text(row, 3)) ?? ContentHash(high: 0, low: 0), deleted: rows.boolean(row, 4))
    }

    private static let lock = PostgresStatement("sync_lock", PostgresSyncSchema.writing)
    private static let lastSequence = PostgresStatement(
        "sync_last", "SELECT sequence FROM changes UNION ALL SELECT 0 ORDER BY 1 DESC LIMIT 1")
    private static let byKey = PostgresStatement(
        "sync_keys",
        """
        SELECT c.user_id, c.record_id, c.revision, c.content, c.deleted, c.idempotency_key
        FROM unnest($1::text[], $2::text[]) AS w (u, k) JOIN changes c ON c.user_id = w.u AND c.idempotency_key = w.k
        """)
    private static let versions = PostgresStatement(
        "sync_versions",
        """
        SELECT c.user_id, c.record_id, c.revision, c.content, c.deleted
        FROM unnest($1::text[], $2::bigint[]) AS w (r, v) JOIN changes c ON c.record_id = w.r AND c.revision = w.v
        """)
    private static let documents = records(.documents)
    private static let highlights = records(.highlights)

    /// Whose a record is, its changes know.
    private static func records(_ table: RecordType.Table) -> PostgresStatement {
        let columns = RecordStatements.columns(table).split(separator: ",").map {
            "d." + $0.drop { $0 == " " || $0 == "\n" }
        }
        return PostgresStatement(
            "sync_" + table.rawValue,
            """
            SELECT \(columns.joined(separator: ", ")) FROM unnest($1::text[]) AS w (r)
            JOIN LATERAL (SELECT user_id, record_id FROM changes WHERE record_id = w.r
                ORDER BY revision DESC LIMIT 1) c ON true
            JOIN \(table.rawValue) d ON d.user_id = c.user_id AND d.record_id = c.record_id
            """)
    }

    // MARK: Writing what was decided

    private func keep(_ state: SyncState, after last: Int64, now: Int64) throws(JournalError) {
        let accepted = state.accepted
        let changes = accepted.map(\.change)
        let touched = Touched(accepted)
        var commands: [(statement: PostgresStatement, parameters: PostgresParameters)] = [
            (
                Self.insertChanges,
                PostgresParameters().int64s(accepted.indices.map { last + 1 + Int64($0) }).texts(changes.map(\.id))
                    .texts(changes.map(\.user)).texts(changes.map(\.record)).texts(changes.map(\.device))
                    .int64s(changes.map(\.revision)).texts(accepted.map(\.type.rawValue))
                    .booleans(changes.map(\.deleted)).texts(changes.map(\.payload)).texts(changes.map(\.content.hex))
                    .texts(changes.map(\.key)).int64(now).texts(changes.map { $0.recordName ?? $0.record })
                    .texts(changes.map { $0.container ?? "" })
            ),
            (
                Self.noteUsers,
                PostgresParameters().texts(touched.users.map(\.user)).int64(now)
                    .texts(touched.users.map { $0.container ?? "" })
            ),
        ]
        if !touched.devices.isEmpty {
            commands.append(
                (
                    Self.noteDevices,
                    PostgresParameters().texts(touched.devices.map(\.user)).texts(touched.devices.map(\.device))
                        .int64(now).texts(touched.devices.map { $0.container ?? "" })
                ))
        }
        let records = state.written.compactMap { state[$0] }
        for table in RecordType.Table.allCases {
            let own = records.filter { $0.type.table == table }
            if !own.isEmpty { commands.append((Self.put(table), Self.parameters(own, table))) }
        }
        if !state.erased.isEmpty {
            commands.append(
                (
                    Self.erase,
                    PostgresParameters().texts(state.erased.map(\.record)).int64s(state.erased.map(\.revision))
                ))
        }
        _ = try connection.run(commands)
    }

    private static func parameters(_ records: [SyncRecord], _ table: RecordType.Table) -> PostgresParameters {
        let common = PostgresParameters().texts(records.map(\.user)).texts(records.map(\.record))
            .texts(records.map(\.type.rawValue)).int64s(records.map(\.revision)).texts(records.map(\.device))
            .booleans(records.map(\.deleted)).texts(records.map(\.payload)).int64s(records.map(\.createdAt))
            .int64s(records.map(\.updatedAt)).texts(records.map(\.recordName)).texts(records.map(\.container))
        switch table {
        case .documents: return common.int64s(records.map(\.progressAt))
        case .highlights: return common.texts(records.map(\.fieldRevisions))
        }
    }

    private static let insertChanges = PostgresStatement(
        "sync_insert",
        """
        INSERT INTO changes (sequence, change_id, user_id, record_id, device_id, revision, type, deleted, payload, content,
            idempotency_key, accepted_at, record_name, container)
        SELECT s, i, u, r, d, v, t, g, p, c, k, $12, n, o FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[],
            $6::bigint[], $7::text[], $8::boolean[], $9::text[], $10::text[], $11::text[], $13::text[], $14::text[])
            AS w (s, i, u, r, d, v, t, g, p, c, k, n, o)
        """)
    private static let noteUsers = PostgresStatement(
        "sync_users",
        """
        INSERT INTO users (user_id, created_at, updated_at, record_name, container)
        SELECT u, $2, $2, u, c FROM unnest($1::text[], $3::text[]) AS w (u, c)
        ON CONFLICT (user_id) DO UPDATE SET updated_at = excluded.updated_at
        """)
    private static let noteDevices = PostgresStatement(
        "sync_devices",
        """
        INSERT INTO devices (user_id, device_id, created_at, updated_at, record_name, container)
        SELECT u, d, $3, $3, d, c FROM unnest($1::text[], $2::text[], $4::text[]) AS w (u, d, c)
        ON CONFLICT (user_id, device_id) DO UPDATE SET updated_at = excluded.updated_at
        """)
    private static let erase = PostgresStatement(
        "sync_erase",
        """
        UPDATE changes c SET payload = '' FROM unnest($1::text[], $2::bigint[]) AS w (r, v)
        WHERE c.record_id = w.r AND c.revision < w.v AND c.payload <> ''
        """)

    private static func put(_ table: RecordType.Table) -> PostgresStatement {
        let own = RecordStatements.ownColumn(table)
        let type = table == .documents ? "bigint" : "text"
        return PostgresStatement(
            "sync_put_" + table.rawValue,
            """
            INSERT INTO \(table.rawValue) (user_id, record_id, type, revision, device_id, deleted, payload, created_at,
                updated_at, record_name, container, \(own))
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::boolean[], $7::text[],
                $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::\(type)[])
            ON CONFLICT (user_id, record_id) DO UPDATE SET revision = excluded.revision,
                device_id = excluded.device_id, deleted = excluded.deleted, payload = excluded.payload,
                \(own) = excluded.\(own), updated_at = excluded.updated_at, record_name = excluded.record_name,
                container = excluded.container
            """)
    }
}

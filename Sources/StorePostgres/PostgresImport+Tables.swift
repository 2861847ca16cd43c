internal import Journal

/// How a table of the journal is written to the shared store, and read back: its common columns, and those that the store derives.
struct ImportedTable {
    let table: JournalTable

    /// Columns of this store alone, and what they come from. `u` is a row that arrives, `lane` its lane, `$1` the owner.
    private var derived: [(column: String, expression: String)] {
        switch table.name {
        case "change":
            [
                ("owner", "$1"), ("group_number", "0"), ("lane", "u.lane"),
                ("key_digest", Self.keyDigest("u")),
            ]
        case "batch_record": [("lane", "u.lane")]
        case "record_revision": [("record_digest", #"digest_of(u."user", u.record)"#)]
        case "pin": [("user_digest", #"digest_of('', u."user")"#)]
        default: []
        }
    }

    private static func keyDigest(_ row: String) -> String {
        """
        CASE WHEN \(row).idempotency_key IS NOT NULL THEN digest_of(\(row)."user", \(row).idempotency_key) END
        """
    }

    /// Which row of the table (`r`) a key (`k`) means. Always by an index.
    private var found: String {
        switch table.name {
        case "record_revision": #"r.record_digest = digest_of(k."user", k.record) AND r.revision = k.revision"#
        case "pin": #"r.user_digest = digest_of('', k."user")"#
        default: table.keys.map { "r.\(Self.quoted($0)) = k.\(Self.quoted($0))" }.joined(separator: " AND ")
        }
    }

    /// Whether what this store derives is right, its lane left out.
    private var isDerived: String {
        let isOpen = "(\(PostgresSchema.outstanding) OR \(PostgresSchema.parked))"
        return switch table.name {
        case "change":
            """
            r.key_digest IS NOT DISTINCT FROM \(Self.keyDigest("r")) AND r.group_number = 0
                AND coalesce((SELECT g.ended_at IS NOT NULL FROM gateway g WHERE g.id = r.owner), false)
            """
        case "batch_record":
            """
            coalesce((SELECT true FROM batch_lane l WHERE l.lane = r.lane AND l.sequence = r.sequence LIMIT 1), false)
                = coalesce((SELECT \(isOpen) AND c.lane <> r.lane FROM change c WHERE c.sequence = r.sequence), false)
            """
        default: "true"
        }
    }

    private var hasLane: Bool { table.name == "change" || table.name == "batch_record" }

    private static func quoted(_ column: JournalTable.Column) -> String { "\"\(column.name)\"" }

    private static func type(_ kind: JournalTable.Kind) -> String {
        switch kind {
        case .flag: "boolean"
        case .small: "smallint"
        case .medium: "integer"
        case .integer: "bigint"
        case .text: "text"
        case .bytes: "bytea"
        }
    }

    /// `$from::bigint[], …`.
    private static func arrays(_ columns: [JournalTable.Column], from: Int) -> String {
        columns.enumerated().map { "$\($0.offset + from)::\(type($0.element.kind))[]" }.joined(separator: ", ")
    }

    /// $1 the owner, then a column each, then the lanes.
    var insert: PostgresStatement {
        let names = table.columns.map(Self.quoted)
        let lanes = table.columns.count + 2
        return PostgresStatement(
            "import_\(table.name)",
            """
            INSERT INTO \(table.name) (\((names + derived.map(\.column)).joined(separator: ", ")))
                OVERRIDING SYSTEM VALUE
            SELECT \((names.map { "u." + $0 } + derived.map(\.expression)).joined(separator: ", "))
            FROM unnest(\(Self.arrays(table.columns, from: 2)), $\(lanes)::bigint[])
                AS u (\(names.joined(separator: ", ")), lane)
            WHERE $1::bigint IS NOT NULL
            """)
    }

    /// A column of keys each. Gives place, lane, whether what is derived is right, and the common columns, of those it finds.
    var find: PostgresStatement {
        let keys = table.keys.map(Self.quoted).joined(separator: ", ")
        let columns = table.columns.map { "r." + Self.quoted($0) }.joined(separator: ", ")
        // LATERAL with LIMIT: the table is found by its index for every key, whatever the planner believes of its size.
        return PostgresStatement(
            "verify_\(table.name)",
            """
            SELECT k.place, r.lane_of_row, r.is_derived, \(columns)
            FROM unnest(\(Self.arrays(table.keys, from: 1))) WITH ORDINALITY AS k (\(keys), place)
            CROSS JOIN LATERAL (
                SELECT r.*, \(hasLane ? "r.lane" : "0::bigint") AS lane_of_row, \(isDerived) AS is_derived
                FROM \(table.name) r WHERE \(found) LIMIT 1) AS r
            ORDER BY k.place
            """)
    }

    /// Opens a cursor over the keys of all rows.
    var openKeys: String {
        "DECLARE keys_of_\(table.name) NO SCROLL CURSOR FOR SELECT \(table.keys.map(Self.quoted).joined(separator: ", ")) FROM \(table.name)"
    }

    var nextKeys: PostgresStatement {
        PostgresStatement("keys_of_\(table.name)", "FETCH 500 FROM keys_of_\(table.name)")
    }

    /// One column of a page as a parameter.
    static func with(
        _ parameters: PostgresParameters, _ kind: JournalTable.Kind, _ values: [StoredValue]
    ) -> PostgresParameters {
        func integers() -> [Int64?] {
            values.map { if case .integer(let number) = $0 { number } else { nil } }
        }
        switch kind {
        case .flag: return parameters.booleans(integers().map { $0.map { $0 != 0 } })
        case .small: return parameters.int16s(integers().map { $0.map { Int($0) } })
        case .medium: return parameters.int32s(integers().map { $0.map { Int($0) } })
        case .integer: return parameters.int64s(integers())
        case .text: return parameters.texts(values.map { if case .text(let text) = $0 { text } else { nil } })
        case .bytes:
            return parameters.byteArrays(values.map { if case .bytes(let bytes) = $0 { bytes } else { nil } })
        }
    }

    static func value(_ rows: PostgresRows, _ row: Int, _ column: Int, _ kind: JournalTable.Kind) -> StoredValue {
        if rows.isNull(row, column) { return .null }
        return switch kind {
        case .flag, .small, .medium, .integer: .integer(rows.integer(row, column))
        case .text: .text(rows.text(row, column))
        case .bytes: .bytes(rows.bytes(row, column))
        }
    }
}

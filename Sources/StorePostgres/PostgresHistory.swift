package import Journal

/// The history of the figures of all gateways.
extension PostgresStore {
    private static let append: PostgresStatement = {
        let columns = HistoryFigure.columns
        return PostgresStatement(
            "append_history",
            """
            INSERT INTO history (\(columns.joined(separator: ", ")))
            VALUES (\(columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))
            ON CONFLICT (\(HistoryFigure.keys.joined(separator: ", "))) DO UPDATE SET
                \(HistoryFigure.assignments(largest: "greatest"))
            """)
    }()

    // What another gateway is just removing is its to remove.
    private static let prune = PostgresStatement(
        "prune_history",
        """
        DELETE FROM history WHERE ctid = ANY (ARRAY(
            SELECT h.ctid FROM history h WHERE h.resolution = $1 AND h.at < $2 ORDER BY h.at LIMIT $3
            FOR UPDATE SKIP LOCKED))
        """)

    /// One round trip, one transaction.
    package func appendHistory(_ rows: [HistoryRow], now: Int64) throws(JournalError) {
        var commands = rows.map { row in
            var parameters = PostgresParameters().int32(Int(row.resolution.rawValue)).int64(row.atMilliseconds)
                .text(row.instance)
            for figure in HistoryFigure.all { parameters = parameters.int64(figure.value(row)) }
            for text in HistoryFigure.texts { parameters = parameters.text(row[keyPath: text.path]) }
            return (statement: Self.append, parameters: parameters)
        }
        for resolution in HistoryResolution.allCases {
            let parameters = PostgresParameters().int32(Int(resolution.rawValue))
                .int64(now - resolution.keptMilliseconds).int64(Int64(historyPruneRows))
            commands.append((statement: Self.prune, parameters: parameters))
        }
        _ = try connection.run(commands)
    }
}

extension PostgresReading {
    package func history(
        _ resolution: HistoryResolution, from: Int64, before cursor: HistoryCursor?, limit: Int
    ) throws(JournalError) -> [HistoryRow] {
        let parameters = PostgresParameters().int32(Int(resolution.rawValue)).int64(from)
            .int64(cursor?.atMilliseconds ?? .max).text(cursor?.instance ?? "").int64(Int64(limit))
        let rows = try connection.query(PostgresQueries.history, parameters)
        return try PostgresQueries.all(rows) { rows, row in
            var found = HistoryRow(resolution, atMilliseconds: rows.integer(row, 1), instance: rows.text(row, 2))
            var column = HistoryFigure.keys.count
            for figure in HistoryFigure.all {
                figure.set(&found, rows.integerOrNil(row, column))
                column += 1
            }
            for text in HistoryFigure.texts {
                found[keyPath: text.path] = rows.text(row, column)
                column += 1
            }
            return found
        }
    }
}

extension PostgresQueries {
    /// Resolution, from, the place before which, how many.
    static let history = PostgresStatement(
        "history",
        """
        SELECT \(HistoryFigure.columns.joined(separator: ", ")) FROM history
        WHERE resolution = $1 AND at >= $2 AND at <= $3 AND (at < $3 OR instance < $4)
        ORDER BY at DESC, instance DESC LIMIT $5
        """)
}

extension PostgresSchema {
    // As in SQLite, with the names of the gateways in the order of their bytes.
    static let historyTable = """
        CREATE TABLE history (
            resolution integer NOT NULL,        -- length of the span, in seconds
            at bigint NOT NULL,
            instance text COLLATE "C" NOT NULL,
            covered_milliseconds bigint NOT NULL,
            load_milliseconds bigint NOT NULL,
            reads_legacy bigint NOT NULL,
            reads_new bigint NOT NULL,
            read_errors_legacy bigint NOT NULL,
            read_errors_new bigint NOT NULL,
            client_errors bigint NOT NULL,
            writes_legacy bigint NOT NULL,
            writes_new bigint NOT NULL,
            writes_received bigint NOT NULL,
            conflicts bigint NOT NULL,
            new_requests bigint NOT NULL,
            fallbacks bigint NOT NULL,
            compared bigint NOT NULL,
            mismatched bigint NOT NULL,
            percent_hundredths bigint NOT NULL,
            generation bigint NOT NULL,
            pending_legacy bigint NOT NULL,
            pending_new bigint NOT NULL,
            parked bigint NOT NULL,
            write_p95_legacy_microseconds bigint,         -- NULL: no write
            write_p95_new_microseconds bigint,
            stage text NOT NULL,
            state text NOT NULL,
            PRIMARY KEY (resolution, at, instance)
        ) WITH (fillfactor = 80);

        """
}

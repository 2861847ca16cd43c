package import Journal

/// The history of the figures: rare statements, prepared when they are needed.
extension SQLiteStore {
    package func appendHistory(_ rows: [HistoryRow], now: Int64) throws(JournalError) {
        let columns = HistoryFigure.columns
        try connection.transaction { () throws(JournalError) in
            let insert = try Statement(
                connection,
                """
                INSERT INTO history (\(columns.joined(separator: ", ")))
                VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
                ON CONFLICT (\(HistoryFigure.keys.joined(separator: ", "))) DO UPDATE SET
                    \(HistoryFigure.assignments(largest: "max"))
                """)
            for row in rows {
                insert.bind(row.resolution.rawValue).bind(row.atMilliseconds).bind(row.instance)
                for figure in HistoryFigure.all { insert.bind(figure.value(row)) }
                for text in HistoryFigure.texts { insert.bind(row[keyPath: text.path]) }
                try insert.run()
            }
            let prune = try Statement(
                connection,
                """
                DELETE FROM history WHERE (resolution, at, instance) IN (
                    SELECT resolution, at, instance FROM history WHERE resolution = ? AND at < ? ORDER BY at LIMIT ?)
                """)
            for resolution in HistoryResolution.allCases {
                try prune.bind(resolution.rawValue).bind(now - resolution.keptMilliseconds).bind(historyPruneRows).run()
            }
        }
    }
}

extension SQLiteQueries {
    /// Rows of the history, newest first.
    func history(
        _ resolution: HistoryResolution, from: Int64, before cursor: HistoryCursor?, limit: Int
    ) throws(JournalError) -> [HistoryRow] {
        let page = try Statement(
            connection,
            """
            SELECT \(HistoryFigure.columns.joined(separator: ", ")) FROM history
            WHERE resolution = ? AND at >= ? AND at <= ? AND (at < ? OR instance < ?)
            ORDER BY at DESC, instance DESC LIMIT ?
            """)
        let before = cursor?.atMilliseconds ?? .max
        page.bind(resolution.rawValue).bind(from).bind(before).bind(before).bind(cursor?.instance ?? "").bind(limit)
        return try Self.all(page) { row throws(JournalError) in
            var found = HistoryRow(resolution, atMilliseconds: row.integer(1), instance: row.text(2))
            var column = Int32(HistoryFigure.keys.count)
            for figure in HistoryFigure.all {
                figure.set(&found, row.integerOrNil(column))
                column += 1
            }
            for text in HistoryFigure.texts {
                found[keyPath: text.path] = row.text(column)
                column += 1
            }
            return found
        }
    }
}

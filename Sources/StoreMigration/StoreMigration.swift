internal import Glibc
package import Journal
internal import JournalThreads
internal import StorePostgres
internal import StoreSQLite

/// Moves the whole journal of a gateway that is stopped from the embedded store to a shared one, and compares every row. Blocks.
///
/// One transaction of the target: killed at any moment, the target is as empty as before, and the move can be made again. The
/// source is only read. At most one page of rows is in memory at a time.
package struct StoreMigration {
    package enum Mode: Sendable {
        /// Move, compare, and keep it only when nothing differs.
        case move
        /// Count the rows, look whether the target would take them, and change nothing. The gateway may run.
        case dryRun
        /// Compare with what was moved before, and change nothing.
        case verify
    }

    private let source: SQLiteExport
    private let sourcePath: String
    private let target: PostgresImport
    private let mode: Mode
    /// Held for its lock: no gateway works on the source meanwhile. nil: it is only looked at.
    private let directory: DataDirectory?
    private let progress: (_ step: String, _ table: MigratedTable) -> Void

    /// - Parameters:
    ///   - path: the data directory of the gateway.
    ///   - url: `postgresql://user@host/database`, without a password.
    ///   - progress: called after each step with a table: `moved` or `verified`.
    /// - Throws: `cannotOpen` when there is no journal or no valid address, `inUse` when a gateway works on the directory.
    package init(
        directory path: String, url: String, mode: Mode,
        progress: @escaping (_ step: String, _ table: MigratedTable) -> Void = { _, _ in }
    ) throws(JournalError) {
        target = PostgresImport(try PostgresAddress(url))
        // Looked for before the lock is taken: that would make the directory.
        guard access(path + "/" + DataDirectory.databaseName, F_OK) == 0 else {
            throw JournalError(.cannotOpen, "\(path) holds no embedded store (\(DataDirectory.databaseName))")
        }
        directory = mode == .dryRun ? nil : try DataDirectory(path)
        sourcePath = path + "/" + DataDirectory.databaseName
        self.mode = mode
        source = try SQLiteExport(path: sourcePath)
        self.progress = progress
    }

    /// - Returns: what was found. Where rows differ (`differing`), nothing was kept in the target.
    /// - Throws: `inUse` when the target is not empty; what either store throws. Nothing was kept then, unless the message says that
    ///   it is not known.
    package func run() throws(JournalError) -> MigrationReport {
        switch mode {
        case .dryRun:
            try target.inspect()
            return report(
                try JournalTable.all.map { table throws(JournalError) in
                    var counted = MigratedTable(table.name)
                    counted.rows = try source.count(table)
                    return counted
                }, last: try source.lastSequence())
        case .verify:
            try target.beginReading()
            defer { target.rollback() }
            return try verified()
        case .move:
            return try move()
        }
    }

    private func move() throws(JournalError) -> MigrationReport {
        do throws(JournalError) {
            try target.begin()
            for table in JournalTable.all {
                var moved = MigratedTable(table.name)
                try source.pages(table) { page throws(JournalError) in
                    try target.insert(table, page)
                    moved.rows += Int64(page.count)
                }
                progress("moved", moved)
            }
            try target.continueNumbers(sequence: try source.lastSequence(), event: try source.lastEvent())
            let report = try verified()
            if report.differing > 0 {
                target.rollback()
                return report
            }
            try commit()
            return report
        } catch {
            target.rollback()
            throw error
        }
    }

    private func commit() throws(JournalError) {
        do throws(JournalError) {
            try target.commit()
        } catch {
            guard target.isOutcomeUnknown else { throw error }
            throw JournalError(
                error.kind,
                "\(error.message); the whole journal is there or nothing of it: --verify tells which")
        }
    }

    private func report(_ tables: [MigratedTable], last: Int64) -> MigrationReport {
        MigrationReport(source: sourcePath, target: target.place, tables: tables, lastSequence: last)
    }
}

// MARK: - Comparing

extension StoreMigration {
    /// Reads every row of the target, and compares it with the source.
    private func verified() throws(JournalError) -> MigrationReport {
        var tables: [MigratedTable] = []
        for table in JournalTable.all {
            let verified = try verify(table)
            progress("verified", verified)
            tables.append(verified)
            if table.name == JournalTable.batchRecord.name { tables.append(try verifiedLanes()) }
        }
        let last = try source.lastSequence()
        tables.append(try verifiedNumbers(sequence: last, event: try source.lastEvent()))
        return report(tables, last: last)
    }

    private func verify(_ table: JournalTable) throws(JournalError) -> MigratedTable {
        var result = MigratedTable(table.name)
        var present: Int64 = 0
        try source.pages(table) { page throws(JournalError) in
            for (row, verdict) in zip(page, try target.compare(table, page)) {
                result.rows += 1
                if !verdict.isMissing { present += 1 }
                if verdict.isMissing {
                    result.differs("\(Self.name(table, row, at: result.rows)) is missing")
                } else if !verdict.columns.isEmpty {
                    result.differs(
                        "\(Self.name(table, row, at: result.rows)) differs in \(verdict.columns.joined(separator: ", "))"
                    )
                } else {
                    result.verified += 1
                }
            }
        }
        if try target.count(table) != present { try findStrangers(table, &result) }
        return result
    }

    /// What only the target has.
    private func findStrangers(_ table: JournalTable, _ result: inout MigratedTable) throws(JournalError) {
        var looked: Int64 = 0
        try target.keys(table) { keys throws(JournalError) in
            for (key, isThere) in zip(keys, try source.contains(table, keys: keys)) {
                looked += 1
                if !isThere { result.differs("\(Self.name(table, key, at: looked)) is in the target only") }
            }
        }
    }

    /// Lanes follow from the records of batches, and are compared with them; here only what should not be there is found.
    private func verifiedLanes() throws(JournalError) -> MigratedTable {
        var result = MigratedTable("batch_lane")
        let lanes = try target.batchLanes()
        result.rows = lanes.count
        result.verified = lanes.count - lanes.stray
        if lanes.stray > 0 { result.differs("\(lanes.stray) lanes belong to no open batch", count: lanes.stray) }
        return result
    }

    /// The numbers that go on after the newest change and the newest event.
    private func verifiedNumbers(sequence: Int64, event: Int64) throws(JournalError) -> MigratedTable {
        var result = MigratedTable("counters")
        let last = try target.lastNumbers()
        for (name, wanted, found) in [("changes", sequence, last.sequence), ("events", event, last.event)] {
            result.rows += 1
            if wanted == found {
                result.verified += 1
            } else {
                result.differs("\(name) go on after \(found), not after \(wanted)")
            }
        }
        return result
    }

    /// A row in words that hold nothing personal.
    /// - Parameter place: which row of the table it is, in the order of its keys.
    private static func name(_ table: JournalTable, _ row: [StoredValue], at place: Int64) -> String {
        func number(_ column: Int) -> String {
            if row.indices.contains(column), case .integer(let number) = row[column] { String(number) } else { "?" }
        }
        return switch table.name {
        case "record_revision": "row \(place) (revision \(number(2)) of a record)"
        case "pin": "pin \(place)"
        case "batch_record": "record \(number(1)) of change \(number(0))"
        case "rollout": "the rollout"
        case "event": "event \(number(0))"
        case "history": "row \(place) of the history (\(number(0)) s from \(number(1)))"
        default: "change \(number(0))"
        }
    }
}

import Configuration
import ControlPlane
import Journal
import StoreMigration
import Values

let storeMigrateCommand = Command(
    "store migrate", "Move the journal of a stopped gateway to a shared store",
    details: """
        Everything goes: changes with their legs and bodies, idempotency keys and answers, revisions, the rollout, events and pins. \
        The gateway must be stopped and the target empty. It is one transaction: killed at any moment, it can be run again. \
        Every row is read back and compared before it is kept; when one differs, nothing is kept and it ends with 1. The data \
        directory is only read, and stays as the way back.

        The target is a URL, or `postgres`: then it is the `store` of --config. A password comes from PGPASSWORD or PGPASSFILE.
        """,
    flags: [
        .value("from", "STORE", "Where the journal is: sqlite"),
        .value("to", "STORE", "Where it goes: postgresql://user@host/db, or postgres"),
        .value("config", "FILE", "Configuration that names the data directory and, with --to postgres, the store"),
        .value("data", "DIR", "Directory of the embedded store (default: that of --config)"),
        .toggle("dry-run", "Count the rows and look at the target, change nothing; the gateway may run"),
        .toggle("verify", "Compare with what was moved before any gateway used it, change nothing"),
    ],
    example: """
        $ cutover store migrate --from sqlite --to postgresql://cutover@db/cutover --data /var/lib/cutover
        table              rows  verified  differing
        change           20,000    20,000          0
        batch_record      7,272     7,272          0
        batch_lane        2,908     2,908          0
        change_body      20,000    20,000          0
        record_revision   9,410     9,410          0
        rollout               1         1          0
        event               705       705          0
        pin                   4         4          0
        history           1,984     1,984          0
        counters              2         2          0
        moved: 62,286 rows, all of them read back and compared; new changes go on after 20,000
        Start the gateway with store: postgresql://… and keep the data directory: it holds the tokens and the old journal.
        """,
    run: storeMigrate)

private func storeMigrate(_ invocation: Invocation) throws -> Int32 {
    let mode = try migrationMode(invocation)
    let (directory, url) = try migrationEnds(invocation)
    let console = invocation.console
    let report: MigrationReport
    do throws(JournalError) {
        report = try StoreMigration(directory: directory, url: url, mode: mode) { step, table in
            if console.isTerminal { console.printError("\(step) \(table.name), \(grouped(Int(table.rows))) rows") }
        }.run()
    } catch {
        throw CommandFailure(error.kind == .inUse ? error.message + whatToDo(error) : error.message)
    }
    console.print(
        invocation.wantsJSON
            ? migrationJSON(report, mode).text : migrationText(report, mode, console).joined(separator: "\n"))
    return report.differing == 0 ? ExitStatus.done : ExitStatus.refused
}

/// The lock of the directory tells who holds it; what to do about it is the operator's to know.
private func whatToDo(_ error: JournalError) -> String {
    error.message.hasPrefix("data directory") ? "; stop the gateway first" : ""
}

private func migrationMode(_ invocation: Invocation) throws -> StoreMigration.Mode {
    switch (invocation.isSet("dry-run"), invocation.isSet("verify")) {
    case (true, true): throw invocation.usage("--dry-run and --verify exclude each other")
    case (true, false): .dryRun
    case (false, true): .verify
    case (false, false): .move
    }
}

/// Where from and where to.
private func migrationEnds(_ invocation: Invocation) throws -> (directory: String, url: String) {
    guard let from = invocation.value("from"), let to = invocation.value("to") else {
        throw invocation.usage("--from and --to are needed: --from sqlite --to postgresql://user@host/db")
    }
    if from.hasPrefix("postgres"), to == "sqlite" {
        throw invocation.usage(
            "a shared store is not moved back to an embedded one in this version; the data directory from before the move, as it was then, is the way back"
        )
    }
    guard from == "sqlite" else {
        throw invocation.usage("--from \"\(printable(from))\" is not known; accepted: sqlite")
    }
    let accepted = "accepted: postgresql://user@host/db, or postgres with a --config that names it as store"
    var settings: Settings?
    if let file = invocation.value("config") {
        switch ConfigurationLoader.load(file: file) {
        case .ok(let loaded, _): settings = loaded
        case .errors(let errors):
            throw CommandFailure("\(file) is not valid:\n" + errors.map(\.description).joined(separator: "\n"))
        }
    }
    let url: String
    switch to {
    case "postgres", "postgresql":
        guard case .postgresql(let named)? = settings?.store else {
            throw invocation.usage("--to \(to) needs a --config whose store is postgresql://…; \(accepted)")
        }
        url = named
    default:
        // The configuration's own rules, so that what is moved to here can be named there. The text is not repeated: it may
        // hold a password.
        guard case .postgresql(let given)? = StoreSettings(text: to) else {
            throw invocation.usage(
                "--to is no store to move to, or has a password in it; \(accepted); a password comes from PGPASSWORD or PGPASSFILE"
            )
        }
        url = given
    }
    let directory =
        invocation.value("data") ?? settings?.dataDirectory ?? invocation.environment["CUTOVER_DATA"]
        ?? Settings().dataDirectory
    return (directory, url)
}

// MARK: - What is printed

private func migrationText(_ report: MigrationReport, _ mode: StoreMigration.Mode, _ console: Console) -> [String] {
    var table = Table([("table", .left), ("rows", .right)])
    if mode != .dryRun { table.columns += [("verified", .right), ("differing", .right)] }
    for row in report.tables {
        var cells = [Cell(row.name), Cell(grouped(Int(row.rows)))]
        if mode != .dryRun {
            cells += [
                Cell(grouped(Int(row.verified))), Cell(grouped(Int(row.differing)), row.differing > 0 ? .red : nil),
            ]
        }
        table.rows.append(cells)
    }
    var lines = table.lines(console)
    for row in report.tables {
        lines += row.firstDiffering.map { "\(row.name): \($0)" }
        let untold = row.differing - Int64(row.firstDiffering.count)
        if untold > 0, row.name != "batch_lane" { lines.append("\(row.name): and \(grouped(Int(untold))) more") }
    }
    let rows = grouped(Int(report.rows))
    switch (mode, report.differing) {
    case (.dryRun, _): lines.append("\(rows) rows would be moved to \(report.target); nothing was changed")
    case (.verify, 0): lines.append("\(rows) rows compared with \(report.target): all the same")
    case (.move, 0):
        lines += [
            "moved: \(rows) rows, all of them read back and compared; new changes go on after \(grouped(Int(report.lastSequence)))",
            "Start the gateway with store: postgresql://… and keep the data directory: it holds the tokens and the old journal.",
        ]
    case (.move, let count): lines.append("\(grouped(Int(count))) rows differ: nothing was kept in \(report.target)")
    case (.verify, let count): lines.append("\(grouped(Int(count))) rows differ from \(report.target)")
    }
    return lines
}

private func migrationJSON(_ report: MigrationReport, _ mode: StoreMigration.Mode) -> JSONValue {
    let tables = report.tables.map { table -> JSONValue in
        .object([
            ("table", .string(table.name)), ("rows", .number(String(table.rows))),
            ("verified", .number(String(table.verified))), ("differing", .number(String(table.differing))),
            ("first_differing", .array(table.firstDiffering.map { .string($0) })),
        ])
    }
    return .object([
        ("done", .bool(mode == .move && report.differing == 0)), ("dry_run", .bool(mode == .dryRun)),
        ("source", .string(report.source)), ("target", .string(report.target)), ("tables", .array(tables)),
        ("rows", .number(String(report.rows))), ("differing", .number(String(report.differing))),
        ("last_seq", .number(String(report.lastSequence))),
    ])
}

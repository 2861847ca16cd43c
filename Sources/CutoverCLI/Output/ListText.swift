import ControlPlane
import Values

/// The journal as a table, newest first.
func journalTable(_ rows: [JournalRow]) -> Table {
    var table = Table([
        ("seq", .right), ("at (UTC)", .left), ("user", .left), ("record", .left), ("revision", .right),
        ("legacy", .left),
        ("new", .left), ("request", .left),
    ])
    for row in rows {
        table.rows.append([
            Cell(row.seq.map(String.init) ?? noValue), Cell(instantColumn(row.at)), Cell(row.user ?? noValue),
            Cell(row.record ?? noValue), Cell(row.revision.map(String.init) ?? noValue), legCell(row.legs?["legacy"]),
            legCell(row.legs?["new"]), Cell("\(row.method ?? noValue) \(row.target ?? noValue)"),
        ])
    }
    return table
}

/// `applied`, or `pending, 3 tries, last 503`.
private func legCell(_ leg: JournalRow.Leg?) -> Cell {
    guard let leg, let state = leg.state else { return Cell(noValue) }
    switch state {
    case "applied": return Cell(state)
    case "superseded", "skipped", "refused": return Cell(state, .dim)
    default: break
    }
    var text = state
    if let attempts = leg.attempts, attempts > 0 { text += ", \(attempts) \(attempts == 1 ? "try" : "tries")" }
    if let status = leg.lastStatus { text += ", last \(status)" }
    return Cell(text, state == "parked" ? .red : .yellow)
}

/// Mismatches as a table.
func mismatchTable(_ items: [MismatchReport]) -> Table {
    var table = Table([
        ("at (UTC)", .left), ("kind", .left), ("legacy", .left), ("new", .left), ("request", .left), ("paths", .left),
    ])
    for item in items {
        table.rows.append([
            Cell(instantColumn(item.at)), Cell(item.kind ?? noValue), answerCell(item.legacy), answerCell(item.new),
            Cell("\(item.method ?? "GET") \(item.target ?? noValue)"), Cell(pathsText(item.paths)),
        ])
    }
    return table
}

/// One mismatch as a line of its own, for `--follow`.
func mismatchLine(_ item: MismatchReport) -> String {
    let paths = item.paths?.isEmpty ?? true ? "" : "  \(printable(pathsText(item.paths)))"
    return "\(printable(instantColumn(item.at)))  \(padded(printable(item.kind ?? noValue), to: 8))  "
        + "\(answerCell(item.legacy).text) / \(answerCell(item.new).text)  "
        + printable("\(item.method ?? "GET") \(item.target ?? noValue)") + paths
}

private func answerCell(_ answer: MismatchReport.Answer?) -> Cell {
    let parts = [answer?.status.map(String.init), answer?.hash.map { String($0.prefix(8)) }].compactMap { $0 }
    return Cell(parts.isEmpty ? noValue : parts.joined(separator: " "))
}

private func pathsText(_ paths: [String]?) -> String {
    guard let paths, !paths.isEmpty else { return noValue }
    let shown = paths.prefix(3).map { $0.isEmpty ? "(whole body)" : $0 }.joined(separator: ", ")
    return paths.count > 3 ? "\(shown) and \(paths.count - 3) more" : shown
}

/// Events as a table, newest first.
func eventTable(_ items: [EventReport]) -> Table {
    var table = Table([
        ("seq", .right), ("at (UTC)", .left), ("who", .left), ("action", .left), ("change", .left), ("why", .left),
    ])
    for item in items {
        table.rows.append([
            Cell(item.seq.map(String.init) ?? noValue), Cell(instantColumn(item.at)), Cell(item.actor ?? noValue),
            Cell(item.action ?? noValue), Cell(ChangeText.describe(before: item.before, after: item.after) ?? noValue),
            Cell(item.reason ?? ""),
        ])
    }
    return table
}

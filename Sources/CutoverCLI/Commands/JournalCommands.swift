import ControlPlane
import Values

/// The commands that look into the journal and set parked legs going again.
let journalCommands: [Command] = [journalCommand, replayCommand, settleCommand]

private let journalCommand = Command(
    "journal", "List the changes and what became of each leg",
    flags: [.toggle("parked", "Only those with a leg that waits for you")] + listFlags + ControlClient.flags,
    example: """
        $ cutover journal --parked
        seq  at (UTC)             user  record  revision  legacy   new                       request
         17  2026-11-30 14:02:03  42    note-7         3  applied  parked, 3 tries, last 422  POST /changes
        """,
    run: { invocation in
        let client = try ControlClient(invocation)
        let parked = invocation.isSet("parked")
        return try list(
            client, invocation, "journal", query: parked ? [(name: "parked", value: "true")] : [], of: JournalRow.self,
            none: parked ? "nothing is parked" : "the journal is empty", journalTable)
    })

private let replayCommand = Command(
    "journal replay", "Send parked legs again", operands: .any("SEQ"),
    details: """
        Name the changes by their seq, or take them all with --all-parked. Where a route has no revision, a leg whose record \
        was written again since stays parked and is named (exit status 1): sent, it would put old content over newer. --force \
        sends it all the same, `cutover journal settle` is done with it.
        """,
    flags: [
        .toggle("all-parked", "Every parked leg"),
        .toggle("force", "Those too that are older than what the backend has"),
        .toggle("dry-run", "Say what would be sent, and send nothing"),
        .value("reason", "TEXT", "Why; kept with the event"),
    ] + ControlClient.flags,
    example: """
        $ cutover journal replay 17
        parked → pending: 1 change is sent again
        """,
    run: { invocation in
        let all = invocation.isSet("all-parked")
        if all == !invocation.operands.isEmpty {
            throw invocation.usage("name changes by their SEQ, or give --all-parked")
        }
        let seqs = try sequences(invocation)
        var body: [(String, JSONValue)] = all ? [("all_parked", true)] : [("seqs", .array(seqs))]
        if invocation.isSet("force") { body.append(("force", true)) }
        if invocation.isSet("dry-run") { body.append(("dry_run", true)) }
        if let reason = invocation.value("reason") { body.append(("reason", .string(reason))) }
        let answer = try ControlClient(invocation).change("POST", "journal/replay", body)
        let report = try? answer.decode(ReplayReport.self)
        let held = report?.held ?? []
        let status = held.isEmpty ? ExitStatus.done : ExitStatus.refused
        if invocation.wantsJSON {
            invocation.console.print(answer.text)
            return status
        }
        let would = report?.isDryRun == true ? "would be" : nil
        switch report?.replayed ?? report?.seqs?.count ?? (all ? nil : seqs.count) {
        case 0?: invocation.console.print(held.isEmpty ? "nothing was parked" : "nothing is sent again")
        case 1?: invocation.console.print("parked → pending: 1 change \(would ?? "is") sent again")
        case let count?:
            invocation.console.print("parked → pending: \(grouped(count)) changes \(would ?? "are") sent again")
        case nil: invocation.console.print("parked → pending: all that were parked are sent again")
        }
        for leg in held { invocation.console.print("stays parked: \(printable(leg.reason ?? "change \(leg.seq)"))") }
        if !held.isEmpty {
            invocation.console.printError(
                "cutover journal replay: \(grouped(held.count)) \(held.count == 1 ? "leg stays" : "legs stay") parked; look at "
                    + "the records, then `cutover journal settle SEQ --reason TEXT` keeps what the backend has, --force puts the old content there"
            )
        }
        return status
    })

private let settleCommand = Command(
    "journal settle", "Be done with parked legs: the backend keeps what it has", operands: .any("SEQ"),
    details: """
        The legs become superseded: they are not sent, and do not count as parked any more. That the backends agree about \
        these records all the same is for you to know; the reason is kept with the event.
        """,
    flags: [
        .value("reason", "TEXT", "Why the backend may go without these changes; required"),
        .toggle("dry-run", "Say what would be settled, and change nothing"),
    ] + ControlClient.flags,
    example: """
        $ cutover journal settle 17 --reason "written again since"
        parked → superseded: 1 change
        """,
    run: { invocation in
        let seqs = try sequences(invocation)
        guard !seqs.isEmpty else { throw invocation.usage("name the changes by their SEQ") }
        guard let reason = invocation.value("reason"), !reason.allSatisfy(\.isWhitespace) else {
            throw invocation.usage("say why with --reason")
        }
        var body: [(String, JSONValue)] = [("seqs", .array(seqs)), ("reason", .string(reason))]
        if invocation.isSet("dry-run") { body.append(("dry_run", true)) }
        let answer = try ControlClient(invocation).change("POST", "journal/settle", body)
        if invocation.wantsJSON {
            invocation.console.print(answer.text)
            return ExitStatus.done
        }
        let count = (try? answer.decode(SettleReport.self))?.settled ?? seqs.count
        let note = invocation.isSet("dry-run") ? " (dry run: nothing was changed)" : ""
        invocation.console.print("parked → superseded: \(grouped(count)) \(count == 1 ? "change" : "changes")\(note)")
        return ExitStatus.done
    })

private func sequences(_ invocation: Invocation) throws -> [JSONValue] {
    try invocation.operands.map { text in
        guard let seq = Int64(text), seq > 0 else { throw invocation.usage("\"\(text)\" is no seq of the journal") }
        return .number(String(seq))
    }
}

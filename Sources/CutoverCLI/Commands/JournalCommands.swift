import ControlPlane

/// The commands that look into the journal and set parked legs going again.
let journalCommands: [Command] = [journalCommand, replayCommand]

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
    details: "Name the changes by their seq, or take them all with --all-parked.",
    flags: [
        .toggle("all-parked", "Every parked leg"), .value("reason", "TEXT", "Why; kept with the event"),
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
        let seqs = try invocation.operands.map { text -> JSONValue in
            guard let seq = Int64(text), seq > 0 else { throw invocation.usage("\"\(text)\" is no seq of the journal") }
            return .number(String(seq))
        }
        var body: [(String, JSONValue)] = all ? [("all_parked", true)] : [("seqs", .array(seqs))]
        if let reason = invocation.value("reason") { body.append(("reason", .string(reason))) }
        let answer = try ControlClient(invocation).change("POST", "journal/replay", body)
        if invocation.wantsJSON {
            invocation.console.print(answer.text)
            return ExitStatus.done
        }
        let report = try? answer.decode(ReplayReport.self)
        switch report?.replayed ?? report?.seqs?.count ?? (all ? nil : seqs.count) {
        case 0?: invocation.console.print("nothing was parked")
        case 1?: invocation.console.print("parked → pending: 1 change is sent again")
        case let count?: invocation.console.print("parked → pending: \(grouped(count)) changes are sent again")
        case nil: invocation.console.print("parked → pending: all that were parked are sent again")
        }
        return ExitStatus.done
    })

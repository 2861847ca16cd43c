import ControlPlane
import Values

/// The commands about legacy's end, and the way back from it.
let legacyCommands: [Command] = [stopLegacyCommand, resumeLegacyCommand, reverseSyncCommand]

private let stopLegacyCommand = Command(
    "stop-legacy", "Stop writing legacy, after the last stage",
    details: """
        Only in the last stage at 100 %, and by itself when the plan's `keep` has ended. The journal keeps what legacy is \
        not told for the plan's `rollback_window`; a rollback or reverse-sync brings it there. Refused while users are \
        pinned to legacy.
        """,
    flags: [dryRunFlag] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover stop-legacy --reason "nobody reads it any more"
        legacy writes yes → no
        reason: nobody reads it any more
        """,
    run: { invocation in try change(invocation, "POST", "rollout/stop-legacy", []) })

private let resumeLegacyCommand = Command(
    "resume-legacy", "Write legacy again",
    details: """
        What legacy lacks is brought there first, record by record. Where it lacks more than 1,000 changes, run \
        reverse-sync before, or writes to the same records would have to wait; --force resumes all the same.
        """,
    flags: [dryRunFlag, .toggle("force", "Resume although legacy lacks much")] + ControlClient.changeFlags
        + ControlClient.flags,
    example: """
        $ cutover resume-legacy
        legacy writes no → yes
        """,
    run: { invocation in
        try change(invocation, "POST", "rollout/resume-legacy", invocation.isSet("force") ? [("force", true)] : [])
    })

private let reverseSyncCommand = Command(
    "reverse-sync", "Bring legacy what it lacks, and compare the backends",
    details: """
        Changes accepted while legacy was not written are sent there in their order, with their keys; then both backends \
        are asked about every record they touched. It may be stopped and run again at any time: it does the rest. A run \
        that is under way is followed. Ends with 1 when records differ or legs are parked.
        """,
    flags: [
        .value("since", "DURATION", "Only what was accepted within it, such as 24h (default: all the journal holds)"),
        .toggle("include-parked", "Send parked legs to legacy again, too"),
        .toggle("no-verify", "Do not compare the backends at the end"),
        .toggle("no-wait", "Start it and return"), dryRunFlag, .value("reason", "TEXT", "Why; kept with the event"),
    ] + ControlClient.flags,
    example: """
        $ cutover reverse-sync
        sending 5,120 of 5,120 changes (100 %), 1,690 a second
        comparing: 1,204 records, 1,204 equal
        5,120 changes brought to legacy in 3.1 s
        1,204 records compared: 1,204 equal, 0 different, 0 unverifiable
        """,
    run: reverseSync)

private func reverseSync(_ invocation: Invocation) throws -> Int32 {
    let client = try ControlClient(invocation)
    var body: [(String, JSONValue)] = []
    if let since = invocation.value("since") { body.append(("since", .string(since))) }
    if invocation.isSet("include-parked") { body.append(("include_parked", true)) }
    if invocation.isSet("no-verify") { body.append(("verify", false)) }
    if let reason = invocation.value("reason") { body.append(("reason", .string(reason))) }
    if invocation.isSet("dry-run") {
        let answer = try client.change("POST", "reverse-sync", body + [("dry_run", true)])
        invocation.console.print(
            invocation.wantsJSON ? answer.text : missingText(try answer.decode(MissingReport.self)))
        return ExitStatus.done
    }
    var follower = ReverseSyncFollower(client: client, invocation: invocation)
    let present = try client.get("reverse-sync").decode(SyncReport.self)
    if present.isRunning, !invocation.isSet("no-wait") {
        if !invocation.wantsJSON { invocation.console.print("a reverse sync is under way") }
        let end = try follower.follow(run: present.run)
        // One that came by itself compares nothing.
        if end.automatic != true { return try follower.finish(end) }
    }
    let started = try client.change("POST", "reverse-sync", body)
    if invocation.isSet("no-wait") {
        invocation.console.print(invocation.wantsJSON ? started.text : "started; `cutover reverse-sync` follows it")
        return ExitStatus.done
    }
    // In two steps: following changes the follower.
    let end = try follower.follow(run: started.decode(SyncReport.self).run)
    return try follower.finish(end)
}

private func missingText(_ report: MissingReport) -> String {
    let count = report.missing ?? 0
    var text = "legacy lacks " + (report.complete == false ? "at least " : "") + changesText(count)
    if count > 0 {
        text += ", accepted from \(instantColumn(report.oldest)) to \(instantColumn(report.newest)) (UTC)"
    }
    if let older = report.older, older > 0 { text += ", and \(grouped(older)) older" }
    if let parked = report.parked, parked > 0 {
        text += "; \(grouped(parked)) \(parked == 1 ? "leg" : "legs") to legacy parked"
    }
    return text + "  (dry run: nothing was changed)"
}

func changesText(_ count: Int) -> String { count == 1 ? "1 change" : "\(grouped(count)) changes" }

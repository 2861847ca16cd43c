import ControlPlane
import Routing
import Values

/// The commands that look and change nothing.
let watchingCommands: [Command] = [statusCommand, explainCommand, mismatchesCommand, eventsCommand]

private let statusCommand = Command(
    "status", "Show where the rollout is, the four figures and the backends",
    details: """
        A backend is down while its breaker is open, which takes at least 20 requests in 10 s unless configured \
        otherwise. A verdict stands only where the plan has a gate. With --watch the text is redrawn in place until you \
        press Ctrl-C; a gateway that restarts is waited for.
        """,
    flags: [
        .toggle("watch", "Keep showing"), .value("interval", "SECONDS", "How often with --watch (default 2)"),
    ] + ControlClient.flags,
    example: statusExample,
    run: { invocation in
        let client = try ControlClient(invocation)
        guard invocation.isSet("watch") else {
            let answer = try client.get("status")
            invocation.console.print(try statusOutput(answer, invocation))
            return ExitStatus.done
        }
        let interval = try invocation.integer("interval", in: 1...3600) ?? 2
        return try watchStatus(client, invocation, intervalMilliseconds: UInt32(interval) * 1000)
    })

private let statusExample = """
    $ cutover status
    Cutover http://127.0.0.1:9900  running  generation 12

    stage    canary of plan my-migration, since 09:12 UTC (2 h)
    percent  █░░░░░░░░░░░░░░░░░░░ 1 % of users on new
    writes   to both backends
    shadow   100 % of users: 12,345 compared, 0 mismatched, 2 transient
    next     early (10 %), by `cutover promote`; held 1 h of 2 h
             waits: gate write_p95 cannot say yet: new has 110 of the 200 samples
             that it takes

    metric            value  legacy     new           gate  samples  verdict
    read error rate  0.02 %     0 %  0.02 %  0.5 %, +0.2 %    1,234  pass
    client errors       0 %       –       –              –  120,433  –
    write p95         38 ms   42 ms   38 ms   300 ms, 1.5×      110  insufficient
    conflict rate       0 %       –       –            1 %   31,040  pass
    fallback rate       0 %       –       –          0.5 %    1,544  pass
    mismatch rate       0 %       –       –          0.1 %   12,345  pass
    journal lag           0       –       –           30 s        –  pass

    backend  health  writes pending  oldest
    legacy   up                   0       –
    new      up                   0       –
    """

/// - Parameter limit: lines that fit; nil is all of them.
private func statusOutput(_ answer: APIAnswer, _ invocation: Invocation, limit: Int? = nil) throws -> String {
    if invocation.wantsJSON { return answer.text }
    let text = StatusText(
        report: try answer.decode(StatusReport.self), url: answer.source, now: invocation.surroundings.now(),
        console: invocation.console)
    return text.lines(limit: limit).joined(separator: "\n")
}

/// The first answer must come; later a gateway that is away is waited for, under its last known state.
private func watchStatus(_ client: ControlClient, _ invocation: Invocation, intervalMilliseconds: UInt32) throws
    -> Int32
{
    let console = invocation.console
    var screen = Redraw(console: console)
    /// Lines of a frame, with so many to spare; one stays for the cursor.
    func room(besides spare: Int = 0) -> Int? { console.isTerminal ? console.rows().map { $0 - 1 - spare } : nil }
    var answer = try client.get("status")
    screen.show(try statusOutput(answer, invocation, limit: room()))
    while invocation.surroundings.pause(intervalMilliseconds), !console.outputFailed {
        do {
            answer = try client.get("status")
            screen.show(try statusOutput(answer, invocation, limit: room()))
        } catch let failure as CommandFailure {
            if invocation.wantsJSON {
                console.printError(failure.message)
            } else {
                let clock = Instant(seconds: invocation.surroundings.now()).clock
                let message = wrapped(
                    "\(clock) UTC: \(failure.message)", width: min(80, console.columns() ?? 80), lines: 4)
                let state = try statusOutput(answer, invocation, limit: room(besides: 1 + message.count))
                screen.show(([state, ""] + message.map { console.coloured($0, .red) }).joined(separator: "\n"))
            }
        }
    }
    return ExitStatus.done
}

private let explainCommand = Command(
    "explain", "Say which backend serves a user, and why", operands: .exactly(["USER"]), flags: ControlClient.flags,
    example: """
        $ cutover explain 42
        user 42: bucket 2728 of 10000, stage half (50 %) admits it; served by new since 14:02 UTC
        """,
    run: { invocation in
        let client = try ControlClient(invocation)
        let answer = try client.get("users/\(PercentCoding.encoded(try userOperand(invocation)))")
        if invocation.wantsJSON {
            invocation.console.print(answer.text)
            return ExitStatus.done
        }
        let user = try answer.decode(UserReport.self)
        let rollout = try client.get("status").decode(StatusReport.self).rollout
        invocation.console.print(explainText(user, rollout: rollout, now: invocation.surroundings.now()))
        return ExitStatus.done
    })

private let mismatchesCommand = Command(
    "mismatches", "List shadow reads whose difference lasted",
    details:
        "Values are never shown: paths, hashes and statuses only. With --follow new ones are printed as they come.",
    flags: [.toggle("follow", "Go on printing new ones")] + listFlags + ControlClient.flags,
    example: """
        $ cutover mismatches --limit 1
        at (UTC)             kind     legacy        new           request       paths
        2026-11-30 14:02:03  content  200 6f1ed002  200 9a2c41b7  GET /notes/7  /items/0/title
        """,
    run: { invocation in
        let client = try ControlClient(invocation)
        if invocation.isSet("follow") { return try followMismatches(client, invocation) }
        return try list(client, invocation, "mismatches", of: MismatchReport.self, none: "no mismatches", mismatchTable)
    })

private let eventsCommand = Command(
    "events", "List who changed what, when and why",
    details:
        "Newest first, a page at a time. With --all everything is printed, oldest first; --json then is one object a line.",
    flags: [.toggle("all", "All events, oldest first")] + listFlags + ControlClient.flags,
    example: """
        $ cutover events --limit 2
        seq  at (UTC)             who              action   change                                why
          8  2026-11-30 14:02:03  admin@127.0.0.1  promote  percent 1 → 10, stage canary → early  canary quiet since noon
          7  2026-11-30 12:00:41  admin@127.0.0.1  promote  percent 0 → 1, stage shadow → canary
        """,
    run: { invocation in
        let client = try ControlClient(invocation)
        if invocation.isSet("all") { return try allEvents(client, invocation) }
        return try list(client, invocation, "events", of: EventReport.self, none: "no events", eventTable)
    })

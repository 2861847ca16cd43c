import ControlPlane
import Routing
import Values

/// The commands that move traffic. Each prints what was and what is: `percent 1 → 10`.
let rolloutCommands: [Command] = [
    promoteCommand, rollbackCommand, pauseCommand, resumeCommand, setPercentCommand, pinCommand, unpinCommand,
]

let dryRunFlag = Flag.toggle("dry-run", "Say what would change, and change nothing")

private let promoteCommand = Command(
    "promote", "Go to the plan's next stage, or to a named one",
    details: """
        Refused while a gate says fail, and into the last stage while the way back to legacy does not work, unless --force; \
        `insufficient` and `warming_up` are warnings.
        """,
    flags: [
        .value("to", "STAGE", "A stage by name, instead of the next one"), dryRunFlag,
        .toggle("force", "Go although a gate says fail or the way back does not work"),
    ] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover promote --reason "canary quiet since noon"
        percent 1 → 10, stage canary → early
        reason: canary quiet since noon
        warning: the hold of stage canary would have lasted 1 h 12 min more
        """,
    run: { invocation in
        var body: [(String, JSONValue)] = []
        if let stage = invocation.value("to") { body.append(("to", .string(stage))) }
        if invocation.isSet("force") { body.append(("force", true)) }
        return try change(invocation, "POST", "rollout/promote", body)
    })

private let pauseCommand = Command(
    "pause", "Hold the rollout where it is",
    details: """
        Nothing goes on by itself until `cutover resume` or `cutover promote`: no automatic promotion, and legacy is not \
        given up when `keep` ends. Your own commands are taken as ever, and gates go on acting: what fails still rolls back.
        """,
    flags: [dryRunFlag] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover pause --reason "release freeze"
        state running → paused
        reason: release freeze
        """,
    run: { invocation in try change(invocation, "POST", "rollout/pause", []) })

private let resumeCommand = Command(
    "resume", "Let a paused rollout go on",
    flags: [dryRunFlag] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover resume
        state paused → running
        """,
    run: { invocation in try change(invocation, "POST", "rollout/resume", []) })

private let setPercentCommand = Command(
    "set-percent", "Set the share of users on new directly", operands: .exactly(["N"]),
    details: "N is 0 to 100 with at most two decimals. The stage becomes the last one whose percent is not above N.",
    flags: [dryRunFlag] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover set-percent 12.5
        percent 10 → 12.5
        """,
    run: { invocation in
        let text = invocation.operands[0]
        guard let hundredths = percentHundredths(text) else {
            throw invocation.usage("\"\(text)\" is no percent: 0 to 100, with at most two decimals")
        }
        return try change(invocation, "POST", "rollout/percent", [("percent", .number(hundredthsText(hundredths)))])
    })

private let pinCommand = Command(
    "pin", "Keep one user on one backend, whatever the percent", operands: .exactly(["USER", "legacy|new"]),
    flags: [dryRunFlag] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover pin 42 new --reason "first tester"
        user 42: pin none → new
        reason: first tester
        """,
    run: { invocation in
        let side = invocation.operands[1]
        guard ["legacy", "new"].contains(side) else {
            let near = nearest(to: side, among: ["legacy", "new"]).map { "; did you mean \($0)?" } ?? ""
            throw invocation.usage("\"\(side)\" is no backend; accepted: legacy, new\(near)")
        }
        let user = try userOperand(invocation)
        return try change(
            invocation, "PUT", "users/\(PercentCoding.encoded(user))/pin", [("side", .string(side))],
            subject: "user \(user)")
    })

private let unpinCommand = Command(
    "unpin", "Let the percent decide about a user again", operands: .exactly(["USER"]),
    flags: [dryRunFlag] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover unpin 42
        user 42: pin new → none
        """,
    run: { invocation in
        let user = try userOperand(invocation)
        return try change(invocation, "DELETE", "users/\(PercentCoding.encoded(user))/pin", [], subject: "user \(user)")
    })

/// The first operand as a user id. An empty or blank id is anonymous (contract §11) and cannot be named.
func userOperand(_ invocation: Invocation) throws -> String {
    let user = invocation.operands[0]
    guard !trimmed(user).isEmpty else { throw invocation.usage("a user id is not empty") }
    return user
}

/// Sends a change with the flags that all changes share, and prints what came of it.
func change(
    _ invocation: Invocation, _ method: String, _ path: String, _ members: [(String, JSONValue)], subject: String? = nil
) throws -> Int32 {
    let answer = try sendChange(invocation, ControlClient(invocation), method, path, members)
    if invocation.wantsJSON {
        invocation.console.print(answer.text)
    } else {
        printChange(answer, invocation, subject: subject)
    }
    return ExitStatus.done
}

/// Sends a change with the flags that all changes share.
func sendChange(
    _ invocation: Invocation, _ client: ControlClient, _ method: String, _ path: String,
    _ members: [(String, JSONValue)]
) throws -> APIAnswer {
    var body = members
    if invocation.isSet("dry-run") { body.append(("dry_run", true)) }
    if let reason = invocation.value("reason") { body.append(("reason", .string(reason))) }
    return try client.change(method, path, body)
}

/// Prints what was and what is.
func printChange(_ answer: APIAnswer, _ invocation: Invocation, subject: String? = nil) {
    // A change that was made is reported as made, whatever its answer looks like.
    let report = answer.bytes.isEmpty ? ChangeReport() : (try? answer.decode(ChangeReport.self)) ?? ChangeReport()
    for line in changeLines(report, isDryRun: invocation.isSet("dry-run"), subject: subject.map(printable)) {
        invocation.console.print(line)
    }
}

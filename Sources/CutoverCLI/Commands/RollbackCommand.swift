import ControlPlane
import Values

let rollbackCommand = Command(
    "rollback", "Send everybody back to legacy, or go to a named stage",
    details: """
        Accepted in every state, and in force at once. Without --to: the first stage of percent 0 that still writes to \
        both backends. Then it reports the writes that legacy does not have yet, until there are none; Ctrl-C ends the \
        report and leaves the rollback in force.
        """,
    flags: [
        .value("to", "STAGE", "A stage by name"), .toggle("no-wait", "Do not wait until legacy has caught up"),
        dryRunFlag,
    ] + ControlClient.changeFlags + ControlClient.flags,
    example: """
        $ cutover rollback --reason "support sees missing notes"
        percent 10 → 0, stage early → dual-write, state running → rolled_back, shadow percent 100 → 0
        reason: support sees missing notes
        3 legs to legacy outstanding
        legacy is caught up at 14:02:05 (3 legs)
        """,
    run: { invocation in
        let stage = invocation.value("to").map { [("to", JSONValue.string($0))] } ?? []
        if invocation.isSet("dry-run") { return try change(invocation, "POST", "rollout/rollback", stage) }
        let client = try ControlClient(invocation)
        let answer = try sendChange(invocation, client, "POST", "rollout/rollback", stage)
        if !invocation.wantsJSON { printChange(answer, invocation) }
        let caughtUp = watchLegacy(client, invocation, waits: !invocation.isSet("no-wait"))
        if invocation.wantsJSON { invocation.console.print(withCatchUp(answer, caughtUp)) }
        return ExitStatus.done
    })

/// What was last seen of legacy after a rollback.
private struct CaughtUp {
    var at: String?
    var legs: Int?
    var outstanding: Int?
}

/// Reports the legs to legacy until there are none. A gateway that is away for a moment is waited for.
private func watchLegacy(_ client: ControlClient, _ invocation: Invocation, waits: Bool) -> CaughtUp {
    var seen = CaughtUp()
    var progress = ProgressText(console: invocation.console)
    var lastComplaint: String?
    repeat {
        let journal: StatusReport.Journal?
        do {
            journal = try client.get("status").decode(StatusReport.self).journal
        } catch {
            let complaint = (error as? CommandFailure)?.message ?? "\(error)"
            if complaint != lastComplaint { invocation.console.printError(complaint) }
            lastComplaint = complaint
            if waits { continue } else { break }
        }
        lastComplaint = nil
        let outstanding = (journal?.pending?["legacy"] ?? 0) + (journal?.missing?["legacy"] ?? 0)
        seen = CaughtUp(
            at: journal?.caughtUpAt?["legacy"] ?? nil, legs: journal?.caughtUpLegs?["legacy"], outstanding: outstanding)
        if let at = seen.at {
            if waits, !invocation.wantsJSON {
                let clock = Instant(at)?.clock ?? printable(at)
                progress.show("legacy is caught up at \(clock) (\(legsText(seen.legs ?? 0)))")
            }
            break
        }
        // Somebody has gone on from there, or the gateway is of an earlier version: nobody looks any more.
        guard journal?.catchingUp?["legacy"] == true else {
            if waits, !invocation.wantsJSON { progress.show("the rollout has gone on; see cutover status") }
            break
        }
        if waits, !invocation.wantsJSON { progress.show("\(legsText(outstanding)) to legacy outstanding") }
    } while waits && invocation.surroundings.pause(invocation.followMilliseconds) && !invocation.console.outputFailed
    return seen
}

private func legsText(_ count: Int) -> String { count == 1 ? "1 leg" : "\(grouped(count)) legs" }

/// The change's answer as one object that also says how legacy caught up.
private func withCatchUp(_ answer: APIAnswer, _ caughtUp: CaughtUp) -> String {
    // As text: a decoded object would lose the order of its members.
    let text = trimmed(answer.text)
    guard text.hasPrefix("{"), text.hasSuffix("}"), text.count > 2 else { return answer.text }
    let at = caughtUp.at.map { JSONValue.string($0) } ?? .null
    let outstanding = caughtUp.outstanding.map { JSONValue.number("\($0)") } ?? .null
    return text.dropLast() + ",\"caught_up_at\":\(at.text),\"outstanding\":\(outstanding.text)}"
}

import FoundationEssentials
import Rollout
import Testing

private let day: Int64 = 86_400_000

/// A plan whose last stage is at 100 percent, and its machine.
private func machine(keepSeconds: Int64 = 90 * 86_400) -> RolloutMachine {
    var plan = shippedPlan()
    plan.keepSeconds = keepSeconds
    return RolloutMachine(plan: plan, configuredShadowHundredths: 0)
}

/// The state after these commands, each of which must change something. Time stands at the command's number.
private func rolloutState(
    after commands: RolloutCommand..., machine: RolloutMachine = machine(),
    sourceLocation: SourceLocation = #_sourceLocation
) -> RolloutState {
    var state = machine.freshState(atMilliseconds: 0)
    for (index, command) in commands.enumerated() {
        let outcome = machine.apply(command, to: state, atMilliseconds: Int64(index + 1))
        guard case .changed(let next, _) = outcome else {
            Issue.record("\(command): \(outcome)", sourceLocation: sourceLocation)
            return state
        }
        state = next
    }
    return state
}

private func reasons(_ outcome: RolloutOutcome) -> [String] {
    if case .refused(let reasons) = outcome { reasons } else { [] }
}

private let toTheEnd = RolloutCommand.promote(to: "full", force: false)

@Test func legacyIsWrittenUntilSomebodySaysOtherwiseInTheLastStage() {
    let machine = machine()
    for stage in ["shadow", "canary", "half"] {
        let early = rolloutState(after: .promote(to: stage, force: false))
        #expect(early.legacyWrites)
        let refused = reasons(machine.apply(.stopLegacy, to: early, atMilliseconds: 9))
        #expect(refused.count == 1 && refused[0].contains("last stage"), "\(refused)")
    }
    let ended = rolloutState(after: toTheEnd, .stopLegacy)
    #expect(!ended.legacyWrites && ended.legacyWritesSinceMilliseconds == 2)
    #expect(ended.condition == .complete && ended.percentHundredths == 10_000 && ended.dualWrite)
    guard case .unchanged(ended, _) = machine.apply(.stopLegacy, to: ended, atMilliseconds: 9) else {
        Issue.record("stopped twice")
        return
    }
}

@Test func whoeverNeedsLegacyKeepsItWritten() {
    let end = rolloutState(after: toTheEnd)
    let outcome = machine().apply(.stopLegacy, to: end, atMilliseconds: 9, obstacles: ["3 users are pinned to legacy"])
    #expect(reasons(outcome) == ["3 users are pinned to legacy"])
}

@Test func withoutAPlanOrRolledBackThereIsNoEnd() {
    let planless = RolloutMachine(plan: nil, configuredShadowHundredths: 0)
    let all = rolloutState(after: .setPercent(hundredths: 10_000), machine: planless)
    #expect(!reasons(planless.apply(.stopLegacy, to: all, atMilliseconds: 9)).isEmpty)
    #expect(planless.keepEndsMilliseconds(all) == nil)
    let back = rolloutState(after: toTheEnd, .rollback(to: "full"))
    #expect(back.condition == .rolledBack && back.percentHundredths == 10_000)
    #expect(!reasons(machine().apply(.stopLegacy, to: back, atMilliseconds: 9)).isEmpty)
}

@Test(arguments: [RolloutCommand.rollback(to: nil), .rollback(to: "canary"), .rollback(to: "full")])
func aRollbackWritesLegacyAgain(_ command: RolloutCommand) {
    let back = rolloutState(after: toTheEnd, .stopLegacy, command)
    #expect(back.legacyWrites && back.legacyWritesSinceMilliseconds == 3 && back.condition == .rolledBack)
}

@Test func nobodyIsSentToAnUnwrittenLegacyButByARollback() {
    let ended = rolloutState(after: toTheEnd, .stopLegacy)
    for hundredths in [0, 5000, 9999] {
        let outcome = machine().apply(.setPercent(hundredths: hundredths), to: ended, atMilliseconds: 9)
        #expect(reasons(outcome).first?.contains("resume-legacy") == true)
    }
    let resumed = rolloutState(after: toTheEnd, .stopLegacy, .resumeLegacy(force: false))
    #expect(resumed.legacyWrites && resumed.percentHundredths == 10_000 && resumed.condition == .complete)
    #expect(
        rolloutState(after: toTheEnd, .stopLegacy, .resumeLegacy(force: false), .setPercent(hundredths: 5000))
            .legacyWrites)
}

@Test func whatLegacyLacksHoldsItsReturnUntilItIsForced() {
    let ended = rolloutState(after: toTheEnd, .stopLegacy)
    let machine = machine()
    let lacks = ["legacy lacks 5000 changes"]
    let command = RolloutCommand.resumeLegacy(force: false)
    #expect(reasons(machine.apply(command, to: ended, atMilliseconds: 9, obstacles: lacks)) == lacks)
    guard
        case .changed(let next, let warnings) = machine.apply(
            .resumeLegacy(force: true), to: ended, atMilliseconds: 9, obstacles: lacks)
    else {
        Issue.record("not resumed")
        return
    }
    #expect(next.legacyWrites && warnings == ["legacy lacks 5000 changes; resumed by force"])
}

@Test func keepCountsFromTheLastStageAndAnewFromItsReturn() {
    let machine = machine(keepSeconds: 90 * 86_400)
    #expect(machine.keepEndsMilliseconds(rolloutState(after: .promote(to: "half", force: false))) == nil)
    let end = rolloutState(after: toTheEnd)
    #expect(machine.keepEndsMilliseconds(end) == 1 + 90 * day)
    #expect(machine.keepEndsMilliseconds(rolloutState(after: toTheEnd, .pause)) == nil)
    #expect(machine.keepEndsMilliseconds(rolloutState(after: toTheEnd, .pause, .resume)) == 1 + 90 * day)
    #expect(machine.keepEndsMilliseconds(rolloutState(after: toTheEnd, .stopLegacy)) == nil)
    let resumed = rolloutState(after: toTheEnd, .stopLegacy, .resumeLegacy(force: false))
    #expect(machine.keepEndsMilliseconds(resumed) == 3 + 90 * day)
}

@Test func aReloadLeavesLegacyAsItIs() {
    let ended = rolloutState(after: toTheEnd, .stopLegacy)
    var longer = shippedPlan()
    longer.stages.append(Stage(name: "one more", percentHundredths: 10_000))
    for plan in [shippedPlan(), longer, nil] {
        let next = RolloutMachine(plan: plan, configuredShadowHundredths: 0).adopting(ended, atMilliseconds: 99)
        #expect(!next.legacyWrites && next.legacyWritesSinceMilliseconds == 2)
    }
}

@Test func theLastStageIsNotEnteredWhileTheWayBackDoesNotWork() {
    let machine = machine()
    let closed = ["legacy does not answer"]
    let early = rolloutState(after: .promote(to: "half", force: false))
    #expect(machine.promotesToLastStage(early, to: nil) && machine.promotesToLastStage(early, to: "full"))
    #expect(!machine.promotesToLastStage(machine.freshState(atMilliseconds: 0), to: nil))
    for name in [nil, "full"] as [String?] {
        let command = RolloutCommand.promote(to: name, force: false)
        #expect(reasons(machine.apply(command, to: early, atMilliseconds: 9, obstacles: closed)) == closed)
        let forced = machine.apply(.promote(to: name, force: true), to: early, atMilliseconds: 9, obstacles: closed)
        guard case .changed(let next, let warnings) = forced else {
            Issue.record("not promoted by force")
            return
        }
        #expect(next.stageName == "full" && warnings.first == "legacy does not answer; promoted by force")
    }
    // Elsewhere it is not asked.
    let start = machine.freshState(atMilliseconds: 0)
    let next = machine.apply(.promote(to: nil, force: false), to: start, atMilliseconds: 9, obstacles: closed)
    #expect(reasons(next).isEmpty)
}

@Test func aStateOfAnEarlierVersionIsReadAndWrittenAsItWas() throws {
    let old = """
        {"condition":"complete","dualWrite":true,"generation":7,"isPercentDirect":false,"percentHundredths":10000,\
        "planName":"my-migration","shadowHundredths":10000,"sinceMilliseconds":5,"stageIndex":5,"stageName":"full"}
        """
    let state = try JSONDecoder().decode(RolloutState.self, from: Data(old.utf8))
    #expect(state.legacyWrites && state.legacyWritesSinceMilliseconds == nil && state.generation == 7)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(state), as: UTF8.self) == old)
    let direct = old.replacing("\"isPercentDirect\":false", with: "\"isPercentDirect\":true")
    #expect(try JSONDecoder().decode(RolloutState.self, from: Data(direct.utf8)).isSetByHand)
    let byHand = RolloutCommand.setPercent(hundredths: 10_000)
    for state in [
        rolloutState(after: toTheEnd, .pause, byHand, .resume),
        rolloutState(after: toTheEnd, byHand, .rollback(to: "full")),
    ] {
        #expect(try JSONDecoder().decode(RolloutState.self, from: encoder.encode(state)) == state)
    }
    let ended = endedState()
    #expect(try JSONDecoder().decode(RolloutState.self, from: encoder.encode(ended)) == ended)
}

@Test func theEndOfLegacyTakesWhatAPromotionTakes() {
    let end = rolloutState(after: toTheEnd)
    let gates = [GateFinding(name: "read_error_rate", verdict: .pass)]
    #expect(end.holds(gates: gates, ahead: WayAhead(parkedLegs: 1, parkedLastMilliseconds: 0)) == [])
    for verdict in [GateVerdict.fail, .insufficient, .warmingUp] {
        let holds = end.holds(gates: gates + [GateFinding(name: "conflict_rate", verdict: verdict)], ahead: WayAhead())
        #expect(holds.count == 1 && holds[0].contains("gate conflict_rate"))
    }
    #expect(end.holds(gates: gates, ahead: WayAhead(newAnswers: false)).count == 1)
    #expect(end.holds(gates: gates, ahead: WayAhead(parkedLegs: 1, parkedLastMilliseconds: 1)).count == 1)
    let byHand = rolloutState(after: .setPercent(hundredths: 10_000))
    #expect(byHand.condition == .complete && byHand.holds(gates: gates, ahead: WayAhead()).count == 1)
}

private func endedState() -> RolloutState { rolloutState(after: toTheEnd, .stopLegacy) }

import Testing

@testable import Rollout

private let machine = RolloutMachine(plan: shippedPlan(), configuredShadowHundredths: 2500)
private let planless = RolloutMachine(plan: nil, configuredShadowHundredths: 2500)

/// Applies a command that must change something.
private func changed(
    _ machine: RolloutMachine, _ state: RolloutState, _ command: RolloutCommand, at now: Int64 = 1000,
    gates: [GateFinding] = [], sourceLocation: SourceLocation = #_sourceLocation
) throws -> RolloutState {
    let outcome = machine.apply(command, to: state, atMilliseconds: now, gates: gates)
    guard case .changed(let next, _) = outcome else {
        Issue.record("not a change: \(outcome)", sourceLocation: sourceLocation)
        throw NotAChange()
    }
    #expect(next.generation == state.generation + 1, sourceLocation: sourceLocation)
    return next
}

private struct NotAChange: Error {}

private func isRefused(_ outcome: RolloutOutcome) -> Bool {
    if case .refused(let reasons) = outcome { !reasons.isEmpty } else { false }
}

private func warnings(_ outcome: RolloutOutcome) -> [String]? {
    if case .changed(_, let warnings) = outcome { warnings } else { nil }
}

private func at(_ stage: String) throws -> RolloutState {
    let fresh = machine.freshState(atMilliseconds: 0)
    return fresh.stageName == stage ? fresh : try changed(machine, fresh, .promote(to: stage, force: false))
}

// MARK: Start

@Test func aFreshStoreStartsInTheFirstStage() {
    let state = machine.freshState(atMilliseconds: 7)
    #expect(
        state
            == RolloutState(
                planName: "my-migration", stageIndex: 0, stageName: "dual-write", percentHundredths: 0,
                shadowHundredths: 0, dualWrite: true, condition: .running, sinceMilliseconds: 7, generation: 1,
                isPercentDirect: false))
}

@Test func withoutAPlanBothAreWrittenAndNobodyIsOnNew() {
    let state = planless.freshState(atMilliseconds: 7)
    #expect(state.planName == nil && state.stageIndex == nil && state.stageName == nil)
    #expect(state.percentHundredths == 0 && state.shadowHundredths == 2500 && state.dualWrite)
    #expect(state.condition == .running && !state.isPercentDirect)
}

// MARK: Promote

@Test func promoteGoesThroughTheStagesAndThenThereIsNoMore() throws {
    var state = machine.freshState(atMilliseconds: 0)
    var seen: [String] = []
    for step in 1...5 {
        state = try changed(machine, state, .promote(to: nil, force: false), at: Int64(step))
        seen.append("\(state.stageName ?? "-") \(state.percentHundredths) \(state.shadowHundredths) \(state.condition)")
        #expect(state.sinceMilliseconds == Int64(step))
    }
    #expect(
        seen == [
            "shadow 0 10000 running", "canary 100 10000 running", "early 1000 10000 running",
            "half 5000 10000 running", "full 10000 10000 complete",
        ])
    let outcome = machine.apply(.promote(to: nil, force: true), to: state, atMilliseconds: 9)
    #expect(outcome == .refused(reasons: ["stage full is the last one of the plan"]))
}

@Test func promoteToANamedStageSaysWhatItSkips() throws {
    let outcome = machine.apply(
        .promote(to: "half", force: false), to: try at("shadow"), atMilliseconds: 1000 + 3_600_000)
    #expect(warnings(outcome) == ["skips canary, early"])
}

@Test func promoteBeforeTheHoldIsOverWarns() throws {
    let outcome = machine.apply(.promote(to: nil, force: false), to: try at("shadow"), atMilliseconds: 1000 + 600_000)
    #expect(warnings(outcome) == ["the hold of stage shadow would have lasted 50 min more"])
}

@Test func promoteToAnUnknownStageNamesTheKnownOnes() throws {
    let outcome = machine.apply(.promote(to: "hlaf", force: true), to: try at("canary"), atMilliseconds: 0)
    guard case .refused(let reasons) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(reasons == ["the plan has no stage \"hlaf\"; it has dual-write, shadow, canary, early, half, full"])
}

@Test func promoteNeverGoesBack() throws {
    #expect(isRefused(machine.apply(.promote(to: "canary", force: true), to: try at("half"), atMilliseconds: 0)))
    #expect(isRefused(machine.apply(.promote(to: "dual-write", force: false), to: try at("shadow"), atMilliseconds: 0)))
    let beyond = try changed(machine, try at("half"), .setPercent(hundredths: 6000))
    #expect(isRefused(machine.apply(.promote(to: "half", force: false), to: beyond, atMilliseconds: 0)))
}

@Test func promoteWithoutAPlanIsRefused() {
    let state = planless.freshState(atMilliseconds: 0)
    #expect(isRefused(planless.apply(.promote(to: nil, force: true), to: state, atMilliseconds: 0)))
}

@Test func aFailingGateHoldsAPromotionUnlessForced() throws {
    let gates = [
        GateFinding(name: "read_error_rate", verdict: .pass), GateFinding(name: "write_p95", verdict: .fail),
        GateFinding(name: "conflict_rate", verdict: .fail),
    ]
    let state = try at("dual-write")
    let refused = machine.apply(.promote(to: nil, force: false), to: state, atMilliseconds: 0, gates: gates)
    #expect(refused == .refused(reasons: ["gate write_p95 fails", "gate conflict_rate fails"]))
    let forced = machine.apply(.promote(to: nil, force: true), to: state, atMilliseconds: 0, gates: gates)
    #expect(
        warnings(forced) == [
            "gate write_p95 fails; promoted by force", "gate conflict_rate fails; promoted by force",
        ])
}

@Test func aGateThatCannotJudgeYetOnlyWarns() throws {
    let gates = [
        GateFinding(name: "read_error_rate", verdict: .insufficient),
        GateFinding(name: "write_p95", verdict: .warmingUp),
    ]
    let outcome = machine.apply(
        .promote(to: nil, force: false), to: try at("dual-write"), atMilliseconds: 0, gates: gates)
    #expect(
        warnings(outcome) == [
            "gate read_error_rate cannot say yet", "gate write_p95 is still warming up",
        ])
}

@Test func aGateThatIsAboveItsLimitAndCannotProveItIsNotSaidToHaveTooFewSamples() throws {
    let gate = GateFinding(
        name: "mismatch_rate", verdict: .insufficient, reason: "0.253 % of 2370 shadow reads, limit 0.1 %",
        threshold: 0.001, value: 0.00253, samples: 2370)
    let outcome = machine.apply(
        .promote(to: nil, force: false), to: try at("dual-write"), atMilliseconds: 0, gates: [gate])
    #expect(
        warnings(outcome) == [
            "gate mismatch_rate is above its limit, and cannot prove it yet: 0.253 % of 2370 shadow reads, limit 0.1 %"
        ])
}

@Test func aGateThatFailsAtAnotherGatewayHoldsAPromotionUnlessForced() throws {
    let gates = [GateFinding(name: "read_error_rate", verdict: .fail, gateway: "b:9900")]
    let state = try at("dual-write")
    #expect(
        machine.apply(.promote(to: nil, force: false), to: state, atMilliseconds: 0, gates: gates)
            == .refused(reasons: ["gateway b:9900 says: gate read_error_rate fails"]))
    #expect(
        warnings(machine.apply(.promote(to: nil, force: true), to: state, atMilliseconds: 0, gates: gates)) == [
            "gateway b:9900 says: gate read_error_rate fails; promoted by force"
        ])
}

@Test func theWireNamesOfConditionsAndVerdictsAreTheContracts() {
    #expect(RolloutState.Condition.allCases.map(\.rawValue) == ["running", "paused", "rolled_back", "complete"])
    #expect(GateVerdict.allCases.map(\.rawValue) == ["pass", "fail", "insufficient", "warming_up"])
}

// MARK: Rollback

@Test func rollbackGoesToTheFirstStageThatStillDualWrites() throws {
    let state = try changed(machine, try at("half"), .rollback(to: nil), at: 5000)
    #expect(state.stageName == "dual-write" && state.percentHundredths == 0 && state.dualWrite)
    #expect(state.condition == .rolledBack && state.sinceMilliseconds == 5000)
    var plan = shippedPlan()
    plan.stages[0].dualWrite = false
    let late = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    #expect(try changed(late, try at("half"), .rollback(to: nil)).stageName == "shadow")
}

@Test func rollbackIsAcceptedInEveryCondition() throws {
    for condition in RolloutState.Condition.allCases {
        for stage in ["dual-write", "canary", "full"] {
            var state = try at(stage)
            state.condition = condition
            switch machine.apply(.rollback(to: nil), to: state, atMilliseconds: 0) {
            case .changed(let next, _), .unchanged(let next, _):
                #expect(next.percentHundredths == 0 && next.condition == .rolledBack)
            case .refused(let reasons):
                Issue.record("\(condition) in \(stage): \(reasons)")
            }
        }
    }
}

@Test func rollbackToANamedStageStopsThere() throws {
    let state = try changed(machine, try at("full"), .rollback(to: "canary"))
    #expect(state.stageName == "canary" && state.percentHundredths == 100 && state.condition == .rolledBack)
}

@Test func rollbackNeverRaisesThePercent() throws {
    #expect(isRefused(machine.apply(.rollback(to: "half"), to: try at("canary"), atMilliseconds: 0)))
    #expect(isRefused(machine.apply(.rollback(to: "nowhere"), to: try at("canary"), atMilliseconds: 0)))
}

@Test func rollbackWithoutAPlanSetsThePercentToNothing() throws {
    let state = try changed(planless, planless.freshState(atMilliseconds: 0), .setPercent(hundredths: 5000))
    let back = try changed(planless, state, .rollback(to: nil))
    #expect(back.percentHundredths == 0 && back.condition == .rolledBack && back.dualWrite && back.stageIndex == nil)
    #expect(isRefused(planless.apply(.rollback(to: "canary"), to: state, atMilliseconds: 0)))
}

@Test func rollbackWorksEvenWithAPlanThatHasNowhereToGo() throws {
    let plan = Plan(name: "p", stages: [Stage(name: "canary", percentHundredths: 100)])
    let odd = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    let state = try changed(odd, odd.freshState(atMilliseconds: 0), .rollback(to: nil))
    #expect(state.percentHundredths == 0 && state.dualWrite && state.condition == .rolledBack)
}

@Test func promoteAfterARollbackStartsAgain() throws {
    let back = try changed(machine, try at("half"), .rollback(to: nil))
    let state = try changed(machine, back, .promote(to: nil, force: false))
    #expect(state.stageName == "shadow" && state.condition == .running)
    let same = try changed(machine, back, .promote(to: "dual-write", force: false))
    #expect(same.stageName == "dual-write" && same.condition == .running)
}

@Test func theLastCommandWins() throws {
    var state = try at("half")
    state = try changed(machine, state, .rollback(to: nil))
    state = try changed(machine, state, .setPercent(hundredths: 1000))
    #expect(state.stageName == "early" && state.condition == .running)
    state = try changed(machine, state, .rollback(to: nil))
    #expect(state.percentHundredths == 0 && state.condition == .rolledBack)
}

// MARK: Pause and resume

@Test func aPauseChangesNothingElse() throws {
    let state = try at("canary")
    var paused = try changed(machine, state, .pause, at: 99_000)
    #expect(paused.condition == .paused)
    let resumed = try changed(machine, paused, .resume, at: 100_000)
    #expect(resumed.condition == .running)
    #expect(resumed.heldFrom == state.heldFrom && resumed.attemptSince == state.attemptSince)
    paused.condition = state.condition
    paused.generation = state.generation
    paused.setStateSince(state.stateSince)
    #expect(paused == state)
}

@Test func pausingTwiceIsAcceptedWithAWarning() throws {
    let paused = try changed(machine, try at("canary"), .pause)
    let again = machine.apply(.pause, to: paused, atMilliseconds: 0)
    #expect(again == .unchanged(paused, warnings: ["the rollout is already paused"]))
    let running = try at("canary")
    let resumed = machine.apply(.resume, to: running, atMilliseconds: 0)
    #expect(resumed == .unchanged(running, warnings: ["the rollout is not paused"]))
}

@Test func aRolloutThatIsRolledBackIsNeitherPausedNorResumed() throws {
    let back = try changed(machine, try at("canary"), .rollback(to: nil))
    #expect(isRefused(machine.apply(.pause, to: back, atMilliseconds: 0)))
    #expect(isRefused(machine.apply(.resume, to: back, atMilliseconds: 0)))
}

@Test func promoteEndsAPauseAndSetPercentKeepsIt() throws {
    let paused = try changed(machine, try at("canary"), .pause)
    #expect(try changed(machine, paused, .promote(to: nil, force: false)).condition == .running)
    #expect(try changed(machine, paused, .setPercent(hundredths: 2000)).condition == .paused)
}

@Test func resumingInTheLastStageIsComplete() throws {
    let paused = try changed(machine, try at("full"), .pause)
    #expect(try changed(machine, paused, .resume).condition == .complete)
}

// MARK: Percent

@Test(arguments: [
    (0, "shadow", false), (50, "shadow", true), (100, "canary", false), (250, "canary", true), (1000, "early", false),
    (9999, "half", true), (10_000, "full", false),
])
func aDirectPercentIsInTheLastStageThatIsNotAboveIt(hundredths: Int, stage: String, isDirect: Bool) throws {
    let state = try changed(machine, try at("dual-write"), .setPercent(hundredths: hundredths), at: 5)
    #expect(state.stageName == stage && state.percentHundredths == hundredths)
    #expect(state.isPercentDirect == isDirect && state.sinceMilliseconds == 5)
    #expect(state.condition == (stage == "full" ? .complete : .running))
}

@Test func promoteAfterADirectPercentGoesToTheNextStage() throws {
    let state = try changed(machine, try at("canary"), .setPercent(hundredths: 2000))
    let next = try changed(machine, state, .promote(to: nil, force: false))
    #expect(next.stageName == "half" && next.percentHundredths == 5000 && !next.isPercentDirect)
}

@Test(arguments: [-1, 10_001, Int.max, Int.min])
func aPercentOutOfRangeIsRefused(hundredths: Int) throws {
    #expect(isRefused(machine.apply(.setPercent(hundredths: hundredths), to: try at("canary"), atMilliseconds: 0)))
}

@Test func withoutAPlanThePercentIsSetDirectly() throws {
    let state = try changed(planless, planless.freshState(atMilliseconds: 0), .setPercent(hundredths: 1250))
    #expect(state.percentHundredths == 1250 && state.stageIndex == nil && state.isPercentDirect)
    #expect(state.dualWrite && state.shadowHundredths == 2500 && state.condition == .running)
}

@Test func nobodyIsPutOnANewThatIsNotWritten() {
    let plan = Plan(
        name: "p",
        stages: [
            Stage(name: "off", percentHundredths: 0, dualWrite: false), Stage(name: "on", percentHundredths: 100),
        ])
    let odd = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    let state = odd.freshState(atMilliseconds: 0)
    #expect(isRefused(odd.apply(.setPercent(hundredths: 50), to: state, atMilliseconds: 0)))
}

@Test func settingThePercentThatHoldsTakesItIntoTheOperatorsHand() throws {
    let state = try at("canary")
    let next = try changed(machine, state, .setPercent(hundredths: 100), at: 7_700)
    #expect(next.isSetByHand && !next.isPercentDirect && next.stageName == "canary")
    #expect(next.sinceMilliseconds == 1_000 && next.attemptSince == 7_700, "windows and hold begin anew")
    let promoted = try changed(machine, next, .promote(to: "canary", force: false), at: 8_000)
    #expect(!promoted.isSetByHand && promoted.attemptSince == 8_000)
    let direct = try changed(planless, planless.freshState(atMilliseconds: 0), .setPercent(hundredths: 5000))
    #expect(
        planless.apply(.setPercent(hundredths: 5000), to: direct, atMilliseconds: 77)
            == .unchanged(direct, warnings: []))
}

@Test(arguments: [0, 50, 100]) func aPercentThatIsNotRaisedLeavesTheRolloutRolledBackAndSaysSo(hundredths: Int) throws {
    for plan in [shippedPlan(), nil] {
        let machine = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
        var back = machine.freshState(atMilliseconds: 0)
        back.percentHundredths = 100
        back.stageIndex = plan.map { _ in 2 }
        back.stageName = plan.map { _ in "canary" }
        back.condition = .rolledBack
        back.conditionReason = "by anna: slow"
        let outcome = machine.apply(
            .setPercent(hundredths: hundredths), to: back, atMilliseconds: 9_000, reason: "by bert")
        guard case .changed(let next, let warnings) = outcome else {
            Issue.record("no event: \(outcome)")
            return
        }
        #expect(next.condition == .rolledBack && next.conditionReason == "by anna: slow")
        #expect(next.percentHundredths == hundredths && next.stateSince == back.stateSince)
        let again = plan == nil ? "set a percent to start again" : "promote it to start again"
        #expect(warnings == ["the rollout stays rolled back: " + again])
        let raised = try changed(machine, next, .setPercent(hundredths: hundredths + 1))
        #expect(raised.condition == .running && raised.isSetByHand)
    }
}

@Test func aPercentThatIsRaisedWarnsAsAPromotionWouldAndIsNotRefused() throws {
    let gates = [
        GateFinding(name: "read_error_rate", verdict: .fail, reason: "3 %"),
        GateFinding(name: "write_p95", verdict: .warmingUp),
    ]
    func said(_ percent: Int) throws -> [String]? {
        warnings(
            machine.apply(
                .setPercent(hundredths: percent), to: try at("half"), atMilliseconds: 9, gates: gates,
                obstacles: ["the way back is closed"], cautions: ["new does not answer"]))
    }
    #expect(try said(8_000) == ["gate read_error_rate fails: 3 %", "new does not answer"])
    #expect(
        try said(10_000) == ["gate read_error_rate fails: 3 %", "the way back is closed", "new does not answer"])
    #expect(try said(5_000) == [])
    #expect(try said(100) == [])
    var plan = shippedPlan()
    plan.promote = .automatic
    let automatic = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    let outcome = automatic.apply(.setPercent(hundredths: 100), to: try at("half"), atMilliseconds: 9)
    #expect(warnings(outcome) == ["set by hand: nothing goes on by itself until it is promoted"])
}

@Test func whoeverPromotesHearsWhatSpeaksAgainstNew() throws {
    let outcome = machine.apply(
        .promote(to: nil, force: false), to: try at("dual-write"), atMilliseconds: 9,
        cautions: WayAhead(newAnswers: false, parkedLegs: 2, parkedLastMilliseconds: 1).cautions)
    #expect(
        warnings(outcome) == [
            "new does not answer; its breaker is open",
            "new lacks what clients were told is saved: 2 legs to new are parked (cutover journal --parked)",
        ])
}

@Test func resumingWarnsOfWhatFailsNow() throws {
    var plan = shippedPlan()
    plan.onBreach = .pause
    plan.promote = .automatic
    let pausing = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    let paused = try changed(pausing, try at("canary"), .pause)
    let failing = [GateFinding(name: "conflict_rate", verdict: .fail, reason: "3 %")]
    let outcome = pausing.apply(.resume, to: paused, atMilliseconds: 9, gates: failing, cautions: ["soon"])
    #expect(
        warnings(outcome) == [
            "gate conflict_rate fails: 3 %", "on_breach is pause: the rollout is paused again as long as that fails",
            "soon",
        ])
    let byHand = try changed(pausing, paused, .setPercent(hundredths: 100))
    #expect(
        warnings(pausing.apply(.resume, to: byHand, atMilliseconds: 9))
            == ["set by hand: nothing goes on by itself until it is promoted"])
    #expect(try changed(pausing, byHand, .resume).isSetByHand)
}

// MARK: Since when

@Test func theStateKnowsSinceWhenItIsWhatItIs() throws {
    let early = try changed(machine, try at("canary"), .promote(to: nil, force: false), at: 5_000)
    #expect(early.stateSince == 0 && early.sinceMilliseconds == 5_000, "it has run all the time")
    let paused = try changed(machine, early, .pause, at: 6_000)
    #expect(paused.stateSince == 6_000 && paused.sinceMilliseconds == 5_000)
    let byHand = try changed(machine, paused, .setPercent(hundredths: 2_000), at: 6_500)
    #expect(byHand.stateSince == 6_000 && byHand.sinceMilliseconds == 6_500)
    let resumed = try changed(machine, byHand, .resume, at: 7_000)
    #expect(resumed.stateSince == 7_000)
    let back = try changed(machine, resumed, .rollback(to: "early"), at: 8_000)
    #expect(back.stateSince == 8_000)
    let further = try changed(machine, back, .rollback(to: nil), at: 9_000)
    #expect(further.stateSince == 9_000, "another rollback, another reason")
    #expect(
        RolloutMachine(plan: nil, configuredShadowHundredths: 0).adopting(back, atMilliseconds: 1).stateSince == 8_000)
}

@Test func aPlanThatOnlyServesNobodyHasNothingToComplete() throws {
    let plan = Plan(name: "p", stages: [Stage(name: "only", percentHundredths: 0)])
    let one = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    let fresh = one.freshState(atMilliseconds: 0)
    #expect(fresh.condition == .running)
    let back = try changed(one, fresh, .rollback(to: nil))
    #expect(try changed(one, back, .setPercent(hundredths: 500)).condition == .running)
    #expect(try changed(one, back, .promote(to: "only", force: false)).condition == .running)
    // Beyond the last stage of a longer one is not its end either.
    let two = RolloutMachine(
        plan: Plan(name: "p", stages: plan.stages + [Stage(name: "some", percentHundredths: 100)]),
        configuredShadowHundredths: 0)
    let end = try changed(two, two.freshState(atMilliseconds: 0), .promote(to: nil, force: false))
    #expect(end.condition == .complete)
    #expect(try changed(two, end, .setPercent(hundredths: 500)).condition == .running)
}

// MARK: Reload

@Test func reloadingTheSamePlanChangesNothing() throws {
    for stage in ["dual-write", "canary", "full"] {
        let state = try at(stage)
        #expect(machine.adopting(state, atMilliseconds: 99) == state)
        let direct = try changed(machine, state, .setPercent(hundredths: 1234))
        #expect(machine.adopting(direct, atMilliseconds: 99) == direct)
        let paused = try changed(machine, direct, .pause)
        #expect(machine.adopting(paused, atMilliseconds: 99) == paused)
    }
}

@Test func aChangedPlanMovesNobody() throws {
    var plan = shippedPlan()
    plan.stages[2].percentHundredths = 500
    plan.stages[2].shadowHundredths = 4000
    plan.stages.remove(at: 1)
    let changedPlan = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    let state = changedPlan.adopting(try at("canary"), atMilliseconds: 50)
    #expect(state.stageName == "canary" && state.stageIndex == 1)
    #expect(state.percentHundredths == 100 && state.isPercentDirect)
    #expect(state.shadowHundredths == 4000 && state.generation == 3 && state.sinceMilliseconds == 1000)
}

@Test func aStageThatIsGoneIsFoundByItsPercent() throws {
    var plan = shippedPlan()
    plan.stages[3].name = "tenth"
    let renamed = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
    let state = renamed.adopting(try at("early"), atMilliseconds: 50)
    #expect(state.stageName == "tenth" && state.percentHundredths == 1000 && state.sinceMilliseconds == 1000)
}

@Test func aFirstPlanBeginsAtItsFirstStage() throws {
    let state = machine.adopting(planless.freshState(atMilliseconds: 0), atMilliseconds: 50)
    #expect(state.stageName == "dual-write" && state.percentHundredths == 0)
    let direct = try changed(planless, planless.freshState(atMilliseconds: 0), .setPercent(hundredths: 5500))
    let adopted = machine.adopting(direct, atMilliseconds: 50)
    #expect(adopted.stageName == "half" && adopted.percentHundredths == 5500 && adopted.isPercentDirect)
}

@Test func aPlanThatIsTakenAwayLeavesThePercent() throws {
    let state = planless.adopting(try at("half"), atMilliseconds: 50)
    #expect(state.planName == nil && state.stageName == nil && state.percentHundredths == 5000)
    #expect(state.isPercentDirect && state.shadowHundredths == 2500 && state.condition == .running)
}

@Test func aRollbackOutlivesAReload() throws {
    let back = try changed(machine, try at("half"), .rollback(to: nil))
    var plan = shippedPlan()
    plan.name = "renamed"
    let state = RolloutMachine(plan: plan, configuredShadowHundredths: 0).adopting(back, atMilliseconds: 50)
    #expect(state.condition == .rolledBack && state.planName == "renamed" && state.generation == back.generation + 1)
}

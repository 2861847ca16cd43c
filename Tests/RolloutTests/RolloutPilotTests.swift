import Testing

@testable import Rollout

/// What goes on by itself.
@Suite struct RolloutPilotTests {
    private func plan(_ onBreach: BreachAction = .rollback, _ mode: PromotionMode = .automatic) -> Plan {
        var plan = shippedPlan()
        plan.onBreach = onBreach
        plan.promote = mode
        return plan
    }

    /// A pilot, its rollout, and a clock; commands are carried out as the driver would.
    private struct Flight {
        let machine: RolloutMachine
        var pilot: RolloutPilot
        var state: RolloutState
        var now: Int64 = 1_000_000
        var gates: [GateFinding] = [GateFinding(name: "read_error_rate", verdict: .pass, side: .new)]
        var hasTraffic = true
        var ahead = WayAhead()
        var actions: [RolloutPilot.Action] = []

        init(_ plan: Plan?, stage: String? = nil) {
            machine = RolloutMachine(plan: plan, configuredShadowHundredths: 0)
            state = machine.freshState(atMilliseconds: now)
            pilot = RolloutPilot(plan: plan, state: state, now: now)
            if let stage, stage != state.stageName { command(.promote(to: stage, force: true)) }
        }

        mutating func command(_ command: RolloutCommand, gates: [GateFinding] = [], reason: String? = nil) {
            if case .changed(let next, _) = machine.apply(
                command, to: state, atMilliseconds: now, reason: reason, gates: gates)
            {
                state = next
            } else {
                Issue.record("\(command) changed nothing")
            }
        }

        mutating func tick(seconds: Int = 1) {
            for _ in 0..<seconds {
                now += 1_000
                let action = pilot.tick(state, gates: gates, ahead: ahead, hasTraffic: hasTraffic, now: now)
                if action != .none { actions.append(action) }
                switch action {
                case .none, .alert: break
                case .rollback(let reason): command(.rollback(to: nil), reason: reason)
                case .pause(let reason): command(.pause, gates: gates, reason: reason)
                case .promote: command(.promote(to: nil, force: false), gates: gates)
                }
            }
        }

        mutating func fail(_ name: String = "read_error_rate", side: Side? = .new) {
            gates = [
                GateFinding(name: name, verdict: .fail, reason: "3.1 % of 412 reads of new, limit 0.5 %", side: side)
            ]
        }

        mutating func pass() { gates = [GateFinding(name: "read_error_rate", verdict: .pass, side: .new)] }

        var next: NextStep? { pilot.nextStep(state, gates: gates, ahead: ahead) }
    }

    // MARK: Promotion

    @Test func aStageThatWasHeldAndPassesIsPromotedUpToTheLastOne() {
        var flight = Flight(plan(), stage: "shadow")
        flight.tick(seconds: 3_600)
        #expect(flight.state.stageName == "shadow", "the first tick only begins to count")
        flight.tick(seconds: 2)
        #expect(flight.state.stageName == "canary")
        flight.tick(seconds: 2 * 3_600 + 4 * 3_600 + 12 * 3_600 + 10)
        #expect(flight.state.stageName == "full" && flight.state.condition == .complete && flight.next == nil)
        #expect(flight.actions.count == 4)
    }

    /// What another gateway says holds the step here; what is done about it is that gateway's.
    @Test func aGateThatFailsAtAnotherGatewayHoldsTheStepAndIsNoBreachHere() {
        var flight = Flight(plan(), stage: "canary")
        flight.gates.append(GateFinding(name: "read_error_rate", verdict: .fail, side: .new, gateway: "b:9900"))
        flight.tick(seconds: 9_000)
        #expect(flight.actions == [] && flight.state.stageName == "canary")
        #expect(flight.next?.blockedBy == ["gateway b:9900 says: gate read_error_rate fails"])
        flight.gates.removeLast()
        flight.tick(seconds: 1)
        #expect(flight.state.stageName == "early")
    }

    @Test(arguments: [GateVerdict.insufficient, .warmingUp]) func nothingButAPassPromotes(verdict: GateVerdict) {
        var flight = Flight(plan(.alert), stage: "canary")
        flight.gates.append(GateFinding(name: "conflict_rate", verdict: verdict, reason: "why"))
        flight.tick(seconds: 9_000)
        #expect(flight.state.stageName == "canary")
        #expect(flight.next?.blockedBy.count == 1 && flight.next?.isReady == false)
        flight.gates.removeLast()
        flight.tick()
        #expect(flight.state.stageName == "early")
    }

    @Test func aGateThatTheStageCannotShowHoldsNothingUp() {
        var flight = Flight(plan(), stage: "shadow")
        flight.gates.append(GateFinding(name: "fallback_rate", verdict: .insufficient, isApplicable: false))
        flight.tick(seconds: 3_602)
        #expect(flight.state.stageName == "canary")
    }

    @Test func timeWithoutTrafficIsNoTimeUnderLoad() {
        var flight = Flight(plan(), stage: "shadow")
        flight.hasTraffic = false
        flight.tick(seconds: 10_000)
        #expect(flight.state.stageName == "shadow" && flight.next?.heldMilliseconds == 0)
        #expect(flight.next?.idleMilliseconds == 9_999_000)
        #expect(flight.next?.blockedBy.first?.contains("without traffic does not count") == true)
        flight.hasTraffic = true
        flight.tick(seconds: 3_600)
        #expect(flight.state.stageName == "canary" && flight.pilot.plan != nil)
    }

    @Test func aStageWithoutHoldWaitsForTrafficAllTheSame() {
        var flight = Flight(plan())
        flight.hasTraffic = false
        flight.tick(seconds: 100)
        #expect(flight.state.stageName == "dual-write")
        #expect(flight.next?.blockedBy == ["there has been no traffic in this stage"])
        flight.hasTraffic = true
        flight.tick(seconds: 2)
        #expect(flight.state.stageName == "shadow")
    }

    @Test func aProcessThatStoodStillHasHeldNothingMeanwhile() {
        var flight = Flight(plan(), stage: "shadow")
        flight.tick(seconds: 10)
        flight.now += 100_000_000
        flight.tick(seconds: 10)
        #expect(flight.next?.heldMilliseconds == 18_000)
    }

    @Test func whatAStageWasHeldBeforeARestartCounts() {
        let flight = Flight(plan(), stage: "shadow")
        var again = flight
        again.pilot = RolloutPilot(plan: plan(), state: flight.state, underLoadMilliseconds: 3_599_000, now: flight.now)
        again.tick()
        #expect(again.state.stageName == "canary")
    }

    @Test func byHandNothingIsPromotedAndTheWaitIsCountedApart() {
        var flight = Flight(plan(.rollback, .manual), stage: "shadow")
        flight.tick(seconds: 3_601)
        #expect(flight.next?.isReady == true && flight.next?.waitingMilliseconds == 0)
        flight.tick(seconds: 500)
        #expect(flight.state.stageName == "shadow" && flight.actions.isEmpty)
        #expect(flight.next?.waitingMilliseconds == 500_000 && flight.next?.heldMilliseconds == 3_600_000)
    }

    @Test func aPauseHoldsPromotionAndNotTheGates() {
        var flight = Flight(plan(), stage: "early")
        flight.command(.pause, reason: "by anna: lunch")
        flight.tick(seconds: 20_000)
        #expect(
            flight.state.stageName == "early"
                && flight.next?.blockedBy.first == "the rollout is paused (by anna: lunch)")
        flight.fail()
        flight.tick()
        #expect(flight.state.condition == .rolledBack && flight.state.percentHundredths == 0)
    }

    @Test(arguments: [1_000, 2_000, 5_000]) func aPercentSetByHandIsNotRunOverWhateverNumberItIs(percent: Int) {
        var flight = Flight(plan(), stage: "early")
        flight.tick(seconds: 14_000)
        flight.command(.setPercent(hundredths: percent))
        flight.tick(seconds: 50_000)
        #expect(flight.state.percentHundredths == percent && flight.next?.blockedBy.first?.contains("by hand") == true)
        #expect(flight.next?.mode == .manual)
        // By name the plan goes on from here, and holds the stage first.
        flight.command(.setPercent(hundredths: 5_000))
        flight.command(.promote(to: "half", force: false))
        #expect(flight.next?.mode == .automatic && flight.next?.heldMilliseconds == 0)
        flight.tick(seconds: 43_200)
        #expect(flight.state.stageName == "half")
        flight.tick(seconds: 2)
        #expect(flight.state.stageName == "full")
    }

    @Test func afterARollbackOnlyAPromotionStartsTheAutomatic() {
        var flight = Flight(plan(), stage: "early")
        flight.command(.rollback(to: nil))
        flight.tick(seconds: 10)
        for percent in [0, 500, 100] {
            flight.command(.setPercent(hundredths: percent))
            flight.tick(seconds: 100_000)
            #expect(flight.state.percentHundredths == percent && flight.actions.isEmpty)
        }
        flight.command(.rollback(to: nil))
        flight.tick(seconds: 100_000)
        #expect(
            flight.next?.mode == .manual
                && flight.next?.blockedBy == [
                    "the rollout is rolled back: promote it to start again"
                ])
        // In the stage where it has been for a day: none of that counts for the new attempt.
        flight.command(.promote(to: "dual-write", force: false))
        #expect(flight.state.attemptSince == flight.now && flight.next?.heldMilliseconds == 0)
        flight.tick(seconds: 2)
        #expect(flight.state.stageName == "shadow")
        flight.tick(seconds: 3_500)
        #expect(flight.state.stageName == "shadow")
    }

    @Test func aRolledBackRolloutSaysOnlyWhatRefusesANewAttempt() {
        var flight = Flight(plan(.alert), stage: "early")
        flight.command(.rollback(to: nil))
        flight.ahead.newAnswers = false
        flight.gates = [
            GateFinding(name: "read_error_rate", verdict: .warmingUp), GateFinding(name: "journal_lag", verdict: .fail),
        ]
        flight.tick()
        #expect(
            flight.next?.blockedBy.map { String($0.prefix(24)) } == [
                "new does not answer; its", "the rollout is rolled ba", "gate journal_lag fails",
            ])
    }

    @Test func withoutAGateNothingGoesByItselfAndThatIsSaid() {
        var flight = Flight(plan(), stage: "shadow")
        flight.gates = []
        flight.tick(seconds: 10_000)
        #expect(flight.state.stageName == "shadow" && flight.actions.isEmpty)
        #expect(flight.next?.mode == .manual && flight.next?.isReady == false)
        #expect(flight.next?.blockedBy == ["the plan has no gate: nothing judges whether new is well"])
    }

    @Test func aNewThatDoesNotAnswerHoldsTheStepAndIsSaidFirst() {
        var flight = Flight(plan(), stage: "shadow")
        flight.ahead.newAnswers = false
        flight.tick(seconds: 5_000)
        #expect(flight.state.stageName == "shadow")
        #expect(flight.next?.blockedBy == ["new does not answer; its breaker is open"])
        flight.ahead.newAnswers = true
        flight.tick()
        #expect(flight.state.stageName == "canary")
    }

    @Test func whatNewRefusedSinceTheStageBeganHoldsTheStepAndWhatWasKnownBeforeDoesNot() {
        var flight = Flight(plan(), stage: "shadow")
        flight.ahead = WayAhead(parkedLegs: 111, parkedLastMilliseconds: flight.now - 1)
        flight.tick(seconds: 3_602)
        #expect(flight.state.stageName == "canary")
        flight.ahead = WayAhead(parkedLegs: 112, parkedLastMilliseconds: flight.now)
        flight.tick(seconds: 20_000)
        #expect(flight.state.stageName == "canary")
        #expect(flight.next?.blockedBy.count == 1 && flight.next?.blockedBy[0].contains("112 legs") == true)
        flight.ahead = WayAhead(parkedLegs: 111, parkedLastMilliseconds: 0)
        flight.tick()
        #expect(flight.state.stageName == "early")
    }

    // MARK: A hold is time under load that was well

    @Test func aFailingGateBeginsTheHoldAnewWhenItPassesAgain() {
        var flight = Flight(plan(.alert), stage: "canary")
        flight.tick(seconds: 7_000)
        flight.fail()
        flight.tick(seconds: 9_000)
        #expect(flight.next?.heldMilliseconds == 0)
        #expect(flight.next?.blockedBy.first?.hasSuffix(", from when gate read_error_rate passes again") == true)
        flight.gates = [GateFinding(name: "read_error_rate", verdict: .insufficient, side: .new)]
        flight.tick(seconds: 9_000)
        #expect(flight.next?.heldMilliseconds == 0, "above the limit by chance is not well again")
        flight.pass()
        flight.tick(seconds: 7_200)
        #expect(flight.state.stageName == "canary")
        flight.tick(seconds: 2)
        #expect(flight.state.stageName == "early")
    }

    @Test func aGateThatTheStageCannotShowAnyMoreIsNotWaitedFor() {
        var flight = Flight(plan(.alert), stage: "canary")
        flight.fail("fallback_rate")
        flight.tick(seconds: 5)
        flight.gates = [
            GateFinding(name: "conflict_rate", verdict: .pass),
            GateFinding(name: "fallback_rate", verdict: .insufficient, isApplicable: false),
        ]
        flight.tick(seconds: 7_203)
        #expect(flight.state.stageName == "early")
    }

    @Test func timeInWhichTheRolloutIsPausedIsNoHold() {
        var flight = Flight(plan(), stage: "canary")
        flight.tick(seconds: 101)
        flight.command(.pause)
        flight.tick(seconds: 50_000)
        #expect(flight.next?.heldMilliseconds == 100_000 && flight.next?.mode == .manual)
        flight.command(.resume)
        flight.tick(seconds: 7_099)
        #expect(flight.state.stageName == "canary")
        flight.tick(seconds: 2)
        #expect(flight.state.stageName == "early")
    }

    @Test func afterABreachThatPausedTheStageIsHeldAnew() {
        var flight = Flight(plan(.pause), stage: "canary")
        flight.tick(seconds: 7_000)
        flight.fail()
        flight.tick(seconds: 100)
        #expect(flight.state.condition == .paused)
        // Over a restart, too: what the history knows from before the breach counts no more.
        #expect(flight.state.heldFrom > flight.state.attemptSince)
        flight.pass()
        flight.tick(seconds: 9_000)
        flight.command(.resume)
        flight.tick(seconds: 7_199)
        #expect(flight.state.stageName == "canary" && flight.state.condition == .running)
        flight.tick(seconds: 2)
        #expect(flight.state.stageName == "early")
    }

    @Test func whoeverLetsARolloutGoOnIsToldWhenTheNextStepComes() {
        var flight = Flight(plan(), stage: "canary")
        flight.tick(seconds: 3_601)
        let held =
            "stage early (10 %) comes by itself when nothing holds it any more: stage canary is held for 1 h more"
        #expect(flight.next?.outlook == held)
        flight.gates = []
        #expect(flight.next?.outlook == nil)
        var ready = Flight(plan())
        ready.gates.append(GateFinding(name: "conflict_rate", verdict: .insufficient, reason: "why"))
        ready.tick(seconds: 3)
        ready.gates.removeLast()
        #expect(ready.next?.outlook == "stage shadow (0 %) comes by itself at once")
    }

    // MARK: Breach

    @Test(arguments: ["canary", "early", "half", "full"]) func aBreachRollsBackFromEveryStageWithItsReason(
        stage: String
    ) {
        var flight = Flight(plan(), stage: stage)
        flight.tick(seconds: 5)
        flight.fail()
        flight.tick()
        #expect(flight.state.percentHundredths == 0 && flight.state.stageName == "dual-write")
        #expect(flight.state.conditionReason == "gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %")
        flight.gates = [GateFinding(name: "read_error_rate", verdict: .pass)]
        flight.tick(seconds: 100_000)
        #expect(flight.state.stageName == "dual-write" && flight.actions.count == 1, "nothing advances by itself")
    }

    @Test func aBreachWhileAPersonIsWaitedForStillActs() {
        var flight = Flight(plan(.rollback, .manual), stage: "early")
        flight.tick(seconds: 15_000)
        #expect(flight.next?.isReady == true)
        flight.fail()
        flight.tick()
        #expect(flight.state.condition == .rolledBack)
    }

    @Test func anotherAttemptIsHeldAnew() {
        var flight = Flight(plan(), stage: "early")
        flight.tick(seconds: 5_000)
        flight.fail()
        flight.tick()
        flight.gates = [GateFinding(name: "read_error_rate", verdict: .pass)]
        flight.command(.promote(to: "early", force: false))
        #expect(flight.state.conditionReason == nil)
        flight.tick(seconds: 5)
        #expect(flight.next?.heldMilliseconds == 4_000)
        flight.fail()
        flight.tick()
        #expect(flight.state.condition == .rolledBack, "the second attempt is judged as the first one was")
    }

    @Test func aBreachPausesOrAlertsAsThePlanSays() {
        var pausing = Flight(plan(.pause), stage: "early")
        pausing.fail()
        pausing.tick(seconds: 10)
        #expect(pausing.state.condition == .paused && pausing.state.percentHundredths == 1_000)
        #expect(pausing.actions.count == 2, "paused once, and said once that it still fails")
        var alerting = Flight(plan(.alert), stage: "early")
        alerting.fail()
        alerting.tick(seconds: 10)
        #expect(alerting.state.condition == .running && alerting.actions.count == 1)
        alerting.gates = [GateFinding(name: "read_error_rate", verdict: .pass)]
        alerting.tick()
        alerting.fail()
        alerting.tick(seconds: 3)
        #expect(alerting.actions.count == 2, "a new breach is said again")
    }

    @Test func whereGoingBackCannotHelpOnlyAnAlertGoesOut() {
        for (stage, side) in [("dual-write", Side.new), ("shadow", .new), ("early", .legacy)] {
            var flight = Flight(plan(), stage: stage)
            flight.fail(side: side)
            flight.tick(seconds: 5)
            #expect(flight.state.stageName == stage && flight.actions.count == 1, "\(stage) \(side)")
        }
        var ended = Flight(plan(), stage: "full")
        ended.command(.stopLegacy)
        #expect(!ended.state.legacyWrites)
        ended.fail()
        ended.tick(seconds: 5)
        #expect(ended.state.percentHundredths == 10_000 && ended.actions.count == 1)
    }

    @Test func withoutAPlanNothingGoesByItself() {
        var flight = Flight(nil)
        flight.command(.setPercent(hundredths: 5_000))
        flight.fail()
        flight.tick(seconds: 100)
        #expect(flight.actions.isEmpty && flight.next == nil)
    }

    @Test func aReloadedPlanGoesOnWithTheTimeThatWasHeld() {
        var flight = Flight(plan(), stage: "shadow")
        flight.tick(seconds: 1_801)
        var shorter = plan()
        shorter.stages[1].holdSeconds = 1_801
        flight.pilot = flight.pilot.with(plan: shorter)
        flight.tick()
        #expect(flight.state.stageName == "canary")
    }
}

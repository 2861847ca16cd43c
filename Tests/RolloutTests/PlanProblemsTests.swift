import Rollout
import Testing

/// The plan that is shipped, shortened: zero, zero, one, ten, half, all.
func shippedPlan() -> Plan {
    Plan(
        name: "my-migration",
        stages: [
            Stage(name: "dual-write", percentHundredths: 0, shadowHundredths: 0),
            Stage(name: "shadow", percentHundredths: 0, holdSeconds: 3600),
            Stage(name: "canary", percentHundredths: 100, holdSeconds: 7200),
            Stage(name: "early", percentHundredths: 1000, holdSeconds: 14_400),
            Stage(name: "half", percentHundredths: 5000, holdSeconds: 43_200),
            Stage(name: "full", percentHundredths: 10_000, holdSeconds: 604_800),
        ])
}

/// Where the problems of a plan are, as `stage index or -1, key`.
private func places(_ plan: Plan) -> [String] {
    plan.problems().map { "\($0.stageIndex ?? -1) \($0.key)" }
}

@Test func theShippedPlanWorks() {
    var plan = shippedPlan()
    plan.gates.readErrorRate = 0.005
    plan.gates.writeP95Seconds = 0.3
    plan.gates.journalLagSeconds = 30
    #expect(plan.problems() == [])
}

@Test func aPlanNeedsANameAndStages() {
    #expect(places(Plan(name: "", stages: [])) == ["-1 name", "-1 stages"])
}

@Test func stagesNeedNamesOfTheirOwn() {
    var plan = shippedPlan()
    plan.stages[1].name = ""
    plan.stages[4].name = "canary"
    #expect(places(plan) == ["1 name", "4 name"])
}

@Test func aPlanOnlyGoesUp() {
    var plan = shippedPlan()
    plan.stages[4].percentHundredths = 500
    #expect(places(plan) == ["4 percent"])
    #expect(plan.problems().first?.message.contains("early") == true)
}

@Test func sharesAreFromNothingToEverything() {
    var plan = shippedPlan()
    plan.stages[5].percentHundredths = 10_001
    plan.stages[2].shadowHundredths = -1
    #expect(places(plan) == ["2 shadow", "5 percent"])
}

@Test func newServesNobodyWithoutDualWrite() {
    var plan = shippedPlan()
    plan.stages[5].dualWrite = false
    #expect(places(plan) == ["5 dual_write"])
}

@Test func dualWriteMayBeginLateButMustNotStop() {
    var plan = shippedPlan()
    plan.stages[0].dualWrite = false
    #expect(plan.problems() == [])
    plan = shippedPlan()
    plan.stages[1].dualWrite = false
    #expect(places(plan) == ["1 dual_write"])
}

@Test func thereMustBeAStageToRollBackTo() {
    var plan = shippedPlan()
    plan.stages.removeFirst(2)
    #expect(places(plan) == ["-1 stages"])
    plan = shippedPlan()
    plan.stages[0].dualWrite = false
    plan.stages[1].dualWrite = false
    #expect(places(plan) == ["-1 stages"])
}

@Test func timesAndCountsAreSensible() {
    var plan = shippedPlan()
    plan.stages[1].holdSeconds = -1
    plan.windowSeconds = 0
    plan.minSamples = 0
    plan.keepSeconds = -1
    plan.rollbackWindowSeconds = -1
    #expect(places(plan) == ["1 hold", "-1 window", "-1 min_samples", "-1 keep", "-1 rollback_window"])
}

@Test func gatesAreWithinTheirRange() {
    var plan = shippedPlan()
    plan.gates.readErrorRate = 1.5
    plan.gates.conflictRate = -0.1
    plan.gates.fallbackRate = .nan
    plan.gates.mismatchRate = 0
    plan.gates.writeP95Seconds = 0
    plan.gates.journalLagSeconds = .infinity
    #expect(
        places(plan) == [
            "-1 gates.read_error_rate", "-1 gates.conflict_rate", "-1 gates.fallback_rate", "-1 gates.write_p95",
            "-1 gates.journal_lag",
        ])
}

@Test func automaticPromotionNeedsAGate() {
    var plan = shippedPlan()
    plan.promote = .automatic
    #expect(places(plan) == ["-1 promote"])
    #expect(plan.problems().first?.message.contains("at least one gate") == true)
    plan.gates.journalLagSeconds = 30
    #expect(plan.problems() == [] && plan.remarks() == [])
    // By hand it is allowed, and said.
    #expect(shippedPlan().problems() == [] && shippedPlan().remarks().map(\.key) == ["gates"])
}

@Test func legacyIsKeptAtLeastForTheLastHold() {
    var plan = shippedPlan()
    plan.gates.journalLagSeconds = 30
    plan.keepSeconds = 3
    #expect(places(plan) == ["-1 keep"])
    let message = plan.problems()[0].message
    #expect(message.contains("3s") && message.contains("full (7d)"), "\(message)")
    plan.keepSeconds = 7 * 86_400
    #expect(plan.problems() == [])
    plan.keepSeconds = 0
    plan.stages[5].holdSeconds = 0
    #expect(plan.problems() == [] && plan.remarks().map(\.key) == ["keep"])
    // A plan that does not end at 100 % never gives legacy up.
    plan.stages[5].percentHundredths = 9_000
    plan.stages[5].holdSeconds = 60
    #expect(plan.problems() == [] && plan.remarks() == [])
}

@Test func allProblemsAreFoundAtOnce() {
    var plan = shippedPlan()
    plan.name = ""
    plan.stages[3].percentHundredths = 50
    plan.stages[3].dualWrite = false
    plan.windowSeconds = -5
    #expect(places(plan) == ["-1 name", "3 percent", "3 dual_write", "-1 window"])
}

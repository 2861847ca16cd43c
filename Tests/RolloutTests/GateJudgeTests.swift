import Testing

@testable import Rollout

/// What the gates say, by what was counted.
@Suite struct GateJudgeTests {
    private let plan: Plan = {
        var plan = shippedPlan()
        plan.gates.readErrorRate = 0.005
        plan.gates.writeP95Seconds = 0.3
        plan.gates.conflictRate = 0.01
        plan.gates.fallbackRate = 0.005
        plan.gates.mismatchRate = 0.001
        plan.gates.journalLagSeconds = 30
        return plan
    }()

    private func state(percent hundredths: Int, shadow: Int = 10_000) -> RolloutState {
        var state = RolloutMachine(plan: plan, configuredShadowHundredths: 0).freshState(atMilliseconds: 0)
        state.percentHundredths = hundredths
        state.shadowHundredths = shadow
        return state
    }

    /// Everything is well, seen over a full window.
    private func healthy() -> GateEvidence {
        var evidence = GateEvidence()
        evidence.legacyReads = Tally(0, of: 10_000)
        evidence.newReads = Tally(0, of: 10_000)
        evidence.legacyWrites = waits(0.02, count: 1_000)
        evidence.newWrites = waits(0.02, count: 1_000)
        evidence.conflicts = Tally(0, of: 2_000)
        evidence.fallbacks = Tally(0, of: 10_000)
        evidence.mismatches = Tally(0, of: 10_000)
        evidence.coveredSeconds = 300
        return evidence
    }

    /// So many waits, all alike, and some longer ones.
    private func waits(_ seconds: Double, count: UInt64, slow: UInt64 = 0, at slowSeconds: Double = 1) -> WaitTimes {
        WaitTimes(
            count: count,
            quantile: { quantile in
                count == 0 ? nil : Double(count - slow) >= quantile * Double(count) ? seconds : slowSeconds
            },
            countAbove: { limit in (seconds > limit ? count - slow : 0) + (slowSeconds > limit ? slow : 0) })
    }

    private func findings(_ evidence: GateEvidence, percent: Int = 1_000, shadow: Int = 10_000, plan: Plan? = nil)
        -> [String: GateFinding]
    {
        let found = GateJudge(plan: plan ?? self.plan).judge(evidence, in: state(percent: percent, shadow: shadow))
        return Dictionary(uniqueKeysWithValues: found.map { ($0.name, $0) })
    }

    @Test func whatIsWellPassesWithAFullWindowOnly() {
        #expect(findings(healthy()).values.allSatisfy { $0.verdict == .pass && $0.isApplicable && $0.isGate })
        var young = healthy()
        young.coveredSeconds = 299
        #expect(findings(young).values.allSatisfy { $0.verdict == .warmingUp })
        #expect(findings(young)["conflict_rate"]?.reason.contains("not full yet") == true)
    }

    @Test func noTrafficIsNeitherHealthNorFailure() {
        var nothing = GateEvidence()
        nothing.coveredSeconds = 300
        for (name, finding) in findings(nothing) where name != "journal_lag" {
            #expect(finding.verdict == .insufficient && finding.value == nil && finding.samples == 0, "\(name)")
        }
    }

    @Test func oneErrorAmongTwentyFailsNobody() {
        var plan = plan
        plan.minSamples = 20
        var evidence = healthy()
        evidence.newReads = Tally(1, of: 20)
        let finding = findings(evidence, plan: plan)["read_error_rate"]
        #expect(finding?.verdict == .insufficient && finding?.reason.contains("chance") == true)
    }

    @Test(arguments: ["read_error_rate", "conflict_rate", "fallback_rate", "mismatch_rate"])
    func aProvenShareFailsAtOnceAndTheReasonHasTheNumbers(name: String) {
        var evidence = healthy()
        evidence.coveredSeconds = 3
        let bad = Tally(40, of: 400)
        switch name {
        case "read_error_rate": evidence.newReads = bad
        case "conflict_rate": evidence.conflicts = bad
        case "fallback_rate": evidence.fallbacks = bad
        default: evidence.mismatches = bad
        }
        let found = findings(evidence)
        #expect(found[name]?.verdict == .fail)
        #expect(found[name]?.reason.hasPrefix("10 % of 400 ") == true && found[name]?.reason.contains("limit") == true)
        #expect(found.values.filter { $0.verdict == .fail }.count == 1)
    }

    @Test func beforeMinSamplesNothingFails() {
        var evidence = healthy()
        evidence.conflicts = Tally(199, of: 199)
        #expect(findings(evidence)["conflict_rate"]?.verdict == .insufficient)
        evidence.conflicts = Tally(200, of: 200)
        #expect(findings(evidence)["conflict_rate"]?.verdict == .fail)
    }

    @Test func slowWritesFailWhenMoreThanOneInTwentyIsProvenToBeSlow() {
        var evidence = healthy()
        evidence.newWrites = waits(0.02, count: 400, slow: 60)
        #expect(findings(evidence)["write_p95"]?.verdict == .fail)
        evidence.newWrites = waits(0.02, count: 400, slow: 22)
        #expect(findings(evidence)["write_p95"]?.verdict == .insufficient)
        evidence.newWrites = waits(0.02, count: 400, slow: 20)
        #expect(findings(evidence)["write_p95"]?.verdict == .pass)
    }

    @Test func aGateLooksAtNewOnceNewHasEnoughAndElseAtLegacyWhichProvesNothingAboutNew() {
        var evidence = healthy()
        evidence.newReads = Tally(199, of: 199)
        let few = findings(evidence)["read_error_rate"]
        #expect(few?.side == .legacy && few?.verdict == .insufficient)
        #expect(few?.reason == "new failed 199 of its 199 reads so far, too few to judge (200 are needed)")
        // Nobody is on new, and nothing is shadowed: legacy's figure is all that there is to look at.
        #expect(findings(evidence, percent: 0, shadow: 0)["read_error_rate"]?.verdict == .pass)
        evidence.newReads = Tally(200, of: 200)
        #expect(findings(evidence)["read_error_rate"]?.side == .new)
        #expect(findings(evidence)["read_error_rate"]?.verdict == .fail)
    }

    @Test func whatAStageCannotShowHoldsNothingUp() {
        var evidence = healthy()
        evidence.newReads = Tally()
        evidence.newWrites = .none
        evidence.fallbacks = Tally()
        evidence.mismatches = Tally()
        let found = findings(evidence, percent: 0, shadow: 0)
        #expect(found["fallback_rate"]?.isApplicable == false && found["mismatch_rate"]?.isApplicable == false)
        #expect(found["fallback_rate"]?.verdict == .insufficient, "nothing passes by having no sample")
        #expect(found["read_error_rate"]?.isApplicable == true && found["journal_lag"]?.verdict == .pass)
        // A user pinned to new falls back again and again: that counts in any stage.
        evidence.fallbacks = Tally(300, of: 300)
        #expect(findings(evidence, percent: 0, shadow: 0)["fallback_rate"]?.verdict == .fail)
    }

    @Test func newIsJudgedAgainstLegacyOfTheSameMinutes() {
        var plan = plan
        plan.gates.readErrorRate = nil
        plan.gates.readErrorRateOverLegacy = 0.002
        var evidence = healthy()
        // Both fail alike: whatever it is, it is not new.
        evidence.legacyReads = Tally(500, of: 10_000)
        evidence.newReads = Tally(150, of: 3_000)
        #expect(findings(evidence, plan: plan)["read_error_rate"]?.verdict == .pass)
        evidence.newReads = Tally(300, of: 3_000)
        let worse = findings(evidence, plan: plan)["read_error_rate"]
        #expect(worse?.verdict == .fail)
        #expect(
            worse?.reason.contains("10 % of 3000 reads of new, 5 % of 10000 of legacy, limit 0.2 % over legacy") == true
        )
        evidence.newReads = Tally(165, of: 3_000)
        #expect(findings(evidence, plan: plan)["read_error_rate"]?.verdict == .insufficient)
        evidence.legacyReads = Tally(0, of: 100)
        evidence.newReads = Tally(0, of: 3_000)
        #expect(
            findings(evidence, plan: plan)["read_error_rate"]?.verdict == .insufficient, "no control, no comparison")
    }

    @Test func atAHundredPercentThereIsNoControlAndTheOwnLimitDecides() {
        var plan = plan
        plan.gates.readErrorRateOverLegacy = 0.002
        plan.gates.writeP95OverLegacy = 1.5
        var evidence = healthy()
        evidence.legacyReads = Tally()
        evidence.legacyWrites = .none
        #expect(findings(evidence, percent: 10_000, plan: plan)["read_error_rate"]?.verdict == .pass)
        #expect(findings(evidence, percent: 10_000, plan: plan)["write_p95"]?.verdict == .pass)
        #expect(findings(evidence, percent: 5_000, plan: plan)["write_p95"]?.verdict == .insufficient)
    }

    @Test func slowerThanLegacyByTheFactorFails() {
        var plan = plan
        plan.gates.writeP95OverLegacy = 1.5
        var evidence = healthy()
        evidence.legacyWrites = waits(0.1, count: 2_000)
        evidence.newWrites = waits(0.14, count: 1_000)
        #expect(findings(evidence, plan: plan)["write_p95"]?.verdict == .pass)
        evidence.newWrites = waits(0.16, count: 1_000)
        let slower = findings(evidence, plan: plan)["write_p95"]
        #expect(slower?.verdict == .fail && slower?.reason.contains("limit 1.5 × legacy") == true)
        // Legacy is as slow: nobody is failed for it by comparison, but 0.3 s is a limit of its own.
        evidence.legacyWrites = waits(0.5, count: 2_000)
        evidence.newWrites = waits(0.5, count: 1_000)
        #expect(findings(evidence, plan: plan)["write_p95"]?.reason.contains("limit 300 ms") == true)
    }

    @Test func theLagIsNoStatistic() {
        var evidence = healthy()
        evidence.newLagSeconds = 30
        #expect(findings(evidence)["journal_lag"]?.verdict == .pass)
        evidence.legacyLagSeconds = 31
        evidence.coveredSeconds = 0
        let behind = findings(evidence)["journal_lag"]
        #expect(behind?.verdict == .fail && behind?.side == .legacy && behind?.value == 31)
    }

    @Test func withoutAThresholdNothingIsAGateAndNothingFails() {
        var evidence = healthy()
        evidence.newReads = Tally(10_000, of: 10_000)
        evidence.newLagSeconds = 1e9
        var plan = plan
        plan.gates = Gates()
        #expect(findings(evidence, plan: plan).values.allSatisfy { !$0.isGate && $0.verdict != .fail })
    }
}

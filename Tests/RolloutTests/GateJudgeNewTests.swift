import Testing

@testable import Rollout

/// What the gates say of new while it answers little, or nobody.
@Suite struct GateJudgeNewTests {
    private let plan: Plan = {
        var plan = shippedPlan()
        plan.gates.readErrorRate = 0.005
        plan.gates.writeP95Seconds = 0.3
        plan.gates.mismatchRate = 0.001
        plan.minSamples = 40
        return plan
    }()

    private func finding(
        _ name: String, percent hundredths: Int, shadow: Int = 10_000, covered: Double = 300,
        _ change: (inout GateEvidence) -> Void
    ) throws -> GateFinding {
        var evidence = GateEvidence()
        evidence.legacyReads = Tally(0, of: 10_000)
        evidence.coveredSeconds = covered
        change(&evidence)
        var state = RolloutMachine(plan: plan, configuredShadowHundredths: 0).freshState(atMilliseconds: 0)
        state.percentHundredths = hundredths
        state.shadowHundredths = shadow
        return try #require(GateJudge(plan: plan).judge(evidence, in: state).first { $0.name == name })
    }

    // MARK: Kept away by the breaker

    @Test func whatTheOpenBreakerKeepsAwayFromNewHasNewFailed() throws {
        let dead = try finding("read_error_rate", percent: 5_000, covered: 4) {
            $0.newReads = Tally(20, of: 60)
            $0.keptAwayReads = 340
        }
        #expect(dead.verdict == .fail && dead.side == .new && dead.samples == 400 && dead.value == 0.9)
        #expect(
            dead.reason == "90 % of 400 reads of new, of them 340 kept away by its open breaker, limit 0.5 %")
    }

    @Test func aLonelyProbeAMinuteDoesNotKeepADeadNewBelowMinSamples() throws {
        let dead = try finding("read_error_rate", percent: 100) {
            $0.newReads = Tally(3, of: 3)
            $0.keptAwayReads = 37
        }
        #expect(dead.verdict == .fail)
    }

    // MARK: Shadow stages

    @Test func inAShadowStageNewIsJudgedByItsShadowReads() throws {
        let bad = try finding("read_error_rate", percent: 0, covered: 4) { $0.shadowReads = Tally(120, of: 400) }
        #expect(bad.verdict == .fail && bad.side == .new)
        #expect(bad.reason == "30 % of 400 shadow reads of new, limit 0.5 %")
        let well = try finding("read_error_rate", percent: 0) { $0.shadowReads = Tally(0, of: 400) }
        #expect(well.verdict == .pass && well.reason == "0 % of 400 shadow reads of new, limit 0.5 %")
    }

    @Test func aShadowStageDoesNotPassByLegacysReads() throws {
        let few = try finding("read_error_rate", percent: 0) { $0.shadowReads = Tally(5, of: 10) }
        #expect(few.verdict == .insufficient)
        #expect(few.reason == "new failed 5 of its 10 shadow reads so far, too few to judge (40 are needed)")
        let none = try finding("read_error_rate", percent: 0) { _ in }
        #expect(none.verdict == .insufficient && none.reason == "new has had no read yet (40 are needed)")
        #expect(try finding("read_error_rate", percent: 0, shadow: 0) { _ in }.verdict == .pass)
    }

    @Test func aDeadNewFailsAShadowStageAlthoughItsBreakerLetsFewThrough() throws {
        let dead = try finding("read_error_rate", percent: 0) {
            $0.shadowReads = Tally(20, of: 20)
            $0.keptAwayShadowReads = 380
            $0.droppedShadowReads = 380
            $0.failedShadowReads = 20
        }
        #expect(dead.verdict == .fail)
        #expect(
            dead.reason
                == "100 % of 400 shadow reads of new, of them 380 kept away by its open breaker, limit 0.5 %")
    }

    @Test func shadowReadsSayNothingOnceUsersAreOnNew() throws {
        let users = try finding("read_error_rate", percent: 100) {
            $0.newReads = Tally(0, of: 400)
            $0.shadowReads = Tally(400, of: 400)
        }
        #expect(users.verdict == .pass && users.samples == 400)
    }

    @Test func usersPinnedToNewDoNotHideWhatShadowReadsShow() throws {
        let pinned = try finding("read_error_rate", percent: 0) {
            $0.newReads = Tally(0, of: 400)
            $0.shadowReads = Tally(120, of: 400)
        }
        #expect(pinned.verdict == .fail && pinned.reason.hasPrefix("15 % of 800 reads, shadow ones too, of new"))
    }

    // MARK: What could not be compared

    @Test func aMismatchRatioOfASelectionDoesNotPass() throws {
        let selected = try finding("mismatch_rate", percent: 0) {
            $0.mismatches = Tally(0, of: 900)
            $0.droppedShadowReads = 40
            $0.failedShadowReads = 60
        }
        #expect(selected.verdict == .insufficient)
        #expect(
            selected.reason
                == "10 % of 1000 shadow reads could not be compared (40 dropped, 60 failed); "
                + "of the others: 0 % of 900 shadow reads, limit 0.1 %")
        let few = try finding("mismatch_rate", percent: 0) {
            $0.mismatches = Tally(0, of: 950)
            $0.droppedShadowReads = 50
        }
        #expect(few.verdict == .pass, "a twentieth may go uncompared")
    }

    @Test func aProvenMismatchFailsHoweverManyWereNotCompared() throws {
        let proven = try finding("mismatch_rate", percent: 0) {
            $0.mismatches = Tally(100, of: 400)
            $0.droppedShadowReads = 4_000
        }
        #expect(proven.verdict == .fail)
    }

    // MARK: Too few samples of new

    @Test func whileNewHasTooFewSamplesItIsSpokenOfFirst() throws {
        let reads = try finding("read_error_rate", percent: 500, covered: 4) { $0.newReads = Tally(5, of: 10) }
        #expect(reads.verdict == .warmingUp && reads.side == .legacy)
        #expect(
            reads.reason
                == "new failed 5 of its 10 reads so far, too few to judge (40 are needed); "
                + "the window of 5 min is not full yet")
        let writes = try finding("write_p95", percent: 500) {
            $0.legacyWrites = WaitTimes(count: 1_000, quantile: { _ in 0.02 }, countAbove: { _ in 0 })
            $0.newWrites = WaitTimes(count: 10, quantile: { _ in 0.5 }, countAbove: { _ in 10 })
        }
        #expect(writes.verdict == .insufficient)
        #expect(
            writes.reason == "new took p95 500 ms for its 10 writes so far, too few to judge (40 are needed)")
    }

    @Test func whatLegacyItselfFailsIsStillSaidOfLegacy() throws {
        let legacy = try finding("read_error_rate", percent: 500) {
            $0.legacyReads = Tally(400, of: 1_000)
            $0.newReads = Tally(0, of: 10)
        }
        #expect(legacy.verdict == .fail && legacy.side == .legacy && legacy.reason.contains("reads of legacy"))
    }
}

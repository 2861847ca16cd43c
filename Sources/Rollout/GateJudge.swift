/// Judges the gates of a plan. Pure: the evidence comes as numbers.
///
/// - *fail*: it is proven, at the plan's confidence, that the figure is above the limit, from at least `min_samples` samples;
///   at once, also while the window fills: waiting would hurt users.
/// - *pass*: the window is full, the samples are enough, and the figure is not above the limit.
/// - *insufficient*: too few samples; or the figure is above the limit, and that may still be chance.
/// - *warming up*: the window is not full yet, since a start of the gateway or of the stage (contract §9).
package struct GateJudge: Sendable {
    package let gates: Gates
    package let minSamples: UInt64
    package let windowSeconds: Double
    let test: SequentialTest

    /// - Parameter plan: nil: every figure is judged, and none is a gate.
    package init(plan: Plan?) {
        gates = plan?.gates ?? Gates()
        minSamples = UInt64(max(1, plan?.minSamples ?? 200))
        windowSeconds = Double(plan?.windowSeconds ?? 300)
        test = SequentialTest(confidence: plan?.confidence ?? Plan.standardConfidence)
    }

    /// All six, in the order in which they are shown.
    /// - Parameter state: who is on new and what is compared: what a stage cannot show is not asked for.
    package func judge(_ evidence: GateEvidence, in state: RolloutState) -> [GateFinding] {
        let isFull = evidence.coveredSeconds >= windowSeconds
        return [
            readErrors(evidence, state, isFull), writes(evidence, state, isFull),
            share("conflict_rate", evidence.conflicts, "writes", gates.conflictRate, isFull),
            applicable(
                share("fallback_rate", evidence.fallbacks, "requests of users on new", gates.fallbackRate, isFull),
                state.percentHundredths > 0, "nobody is on new in this stage"),
            applicable(
                mismatches(evidence, isFull),
                state.shadowHundredths > 0 && state.legacyWrites, "nothing is compared in this stage"),
            lag(evidence, isFull),
        ]
    }

    // MARK: Shares

    func share(_ name: String, _ tally: Tally, _ noun: String, _ limit: Double?, _ isFull: Bool) -> GateFinding {
        let seen = "\(percentWords(tally.share)) of \(tally.trials) \(noun)"
        let (verdict, reason) = judge(tally, seen, limit, isFull)
        return GateFinding(
            name: name, verdict: verdict, reason: reason, threshold: limit, value: tally.share, samples: tally.trials)
    }

    func judge(_ tally: Tally, _ seen: String, _ limit: Double?, _ isFull: Bool) -> (GateVerdict, String) {
        let against = limit.map { ", limit \(percentWords($0))" } ?? ""
        if tally.trials < minSamples { return tooFew(tally.trials, isFull) }
        let isAbove = limit.map { (tally.share ?? 0) > $0 } ?? false
        if let limit, isAbove, test.isAbove(limit: limit, events: tally.events, trials: tally.trials) {
            return (.fail, seen + against)
        }
        if !isFull { return (.warmingUp, windowWords + "; so far " + seen + against) }
        return isAbove ? (.insufficient, seen + against + ": may still be chance") : (.pass, seen + against)
    }

    private func tooFew(_ samples: UInt64, _ isFull: Bool) -> (GateVerdict, String) {
        let words = "\(samples) of the \(minSamples) samples that it takes"
        return isFull ? (.insufficient, words) : (.warmingUp, windowWords + "; so far " + words)
    }

    var windowWords: String { "the window of \(durationWords(windowSeconds)) is not full yet" }

    private func applicable(_ finding: GateFinding, _ isApplicable: Bool, _ why: String) -> GateFinding {
        // What was counted all the same (a pin, a stage that has just ended) counts.
        guard !isApplicable, finding.samples < minSamples else { return finding }
        var finding = finding
        finding.isApplicable = false
        finding.verdict = .insufficient
        finding.reason = why
        return finding
    }

    // MARK: Writes

    private func writes(_ evidence: GateEvidence, _ state: RolloutState, _ isFull: Bool) -> GateFinding {
        let (limit, over) = (gates.writeP95Seconds, gates.writeP95OverLegacy)
        let side = watched(evidence.newWrites.count)
        let hasUsers = state.percentHundredths > 0
        let times = side == .new ? evidence.newWrites : evidence.legacyWrites
        let p95 = times.quantile(0.95)
        let seen = "p95 \(durationWords(p95)) of \(times.count) writes of \(side.name)"
        var (verdict, reason) = judge(times, seen, limit, limit.map { ", limit \(durationWords($0))" } ?? "", isFull)
        if side == .new, let over, verdict != .fail {
            (verdict, reason) = against(
                (verdict, reason), judgeWrites(evidence, over: over, isFull),
                hasControl: state.percentHundredths < 10_000)
        }
        let finding = GateFinding(
            name: "write_p95", verdict: verdict, reason: reason, threshold: limit, overLegacy: over, side: side,
            value: p95, samples: times.count)
        return hasUsers ? speakingOfNew(finding, newSoFar(evidence.newWrites), isFull) : finding
    }

    /// A p95 is above a limit when more than one in twenty waits is: a share again.
    private func judge(
        _ times: WaitTimes, _ seen: String, _ limit: Double?, _ against: String, _ isFull: Bool
    ) -> (GateVerdict, String) {
        if times.count < minSamples { return tooFew(times.count, isFull) }
        let isAbove = limit.map { (times.quantile(0.95) ?? 0) > $0 } ?? false
        if let limit, isAbove, test.isAbove(limit: 0.05, events: times.countAbove(limit), trials: times.count) {
            return (.fail, seen + against)
        }
        if !isFull { return (.warmingUp, windowWords + "; so far " + seen + against) }
        return isAbove ? (.insufficient, seen + against + ": may still be chance") : (.pass, seen + against)
    }

    private func judgeWrites(_ evidence: GateEvidence, over: Double, _ isFull: Bool) -> (GateVerdict, String) {
        let (new, legacy) = (evidence.newWrites, evidence.legacyWrites)
        guard legacy.count >= minSamples, let control = legacy.quantile(0.95) else {
            return (
                isFull ? .insufficient : .warmingUp,
                "legacy has \(legacy.count) of \(minSamples) writes to compare with"
            )
        }
        let words = "p95 \(durationWords(new.quantile(0.95))) of new, \(durationWords(control)) of legacy, "
        let against = "limit \(factorWords(over)) × legacy"
        // Legacy's own p95 is known only so well: the rank that it lies below with confidence, by the normal approximation.
        let spread = 3.3 * (0.95 * 0.05 / Double(legacy.count)).squareRoot()
        let upper = legacy.quantile(min(1, 0.95 + spread)) ?? control
        let verdict = judge(new, words, upper * over, against, isFull)
        if verdict.0 == .pass, let p95 = new.quantile(0.95), p95 > control * over {
            return (.insufficient, words + against + ": may still be chance")
        }
        return verdict
    }

    /// Both limits hold: the worse of the two verdicts counts.
    /// - Parameter hasControl: false at 100 percent: nobody is left on legacy to compare with.
    func against(
        _ own: (GateVerdict, String), _ compared: (GateVerdict, String), hasControl: Bool
    ) -> (GateVerdict, String) {
        if compared.0 == .fail { return compared }
        guard hasControl, own.0 == .pass else { return own }
        return compared.0 == .pass ? (.pass, own.1 + "; " + compared.1) : compared
    }

    /// Of the two backends the one that is further behind. Whoever is behind on legacy is not helped by going back to it.
    private func lag(_ evidence: GateEvidence, _ isFull: Bool) -> GateFinding {
        let limit = gates.journalLagSeconds
        let side: Side = evidence.legacyLagSeconds > evidence.newLagSeconds ? .legacy : .new
        let seconds = max(evidence.legacyLagSeconds, evidence.newLagSeconds)
        let words =
            seconds > 0
            ? "the oldest outstanding leg to \(side.name) waits for \(durationWords(seconds))" : "no leg is outstanding"
        let verdict: GateVerdict =
            limit.map { seconds > $0 } ?? false ? .fail : isFull ? .pass : .warmingUp
        return GateFinding(
            name: "journal_lag", verdict: verdict, reason: words + (limit.map { ", limit \(durationWords($0))" } ?? ""),
            threshold: limit, side: side, value: seconds, samples: 1)
    }
}

// What speaks for or against new, also while few of its answers are there to go by.
extension GateJudge {
    // MARK: Reads

    /// What is known of new's reads: those that it answered, and those that it failed by not being asked. While it serves no
    /// user, shadow reads speak for it.
    private struct ReadsOfNew {
        var tally: Tally
        var keptAway: UInt64
        /// What was counted.
        var noun: String

        init(_ evidence: GateEvidence, _ state: RolloutState) {
            keptAway = evidence.keptAwayReads
            var (failed, all) = (evidence.newReads.events, evidence.newReads.trials)
            noun = "reads"
            if isShadowStage(state) {
                keptAway += evidence.keptAwayShadowReads
                failed += evidence.shadowReads.events
                all += evidence.shadowReads.trials
                // Users who are pinned to new are served by it in any stage.
                noun =
                    evidence.newReads.trials + evidence.keptAwayReads == 0 ? "shadow reads" : "reads, shadow ones too,"
            }
            tally = Tally(failed + keptAway, of: all + keptAway)
        }

        /// `12 % of 400 reads of new, of them 30 kept away by its open breaker`.
        var words: String {
            "\(percentWords(tally.share)) of \(tally.trials) \(noun) of new"
                + (keptAway > 0 ? ", of them \(keptAway) kept away by its open breaker" : "")
        }
    }

    func readErrors(_ evidence: GateEvidence, _ state: RolloutState, _ isFull: Bool) -> GateFinding {
        let (limit, over) = (gates.readErrorRate, gates.readErrorRateOverLegacy)
        let new = ReadsOfNew(evidence, state)
        let side = watched(new.tally.trials)
        let tally = side == .new ? new.tally : evidence.legacyReads
        let seen = side == .new ? new.words : "\(percentWords(tally.share)) of \(tally.trials) reads of legacy"
        var (verdict, reason) = judge(tally, seen, limit, isFull)
        if side == .new, let over, verdict != .fail {
            (verdict, reason) = against(
                (verdict, reason), judgeReads(new, evidence.legacyReads, over: over, isFull),
                hasControl: state.percentHundredths < 10_000)
        }
        let finding = GateFinding(
            name: "read_error_rate", verdict: verdict, reason: reason, threshold: limit, overLegacy: over, side: side,
            value: tally.share, samples: tally.trials)
        let isAsked = state.percentHundredths > 0 || isShadowStage(state)
        return isAsked ? speakingOfNew(finding, newSoFar(new), isFull) : finding
    }

    /// New against legacy in the same minutes.
    private func judgeReads(
        _ new: ReadsOfNew, _ legacy: Tally, over: Double, _ isFull: Bool
    ) -> (GateVerdict, String) {
        guard legacy.trials >= minSamples, let control = legacy.share else {
            return (
                isFull ? .insufficient : .warmingUp,
                "legacy has \(legacy.trials) of \(minSamples) reads to compare with"
            )
        }
        let words =
            "\(new.words), \(percentWords(control)) of \(legacy.trials) of legacy, "
            + "limit \(percentWords(over)) over legacy"
        // Legacy's own share is known only so well: new has to be above the highest that it may be.
        let limit = test.upperBound(events: legacy.events, trials: legacy.trials) + over
        if test.isAbove(limit: min(1, limit), events: new.tally.events, trials: new.tally.trials) {
            return (.fail, words)
        }
        if !isFull { return (.warmingUp, windowWords + "; so far " + words) }
        return (new.tally.share ?? 0) > control + over
            ? (.insufficient, words + ": may still be chance") : (.pass, words)
    }

    // MARK: Which backend

    /// New once it has enough samples, else legacy (contract §10).
    func watched(_ samplesOfNew: UInt64) -> Side { samplesOfNew >= minSamples ? .new : .legacy }

    /// What legacy shows says nothing about new: where new is asked, a gate does not pass by legacy's figure, and speaks of new
    /// first. What legacy itself fails stays legacy's.
    func speakingOfNew(_ finding: GateFinding, _ newSoFar: String, _ isFull: Bool) -> GateFinding {
        guard finding.side == .legacy, finding.verdict != .fail else { return finding }
        var finding = finding
        finding.verdict = isFull ? .insufficient : .warmingUp
        finding.reason = newSoFar + (isFull ? "" : "; " + windowWords)
        return finding
    }

    private func newSoFar(_ new: ReadsOfNew) -> String {
        guard new.tally.trials > 0 else { return "new has had no read yet (\(minSamples) are needed)" }
        let kept = new.keptAway > 0 ? " (\(new.keptAway) kept away by its open breaker)" : ""
        return "new failed \(new.tally.events) of its \(new.tally.trials) \(new.noun)\(kept) so far, \(tooFewWords)"
    }

    func newSoFar(_ writes: WaitTimes) -> String {
        guard writes.count > 0 else { return "new has had no write yet (\(minSamples) are needed)" }
        return
            "new took p95 \(durationWords(writes.quantile(0.95))) for its \(writes.count) writes so far, \(tooFewWords)"
    }

    private var tooFewWords: String { "too few to judge (\(minSamples) are needed)" }

    // MARK: Comparison

    /// The share of shadow reads that may go uncompared: with more of them the mismatch ratio rests on a selection.
    private static let uncomparedMax = 0.05

    func mismatches(_ evidence: GateEvidence, _ isFull: Bool) -> GateFinding {
        var finding = share("mismatch_rate", evidence.mismatches, "shadow reads", gates.mismatchRate, isFull)
        let (dropped, failed) = (evidence.droppedShadowReads, evidence.failedShadowReads)
        let lost = Tally(dropped + failed, of: dropped + failed + evidence.mismatches.trials)
        guard finding.verdict == .pass || finding.verdict == .insufficient,
            let share = lost.share, share > Self.uncomparedMax
        else { return finding }
        finding.verdict = .insufficient
        finding.reason =
            "\(percentWords(share)) of \(lost.trials) shadow reads could not be compared "
            + "(\(dropped) dropped, \(failed) failed); of the others: " + finding.reason
        return finding
    }
}

/// A stage that serves nobody from new and reads it all the same.
private func isShadowStage(_ state: RolloutState) -> Bool {
    state.percentHundredths == 0 && state.shadowHundredths > 0 && state.legacyWrites
}

extension RolloutMachine {
    /// The last stage whose percent is not above a percent, in hundredths; nil without a plan.
    func stageIndex(ofPercent hundredths: Int) -> Int? {
        guard let plan, !plan.stages.isEmpty else { return nil }
        return plan.stages.lastIndex { $0.percentHundredths <= hundredths } ?? 0
    }

    /// `complete` in the last stage at its percent, `running` before it and without a plan. A plan of one stage has nothing to complete.
    func conditionOfStage(_ index: Int?, percent: Int) -> RolloutState.Condition {
        guard let plan, let index, index > 0, index == plan.stages.count - 1 else { return .running }
        return percent == plan.stages[index].percentHundredths ? .complete : .running
    }

    /// A state in a stage: at its percent or at a direct one, in the condition that follows from the stage or a given
    /// one. Whoever is on new is written to both, whatever a plan says; only at 100 percent legacy may stay unwritten. The
    /// generation is the old state's; the times are the old state's when neither stage nor percent changes.
    func placed(
        _ old: RolloutState?, stage index: Int?, percent: Int?, condition: RolloutState.Condition?, now: Int64
    ) -> RolloutState {
        let stage = index.flatMap { plan?.stages[$0] }
        let percentHundredths = percent ?? stage?.percentHundredths ?? 0
        let stays = old.map { $0.stageIndex == index && $0.percentHundredths == percentHundredths } ?? false
        var next = RolloutState(
            planName: plan?.name, stageIndex: index, stageName: stage?.name, percentHundredths: percentHundredths,
            shadowHundredths: stage?.shadowHundredths ?? configuredShadowHundredths,
            dualWrite: percentHundredths > 0 || stage?.dualWrite ?? true,
            condition: condition ?? conditionOfStage(index, percent: percentHundredths),
            sinceMilliseconds: now, generation: old?.generation ?? 1,
            isPercentDirect: percentHundredths != stage?.percentHundredths ?? 0,
            legacyWrites: old?.legacyWrites ?? true,
            legacyWritesSinceMilliseconds: old?.legacyWritesSinceMilliseconds)
        if stays, let old { next.takeTimes(of: old) }
        if percentHundredths < 10_000 { writeLegacy(&next, now: now) }
        return next
    }

    /// Counts the generation up if anything changed.
    func outcome(from old: RolloutState, to new: RolloutState, warnings: [String]) -> RolloutOutcome {
        if new == old { return .unchanged(old, warnings: warnings) }
        var next = new
        next.generation = old.generation + 1
        return .changed(next, warnings: warnings)
    }

    func promotionWarnings(
        _ state: RolloutState, from current: Int, to target: Int, gates: [GateFinding], now: Int64
    ) -> [String] {
        guard let stages = plan?.stages else { return [] }
        var warnings = gates.filter(\.isApplicable).compactMap { gate -> String? in
            let why = gate.reason.isEmpty ? "" : ": \(gate.reason)"
            return switch gate.verdict {
            case .pass: nil
            case .fail: gate.failureWords + "; promoted by force"
            case .insufficient:
                gate.isAboveLimit
                    ? "gate \(gate.name) is above its limit, and cannot prove it yet\(why)"
                    : "gate \(gate.name) cannot say yet\(why)"
            case .warmingUp: "gate \(gate.name) is still warming up\(why)"
            }
        }
        if target > current + 1 {
            warnings.append("skips " + stages[(current + 1)..<target].map(\.name).joined(separator: ", "))
        }
        let left = stages[current].holdSeconds - (now - state.heldFrom) / 1000
        if target > current && left > 0 && state.condition != .rolledBack {
            warnings.append("the hold of stage \(stages[current].name) would have lasted \(duration(left)) more")
        }
        return warnings
    }

    /// Without a plan there is nothing to promote along.
    var howToStartAgain: String { plan == nil ? "set a percent to start again" : "promote it to start again" }

    /// Seconds as `1 h 12 min`, rounded up to whole minutes from one minute on.
    private func duration(_ seconds: Int64) -> String {
        guard seconds >= 60 else { return "\(seconds) s" }
        let minutes = (seconds + 59) / 60
        let (hours, rest) = minutes.quotientAndRemainder(dividingBy: 60)
        if hours == 0 { return "\(rest) min" }
        return rest == 0 ? "\(hours) h" : "\(hours) h \(rest) min"
    }

    func unknownStage(_ name: String) -> String {
        let names = (plan?.stages ?? []).map(\.name)
        return names.isEmpty
            ? "there is no plan, so there is no stage \"\(name)\""
            : "the plan has no stage \"\(name)\"; it has \(names.joined(separator: ", "))"
    }

    func stageLabel(_ state: RolloutState) -> String { state.stageName ?? "(no stage)" }

    func percentText(_ hundredths: Int) -> String { Percent.text(hundredths: hundredths) + "%" }
}

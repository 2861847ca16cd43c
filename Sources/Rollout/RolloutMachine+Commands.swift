/// The commands, one function each. Every condition of the state is a legal input of every command: two operators, or
/// an operator and a gate, may race, and the last command wins.
extension RolloutMachine {
    /// To the next stage or a later one, or, by name, on from this one. From `paused` and `rolled_back` the rollout runs again;
    /// after a rollback, or a percent that was set by hand, it is another attempt.
    func promote(
        _ state: RolloutState, to name: String?, force: Bool, _ seen: Surroundings
    ) -> RolloutOutcome {
        guard let plan, !plan.stages.isEmpty else {
            return .refused(reasons: ["there is no plan to promote along; set the percent instead"])
        }
        let current = state.stageIndex ?? 0
        let target: Int
        if let name {
            guard let index = plan.stages.firstIndex(where: { $0.name == name }) else {
                return .refused(reasons: [unknownStage(name)])
            }
            target = index
        } else {
            guard current + 1 < plan.stages.count else {
                return .refused(reasons: ["stage \(plan.stages[current].name) is the last one of the plan"])
            }
            target = current + 1
        }
        let stage = plan.stages[target]
        if target < current || stage.percentHundredths < state.percentHundredths {
            let now = "\(stageLabel(state)) at \(percentText(state.percentHundredths))"
            return .refused(reasons: ["stage \(stage.name) is behind \(now); roll back to it instead"])
        }
        let failing = seen.failing
        // Into the last stage only with a way back that works: from there on legacy's end is the next step.
        let obstacles = target == plan.stages.count - 1 && target > current ? seen.obstacles : []
        if !(failing.isEmpty && obstacles.isEmpty) && !force {
            return .refused(
                reasons: failing.map(\.failureWords) + obstacles)
        }
        var next = placed(state, stage: target, percent: nil, condition: nil, now: seen.now)
        if state.condition == .rolledBack || state.isSetByHand { next.beginAttempt(seen.now) }
        let warnings = promotionWarnings(state, from: current, to: target, gates: seen.gates, now: seen.now)
        return outcome(
            from: state, to: next,
            warnings: obstacles.map { $0 + "; promoted by force" } + seen.cautions + warnings)
    }

    /// Back to a stage; accepted in every condition. Only a name that does not exist or lies ahead is refused.
    func rollback(_ state: RolloutState, to name: String?, now: Int64) -> RolloutOutcome {
        let stages = plan?.stages ?? []
        guard let name else {
            let target = stages.firstIndex { $0.percentHundredths == 0 && $0.dualWrite }
            var next = placed(
                state, stage: target ?? (stages.isEmpty ? nil : 0), percent: 0, condition: .rolledBack, now: now)
            // A plan without a stage to go back to has `problems()`; should one get here, both are still written.
            next.dualWrite = true
            writeLegacy(&next, now: now)
            return outcome(from: state, to: next, warnings: [])
        }
        guard let target = stages.firstIndex(where: { $0.name == name }) else {
            return .refused(reasons: [unknownStage(name)])
        }
        if stages[target].percentHundredths > state.percentHundredths {
            let now = percentText(state.percentHundredths)
            let there = percentText(stages[target].percentHundredths)
            return .refused(reasons: ["stage \(name) (\(there)) is ahead of \(now); promote to it instead"])
        }
        var next = placed(state, stage: target, percent: nil, condition: .rolledBack, now: now)
        writeLegacy(&next, now: now)
        return outcome(from: state, to: next, warnings: [])
    }

    /// Holds automatic promotion. Nothing else changes: not the percent, not what the stage was held already, unless a gate fails.
    func pause(_ state: RolloutState, _ seen: Surroundings) -> RolloutOutcome {
        switch state.condition {
        case .running, .complete:
            var next = state
            next.condition = .paused
            if !seen.failing.isEmpty { next.holdAnew(seen.now) }
            return outcome(from: state, to: next, warnings: [])
        case .paused:
            return .unchanged(state, warnings: ["the rollout is already paused"])
        case .rolledBack:
            let until = plan == nil ? "a percent is set" : "it is promoted"
            return .refused(reasons: ["the rollout is rolled back: nothing moves until \(until)"])
        }
    }

    /// Ends a pause, and nothing else: a percent that was set by hand goes on holding the automatic.
    func resume(_ state: RolloutState, _ seen: Surroundings) -> RolloutOutcome {
        switch state.condition {
        case .paused:
            var next = state
            next.condition = conditionOfStage(state.stageIndex, percent: state.percentHundredths)
            var warnings = seen.failing.map(\.failureWords)
            if plan?.onBreach == .pause, seen.failing.contains(where: state.isHelpedByGoingBack) {
                warnings.append("on_breach is pause: the rollout is paused again as long as that fails")
            }
            if plan?.promote == .automatic, state.isSetByHand { warnings.append(Self.handWarning) }
            return outcome(from: state, to: next, warnings: warnings + seen.cautions)
        case .running, .complete:
            return .unchanged(state, warnings: ["the rollout is not paused"])
        case .rolledBack:
            return .refused(reasons: ["the rollout is rolled back: \(howToStartAgain)"])
        }
    }

    /// Sets a percent. The stage is then the last one whose percent is not above it. A pause stays: it holds automatic
    /// promotion, not the operator's own hand. A rollback stays, too, unless the percent goes up. From then on nothing goes by
    /// itself until somebody promotes, whatever number it is.
    func setPercent(_ state: RolloutState, _ hundredths: Int, _ seen: Surroundings) -> RolloutOutcome {
        guard (0...10_000).contains(hundredths) else {
            return .refused(reasons: ["a percent is a number from 0 to 100"])
        }
        if !state.legacyWrites && hundredths < 10_000 {
            return .refused(reasons: [
                "legacy is not written: users sent there would miss their writes; resume-legacy first, or roll back"
            ])
        }
        let index = stageIndex(ofPercent: hundredths)
        var next = placed(state, stage: index, percent: hundredths, condition: nil, now: seen.now)
        if hundredths > 0, let index, plan?.stages[index].dualWrite == false {
            return .refused(reasons: ["stage \(stageLabel(next)) does not write both: no user may be on new there"])
        }
        let isRaised = hundredths > state.percentHundredths
        var warnings: [String] = []
        if state.condition == .paused { next.condition = .paused }
        if state.condition == .rolledBack && !isRaised {
            next.condition = .rolledBack
            warnings.append("the rollout stays rolled back: \(howToStartAgain)")
        }
        if plan != nil || next.condition == .rolledBack {
            next.isSetByHand = true
            next.beginAttempt(seen.now)
        }
        if plan?.promote == .automatic, next.condition != .rolledBack { warnings.append(Self.handWarning) }
        if isRaised {
            warnings += seen.failing.map(\.failureWords)
            warnings += (entersLastStage(state, hundredths) ? seen.obstacles : []) + seen.cautions
        }
        return outcome(from: state, to: next, warnings: warnings)
    }

    private static let handWarning = "set by hand: nothing goes on by itself until it is promoted"
}

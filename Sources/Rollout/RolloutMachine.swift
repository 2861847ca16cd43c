/// The rollout's state machine: pure, without clock, store or threads (contract §4, §9).
///
/// It holds what does not change between two reloads, the plan and the config's shadow share; the state is a value
/// that is passed in and out, so that a dry run is a call whose result is thrown away. Automatic steps (promotion after
/// the hold, rollback on a breach) are commands like an operator's: whoever drives them calls `apply` with the same
/// commands and the same gate findings.
package struct RolloutMachine: Sendable {
    package let plan: Plan?
    /// `shadow.percent` of the config: what holds without a plan.
    package let configuredShadowHundredths: Int

    /// Takes a plan that has no `problems()`, or none.
    package init(plan: Plan?, configuredShadowHundredths: Int) {
        self.plan = plan
        self.configuredShadowHundredths = configuredShadowHundredths
    }

    /// The state of a fresh store: the first stage, or percent 0 with dual write.
    package func freshState(atMilliseconds now: Int64) -> RolloutState {
        placed(nil, stage: plan?.stages.isEmpty == false ? 0 : nil, percent: nil, condition: nil, now: now)
    }

    /// Judges a command.
    ///
    /// The state may be one of another plan: a reload may race with a command, here or on an instance that shares the
    /// store. It is adopted first.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - reason: why, in words: kept while the rollout is paused or rolled back by this.
    ///   - gates: what each gate of the plan says now: `promote` is refused by them, others warn of them.
    ///   - obstacles: what in the world outside speaks against the step, as sentences: for `promote` into the last stage why
    ///     the way back does not work, for `stopLegacy` who still needs legacy, for `resumeLegacy` what legacy lacks. `setPercent`
    ///     only warns of them: it is the operator's own hand.
    ///   - cautions: what refuses nothing and is to be said to whoever raises the percent, promotes or resumes, as sentences.
    package func apply(
        _ command: RolloutCommand, to state: RolloutState, atMilliseconds now: Int64, reason: String? = nil,
        gates: [GateFinding] = [], obstacles: [String] = [], cautions: [String] = []
    ) -> RolloutOutcome {
        var current = adopting(state, atMilliseconds: now)
        current.generation = state.generation
        let seen = Surroundings(now: now, gates: gates, obstacles: obstacles, cautions: cautions)
        let outcome = judge(command, current, seen)
        guard case .changed(var next, let warnings) = outcome else { return outcome }
        let isAnother = next.condition != current.condition || command.isRollback
        next.setStateSince(isAnother ? now : current.stateSince)
        switch next.condition {
        case .running, .complete: next.conditionReason = nil
        case .paused, .rolledBack:
            // A pause outlasts a percent that is set by hand, and so does its reason.
            next.conditionReason =
                next.condition == state.condition && !command.isRollback ? state.conditionReason : reason
        }
        return .changed(next, warnings: warnings)
    }

    private func judge(
        _ command: RolloutCommand, _ state: RolloutState, _ seen: Surroundings
    ) -> RolloutOutcome {
        switch command {
        case .promote(let name, let force):
            promote(state, to: name, force: force, seen)
        case .rollback(let name): rollback(state, to: name, now: seen.now)
        case .pause: pause(state, seen)
        case .resume: resume(state, seen)
        case .setPercent(let hundredths): setPercent(state, hundredths, seen)
        case .stopLegacy: stopLegacy(state, obstacles: seen.obstacles, now: seen.now)
        case .resumeLegacy(let force): resumeLegacy(state, force: force, obstacles: seen.obstacles, now: seen.now)
        }
    }

    /// What a command is judged by, apart from the state: see `apply`.
    struct Surroundings {
        var now: Int64
        var gates: [GateFinding]
        var obstacles: [String]
        var cautions: [String]

        var failing: [GateFinding] { gates.filter { $0.verdict == .fail } }
    }

    /// The state after a reload or a restart with this machine's plan, which may differ from the one that made it.
    ///
    /// The percent stays: no reload moves users. The stage is found by its name, else by the percent; its shadow share
    /// and dual write then hold. A state without a stage at percent 0 enters the first stage. A percent that is not the
    /// stage's is as good as one that was set by hand. The generation grows only if anything changed.
    package func adopting(_ state: RolloutState, atMilliseconds now: Int64) -> RolloutState {
        let stages = plan?.stages ?? []
        var next: RolloutState
        if let name = state.stageName, let index = stages.firstIndex(where: { $0.name == name }) {
            next = placed(state, stage: index, percent: state.percentHundredths, condition: nil, now: now)
        } else if state.stageName == nil, state.percentHundredths == 0, !stages.isEmpty {
            next = placed(state, stage: 0, percent: 0, condition: nil, now: now)
        } else {
            let index = stageIndex(ofPercent: state.percentHundredths)
            next = placed(state, stage: index, percent: state.percentHundredths, condition: nil, now: now)
        }
        switch state.condition {
        case .paused, .rolledBack:
            next.condition = state.condition
            next.conditionReason = state.conditionReason
        case .running, .complete: break
        }
        if next.stageName == state.stageName { next.takeTimes(of: state) }
        next.setStateSince(next.condition == state.condition ? state.stateSince : now)
        next.isSetByHand = state.isSetByHand || next.isPercentDirect
        next.generation = state.generation
        if next != state { next.generation += 1 }
        return next
    }
}

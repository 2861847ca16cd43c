/// The end of the writing of legacy, and the way back from it (contract §4: `keep`).
extension RolloutMachine {
    /// Whether everybody is on new for good as far as the plan goes: in its last stage, at the 100 percent of that stage.
    package func isAtEnd(_ state: RolloutState) -> Bool {
        guard let plan, let last = plan.stages.last, state.stageIndex == plan.stages.count - 1 else { return false }
        return last.percentHundredths == 10_000 && state.percentHundredths == 10_000
    }

    /// When `keep` ends and legacy is no longer written, in milliseconds since 1970; nil where it does not end by itself:
    /// before the last stage, under a pause, after a rollback, or when it has ended.
    ///
    /// It counts from the last stage's begin, and anew from the moment in which an operator had legacy written again.
    package func keepEndsMilliseconds(_ state: RolloutState) -> Int64? {
        guard let plan, isAtEnd(state), state.legacyWrites, state.condition == .complete else { return nil }
        return max(state.sinceMilliseconds, state.legacyWritesSinceMilliseconds ?? 0) + plan.keepSeconds * 1000
    }

    /// Whether a promotion would enter the last stage: then the way back has to be looked at first.
    /// - Parameter name: the stage that the command names; nil for the next one.
    package func promotesToLastStage(_ state: RolloutState, to name: String?) -> Bool {
        guard let plan, let last = plan.stages.last else { return false }
        let current = state.stageIndex ?? 0
        if let name { return name == last.name && current < plan.stages.count - 1 }
        return current + 1 == plan.stages.count - 1
    }

    /// Whether a percent, in hundredths, that is set directly enters the last stage.
    package func entersLastStage(_ state: RolloutState, _ hundredths: Int) -> Bool {
        guard let plan, let index = stageIndex(ofPercent: hundredths) else { return false }
        return index == plan.stages.count - 1 && index > state.stageIndex ?? 0
    }

    func stopLegacy(_ state: RolloutState, obstacles: [String], now: Int64) -> RolloutOutcome {
        guard state.legacyWrites else {
            return .unchanged(state, warnings: ["legacy is not written any more already"])
        }
        guard isAtEnd(state) else {
            let place = "\(stageLabel(state)) at \(percentText(state.percentHundredths))"
            return .refused(reasons: ["legacy is written until the last stage is at 100%; the rollout is in \(place)"])
        }
        if state.condition == .rolledBack {
            return .refused(reasons: ["the rollout is rolled back: promote it to start again"])
        }
        if !obstacles.isEmpty { return .refused(reasons: obstacles) }
        var next = state
        next.legacyWrites = false
        next.legacyWritesSinceMilliseconds = now
        return outcome(from: state, to: next, warnings: [])
    }

    func resumeLegacy(_ state: RolloutState, force: Bool, obstacles: [String], now: Int64) -> RolloutOutcome {
        guard !state.legacyWrites else { return .unchanged(state, warnings: ["legacy is written already"]) }
        if !obstacles.isEmpty && !force { return .refused(reasons: obstacles) }
        var next = state
        writeLegacy(&next, now: now)
        return outcome(from: state, to: next, warnings: obstacles.map { $0 + "; resumed by force" })
    }

    /// Legacy is written from now on.
    func writeLegacy(_ state: inout RolloutState, now: Int64) {
        guard !state.legacyWrites else { return }
        state.legacyWrites = true
        state.legacyWritesSinceMilliseconds = now
    }
}

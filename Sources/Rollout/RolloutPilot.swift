/// What goes on by itself: rollback, pause or alert on a breach, and promotion when a stage has been held. Pure; asked every second.
///
/// It decides and does nothing: what it asks for is a command like an operator's, and whoever commands last wins. An operator's
/// pause holds promotion only. After a rollback nothing advances until somebody promotes.
package struct RolloutPilot: Sendable {
    /// What is to be done now.
    package enum Action: Sendable, Equatable {
        case none
        /// The plan's `on_breach`, with the reason in words.
        case rollback(reason: String)
        case pause(reason: String)
        /// Somebody has to look; said once for each set of failing gates.
        case alert(reason: String)
        case promote(reason: String)
    }

    package let plan: Plan?
    private var clock: StageClock
    /// Gates that an alert has gone out for.
    private var alerted: Set<String> = []

    /// - Parameters:
    ///   - state: where the rollout is when the gateway starts.
    ///   - underLoadMilliseconds: for how long this stage has been under load before, as far as it is known.
    package init(plan: Plan?, state: RolloutState, underLoadMilliseconds: Int64 = 0, now: Int64) {
        self.plan = plan
        clock = StageClock(state, underLoadMilliseconds: underLoadMilliseconds, now: now)
    }

    /// As after a reload: the stage goes on, under another plan.
    package func with(plan: Plan?) -> RolloutPilot {
        var next = RolloutPilot(plan: plan, clock: clock)
        next.alerted = alerted
        return next
    }

    private init(plan: Plan?, clock: StageClock) {
        self.plan = plan
        self.clock = clock
    }

    /// A second has passed.
    /// - Parameters:
    ///   - ahead: what else may hold the next step.
    ///   - hasTraffic: a client's request came since the last tick. Time without is not time under load.
    ///   - now: milliseconds of a clock that is never set back.
    package mutating func tick(
        _ state: RolloutState, gates: [GateFinding], ahead: WayAhead = WayAhead(), hasTraffic: Bool, now: Int64
    ) -> Action {
        if !clock.isOf(state) {
            clock = StageClock(state, underLoadMilliseconds: 0, now: now)
            alerted = []
        }
        let isUnderWay = state.condition == .running || state.condition == .complete
        clock.advance(to: now, hasTraffic: hasTraffic, counts: isUnderWay)
        // What fails at another gateway is that one's: it holds the step, and begins nothing anew here.
        clock.judged(gates.filter { $0.gateway == nil })
        let next = nextStep(state, gates: gates, ahead: ahead)
        clock.isAwaited = next.map { $0.isReady && $0.mode == .manual } ?? false
        let breach = breach(state, gates)
        if breach != .none { return breach }
        guard let next, next.isReady, next.mode == .automatic else { return .none }
        return .promote(
            reason: "held for \(durationWords(Double(clock.underLoadMilliseconds) / 1000)), every gate passes")
    }

    // MARK: Breach

    private mutating func breach(_ state: RolloutState, _ gates: [GateFinding]) -> Action {
        let failing = gates.filter { $0.verdict == .fail && $0.gateway == nil }
        alerted.formIntersection(failing.map(\.name))
        guard let plan, !failing.isEmpty else { return .none }
        let reason = failing.map(\.failureWords).joined(separator: "; ")
        let acting = failing.filter(state.isHelpedByGoingBack)
        if !acting.isEmpty {
            let reason = acting.map(\.failureWords).joined(separator: "; ")
            switch plan.onBreach {
            case .rollback: return .rollback(reason: reason)
            case .pause where state.condition == .running || state.condition == .complete: return .pause(reason: reason)
            case .pause, .alert: break
            }
        }
        guard !alerted.isSuperset(of: failing.map(\.name)) else { return .none }
        alerted.formUnion(failing.map(\.name))
        return .alert(reason: reason)
    }

    // MARK: The next step

    /// What the next step is and what holds it; nil without a plan or in its last stage.
    package func nextStep(_ state: RolloutState, gates: [GateFinding], ahead: WayAhead = WayAhead()) -> NextStep? {
        guard let plan, let index = state.stageIndex, index + 1 < plan.stages.count else { return nil }
        let (stage, next) = (plan.stages[index], plan.stages[index + 1])
        let held = clock.isOf(state) ? clock : StageClock(state, underLoadMilliseconds: 0, now: clock.now)
        let goesByItself =
            plan.promote == .automatic && state.condition == .running && !state.isSetByHand
            && gates.contains { $0.gateway == nil }
        return NextStep(
            stage: next.name, percentHundredths: next.percentHundredths, mode: goesByItself ? .automatic : .manual,
            holdSeconds: stage.holdSeconds, heldMilliseconds: held.underLoadMilliseconds,
            idleMilliseconds: held.idleMilliseconds, waitingMilliseconds: held.waitingMilliseconds,
            blockedBy: blocks(state, plan, stage, held, gates, ahead))
    }

    /// What holds the next step, as sentences; what nothing else matters beside comes first.
    private func blocks(
        _ state: RolloutState, _ plan: Plan, _ stage: Stage, _ held: StageClock, _ gates: [GateFinding],
        _ ahead: WayAhead
    ) -> [String] {
        var blocks = ahead.newAnswers ? [] : [WayAhead.isSilent]
        switch state.condition {
        case .rolledBack:
            // Another attempt is held and judged anew: only what refuses its begin holds it.
            return blocks + ["the rollout is rolled back: promote it to start again"]
                + state.holds(gates.filter { $0.verdict == .fail })
        case .paused: blocks.append("the rollout is paused" + because(state))
        case .running, .complete: break
        }
        if plan.promote == .automatic, state.isSetByHand {
            blocks.append("the percent was set by hand: promote it to go on along the plan")
        }
        if !gates.contains(where: { $0.gateway == nil }) {
            blocks.append("the plan has no gate: nothing judges whether new is well")
        }
        return blocks + timeBlocks(stage, held) + state.holds(gates) + state.holds(ahead)
    }

    private func timeBlocks(_ stage: Stage, _ held: StageClock) -> [String] {
        let left = stage.holdSeconds * 1000 - held.underLoadMilliseconds
        if left > 0 {
            let words = "stage \(stage.name) is held for \(durationWords(Double(left) / 1000)) more"
            if !held.unwell.isEmpty {
                return [words + ", from when gate \(held.unwell.sorted().joined(separator: " and ")) passes again"]
            }
            return [held.isIdle ? words + ", and the time without traffic does not count" : words]
        }
        let hasSeenNothing = held.underLoadMilliseconds == 0 && held.unwell.isEmpty
        return hasSeenNothing ? ["there has been no traffic in this stage"] : []
    }

    private func because(_ state: RolloutState) -> String { state.conditionReason.map { " (\($0))" } ?? "" }
}

/// The next stage, and what holds it.
package struct NextStep: Sendable, Equatable {
    package var stage: String
    package var percentHundredths: Int
    package var mode: PromotionMode
    package var holdSeconds: Int64
    /// Time under load in the present stage; time without traffic; time that everything was ready and a person is waited for.
    package var heldMilliseconds: Int64
    package var idleMilliseconds: Int64
    package var waitingMilliseconds: Int64
    /// Sentences; empty: nothing.
    package var blockedBy: [String]

    package var isReady: Bool { blockedBy.isEmpty }

    /// What is to be expected, for whoever lets the rollout go on; nil where a person is waited for.
    package var outlook: String? {
        guard mode == .automatic else { return nil }
        let step = "stage \(stage) (\(Percent.text(hundredths: percentHundredths)) %) comes by itself"
        return isReady
            ? step + " at once" : step + " when nothing holds it any more: " + blockedBy.joined(separator: "; ")
    }
}

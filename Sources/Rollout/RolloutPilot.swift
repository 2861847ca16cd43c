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
    ///   - hasTraffic: a client's request came since the last tick. Time without is not time under load.
    ///   - now: milliseconds of a clock that is never set back.
    package mutating func tick(_ state: RolloutState, gates: [GateFinding], hasTraffic: Bool, now: Int64) -> Action {
        if !clock.isOf(state) {
            clock = StageClock(state, underLoadMilliseconds: 0, now: now)
            alerted = []
        }
        clock.advance(to: now, hasTraffic: hasTraffic)
        let next = nextStep(state, gates: gates)
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
        let acting = failing.filter { acts($0, state) }
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

    /// Whether going back could help: somebody is on new, what fails is not legacy's own figure, and legacy has what they wrote.
    private func acts(_ gate: GateFinding, _ state: RolloutState) -> Bool {
        state.percentHundredths > 0 && gate.side != .legacy && state.legacyWrites
    }

    // MARK: The next step

    /// What the next step is and what holds it; nil without a plan or in its last stage.
    package func nextStep(_ state: RolloutState, gates: [GateFinding]) -> NextStep? {
        guard let plan, let index = state.stageIndex, index + 1 < plan.stages.count else { return nil }
        let (stage, next) = (plan.stages[index], plan.stages[index + 1])
        let held = clock.isOf(state) ? clock : StageClock(state, underLoadMilliseconds: 0, now: clock.now)
        var blocked: [String] = []
        switch state.condition {
        case .paused: blocked.append("the rollout is paused" + because(state))
        case .rolledBack: blocked.append("the rollout is rolled back: promote it to start again")
        case .running, .complete: break
        }
        if plan.promote == .automatic, state.isPercentDirect, state.condition == .running {
            blocked.append("the percent was set by hand: promote it to go on along the plan")
        }
        let left = stage.holdSeconds * 1000 - held.underLoadMilliseconds
        if left > 0 {
            let words = "stage \(stage.name) is held for \(durationWords(Double(left) / 1000)) more"
            blocked.append(held.isIdle ? words + ", and the time without traffic does not count" : words)
        } else if held.underLoadMilliseconds == 0 {
            blocked.append("there has been no traffic in this stage")
        }
        blocked += gates.filter { $0.isApplicable && $0.verdict != .pass }.map { gate in
            gate.verdict == .fail ? gate.failureWords : "gate \(gate.name) cannot say yet: \(gate.reason)"
        }
        return NextStep(
            stage: next.name, percentHundredths: next.percentHundredths, mode: plan.promote,
            holdSeconds: stage.holdSeconds, heldMilliseconds: held.underLoadMilliseconds,
            idleMilliseconds: held.idleMilliseconds, waitingMilliseconds: held.waitingMilliseconds, blockedBy: blocked)
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
}

/// How long a stage has lasted, by what happened in that time.
struct StageClock: Sendable {
    private let stage: String?
    private let since: Int64
    private(set) var now: Int64
    private(set) var underLoadMilliseconds: Int64
    private(set) var idleMilliseconds: Int64 = 0
    private(set) var waitingMilliseconds: Int64 = 0
    /// From here on a person is waited for.
    var isAwaited = false
    /// The last moment had no traffic.
    private(set) var isIdle = false
    /// A longer gap between two ticks is no time under load: the process was stopped.
    private static let gapMaxMilliseconds: Int64 = 5_000

    init(_ state: RolloutState, underLoadMilliseconds: Int64, now: Int64) {
        stage = state.stageName
        since = state.sinceMilliseconds
        self.underLoadMilliseconds = underLoadMilliseconds
        self.now = now
    }

    /// A percent that was set anew is a new beginning too.
    func isOf(_ state: RolloutState) -> Bool { stage == state.stageName && since == state.sinceMilliseconds }

    mutating func advance(to now: Int64, hasTraffic: Bool) {
        let passed = now - self.now
        self.now = now
        isIdle = !hasTraffic
        guard passed > 0, passed <= Self.gapMaxMilliseconds else { return }
        if isAwaited {
            waitingMilliseconds += passed
        } else if hasTraffic {
            underLoadMilliseconds += passed
        } else {
            idleMilliseconds += passed
        }
    }
}

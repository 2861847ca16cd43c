/// How long the present attempt in a stage has lasted, by what happened in that time.
struct StageClock: Sendable {
    private let stage: String?
    private let since: Int64
    private(set) var now: Int64
    private(set) var underLoadMilliseconds: Int64
    private(set) var idleMilliseconds: Int64 = 0
    private(set) var waitingMilliseconds: Int64 = 0
    /// Gates that have failed and not passed since: until they do, nothing counts, and then all of it anew.
    private(set) var unwell: Set<String> = []
    /// From here on a person is waited for.
    var isAwaited = false
    /// The last moment had no traffic.
    private(set) var isIdle = false
    /// A longer gap between two ticks is no time under load: the process was stopped.
    private static let gapMaxMilliseconds: Int64 = 5_000

    init(_ state: RolloutState, underLoadMilliseconds: Int64, now: Int64) {
        stage = state.stageName
        since = state.attemptSince
        self.underLoadMilliseconds = underLoadMilliseconds
        self.now = now
    }

    /// A percent that was set anew is a new beginning, too.
    func isOf(_ state: RolloutState) -> Bool { stage == state.stageName && since == state.attemptSince }

    /// - Parameter counts: false while the rollout is paused or rolled back.
    mutating func advance(to now: Int64, hasTraffic: Bool, counts: Bool) {
        let passed = now - self.now
        self.now = now
        isIdle = !hasTraffic
        guard counts, passed > 0, passed <= Self.gapMaxMilliseconds else { return }
        if isAwaited {
            waitingMilliseconds += passed
        } else if !hasTraffic {
            idleMilliseconds += passed
        } else if unwell.isEmpty {
            underLoadMilliseconds += passed
        }
    }

    /// The gates have been judged.
    mutating func judged(_ gates: [GateFinding]) {
        // One that the plan has no more, or that this stage cannot show, is not waited for.
        unwell = unwell.filter { name in
            gates.contains { $0.name == name && $0.isApplicable && $0.verdict != .pass }
        }
        let failing = gates.filter { $0.verdict == .fail }.map(\.name)
        guard !failing.isEmpty else { return }
        unwell.formUnion(failing)
        underLoadMilliseconds = 0
        waitingMilliseconds = 0
    }
}

import Rollout

/// One thing that may be wrong, as it is seen now, and how it is told.
struct AlertCondition {
    enum State { case bad, good, unknown }

    /// What grows worse is told again, at most this often, in milliseconds.
    static let tellAgainAfter: Int64 = 60_000

    /// Tells this condition from the others.
    var key: String
    var state: State
    /// How long it has to hold before it is raised, in milliseconds.
    var hold: Int64
    /// How long it must not have held before it is resolved.
    var calm: Int64
    /// The same while nobody can say; nil: it stays raised.
    var calmUnknown: Int64?
    /// Grows with how bad it is.
    var weight = 0
    var name: String
    var severity: Alert.Severity
    var labels: [String: String] = [:]
    /// False where every gateway of a store sees the same.
    var isOfInstance = true
    var summary: String
    var resolved: String
    var resolvedUnsure = ""
    var description: String
    var runbook: String

    func alert(instance: String, plan: String?, startsAt: Int64) -> Alert {
        var labels = labels
        labels["plan"] = plan
        if isOfInstance { labels["instance"] = instance }
        return Alert(
            name: name, severity: severity, labels: labels, summary: summary, description: description,
            runbook: "docs/operating.md#" + runbook, startsAt: startsAt)
    }
}

extension AlertCondition {
    /// A gate of the plan. Without enough samples it stays raised for ten minutes: silence is no recovery.
    static func gate(_ gate: AlertGate, onBreach: BreachAction) -> AlertCondition {
        let state: State =
            switch gate.verdict {
            case .fail: .bad
            case .pass: .good
            case .insufficient, .warmingUp: .unknown
            }
        let acts: String =
            switch onBreach {
            case .rollback:
                "Where going back helps, the plan sends everybody back to legacy by itself, and a message of its own says so"
            case .pause:
                "Where new serves users, the plan pauses the rollout by itself; `cutover rollback` sends them back to legacy"
            case .alert: "Nothing happens by itself; `cutover rollback` sends everybody back to legacy"
            }
        return AlertCondition(
            key: "gate \(gate.name)", state: state, hold: 0, calm: 60_000, calmUnknown: 600_000,
            name: "CutoverGateFailing", severity: .critical, labels: ["gate": gate.name],
            summary: "Gate \(gate.name) fails: \(gate.reason)", resolved: "Gate \(gate.name) passes again",
            resolvedUnsure: "Gate \(gate.name) does not fail any more; there are too few samples to say that it passes",
            description: "\(acts). `cutover status` shows the figures.", runbook: "gates")
    }

    /// Legs that wait for an operator. Told again when there are more.
    static func parked(_ parked: (legacy: Int, new: Int)?) -> AlertCondition {
        let (legacy, new) = parked ?? (0, 0)
        let count = legacy + new
        return AlertCondition(
            key: "parked", state: parked == nil ? .unknown : count > 0 ? .bad : .good, hold: 0,
            // A leg that is replayed and refused again was not done with.
            calm: 10_000, weight: count,
            name: "CutoverLegsParked", severity: .warning, isOfInstance: false,
            summary: "\(count) \(count == 1 ? "leg is" : "legs are") parked (legacy \(legacy), new \(new))",
            resolved: "No leg is parked any more",
            description: "A backend refused these writes for good; the backends differ until somebody decides. "
                + "`cutover journal --parked` lists them, `cutover journal replay SEQ` sends one again.",
            runbook: "parked-legs")
    }

    /// The oldest write that a backend does not have yet.
    static func lag(_ side: Side, seconds: Double, limit: Double) -> AlertCondition {
        AlertCondition(
            // Two looks: when the clock is set, everything seems old for a moment.
            key: "lag \(side.name)", state: seconds > limit ? .bad : .good, hold: 1_000,
            calm: Int64(min(30, max(5, limit)) * 1000),
            name: "CutoverJournalLag", severity: .warning, labels: ["backend": "\(side.name)"],
            summary: "The oldest write for \(side.name) has waited \(Int64(seconds)) s, limit \(shown(limit)) s",
            resolved: "Writes for \(side.name) wait no longer than \(shown(limit)) s",
            description:
                "Nothing is lost: they are sent in order when \(side.name) takes them. Is it up, and fast enough? "
                + "`cutover status` shows how many wait and when it will have caught up.",
            runbook: "journal")
    }

    /// The breaker of a backend.
    static func backend(_ side: Side, isUp: Bool) -> AlertCondition {
        let effect =
            side == .legacy
            ? "Its users get errors, and there is no way back while it is down."
            : "Its users are served by legacy meanwhile; `cutover rollback` makes that the rule."
        return AlertCondition(
            key: "backend \(side.name)", state: isUp ? .good : .bad, hold: 0, calm: 30_000,
            name: "CutoverBackendUnhealthy", severity: side == .legacy ? .critical : .warning,
            labels: ["backend": "\(side.name)"],
            summary: "Backend \(side.name) fails: its breaker is open", resolved: "Backend \(side.name) answers again",
            description: "\(effect) Writes for it wait in the journal.", runbook: "backends")
    }

    /// The journal: a disk that is full, a store that is away, or one that hangs.
    static func store(_ seen: AlertObservation, isStuck: Bool) -> AlertCondition {
        let why =
            !seen.isStoreConnected
            ? "the shared store does not answer"
            : !seen.isStoreWritable ? "the store refuses to take them" : "the store hangs"
        return AlertCondition(
            key: "store", state: seen.isStoreWritable && seen.isStoreConnected && !isStuck ? .good : .bad,
            // One refused group may be a lock that somebody held.
            hold: 2_000, calm: 10_000,
            name: "CutoverJournalNotWritable", severity: .critical,
            summary: "Writes cannot be made durable: \(why)", resolved: "Writes are durable again",
            description:
                "Writes are answered with 503, reads go on, and a rollback is in force all the same. Is the disk of "
                + "the data directory full or read-only, the database up?",
            runbook: "journal-not-writable")
    }

    private static func shown(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? String(Int64(seconds)) : String(seconds)
    }
}

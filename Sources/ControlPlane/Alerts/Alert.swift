import Rollout

/// One thing that somebody should know. Holds no user id, no target and no secret: it leaves the house.
struct Alert: Sendable, Equatable {
    enum Severity: String, Sendable { case info, warning, critical }

    /// Where an alert stands.
    enum Status: String, Sendable {
        case firing
        case resolved
        /// Something happened; there is nothing to resolve.
        case message
    }

    /// As in `dashboards/prometheus-rules.yaml` where both tell the same, so that a receiver groups them.
    var name: String
    var severity: Severity
    /// What tells this alert from others of its name.
    var labels: [String: String]
    /// One line.
    var summary: String
    /// What to do.
    var description: String
    /// The section of the handbook.
    var runbook: String
    /// Milliseconds since 1970.
    var startsAt: Int64
    /// nil while it is raised.
    var endsAt: Int64?
    /// The change that the alert tells of.
    var change: RolloutChange?

    var status: Status { change != nil ? .message : endsAt == nil ? .firing : .resolved }

    /// The same for every telling of the same thing: 64 bits of FNV-1a over name and labels, in hexadecimal.
    var fingerprint: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for (name, value) in ([("alertname", name)] + labels.sorted { $0.key < $1.key }) {
            for byte in "\(name)=\(value)\n".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// A change of the rollout that this gateway has carried out.
struct RolloutChange: Sendable, Equatable {
    /// Milliseconds since 1970.
    var atMilliseconds: Int64
    /// As in the event: `promote`, `rollback`, ….
    var action: String
    /// As in the event: `admin@PEER`, `gateway`, `gate`.
    var actor: String
    var reason: String
    var before: RolloutState
    var after: RolloutState

    init(
        atMilliseconds: Int64, action: String, actor: String, reason: String, before: RolloutState, after: RolloutState
    ) {
        self.atMilliseconds = atMilliseconds
        self.action = action
        self.actor = actor
        self.reason = reason
        self.before = before
        self.after = after
    }
}

/// What a gate says, as far as an alert needs it.
struct AlertGate: Sendable, Equatable {
    /// As in the plan's `gates`.
    var name: String
    var verdict: GateVerdict
    /// Why, in words without the gate's name.
    var reason: String

    init(name: String, verdict: GateVerdict, reason: String) {
        self.name = name
        self.verdict = verdict
        self.reason = reason
    }
}

/// What the rules look at, once a second.
struct AlertObservation: Sendable {
    /// Milliseconds since 1970; may jump.
    var wall: Int64
    /// Milliseconds of a clock that is never set.
    var monotonic: Int64
    var plan: String?
    var onBreach = BreachAction.rollback
    var gates: [AlertGate] = []
    /// Parked legs by backend; nil: not known now.
    var parked: (legacy: Int, new: Int)?
    /// Age of the oldest outstanding leg, in seconds.
    var lagSeconds: (legacy: Double, new: Double) = (0, 0)
    /// How old it may be.
    var lagLimitSeconds = PlanAlerts.standardLagSeconds
    /// Whether the journal took its last group.
    var isStoreWritable = true
    /// False while a shared store does not answer.
    var isStoreConnected = true
    /// Writes that wait for the journal, and the groups that it has made durable: a queue without progress is a store that hangs.
    var journalQueue = 0
    var journalGroups: UInt64 = 0
    /// Whether the breaker is closed.
    var isHealthy: (legacy: Bool, new: Bool) = (true, true)
}

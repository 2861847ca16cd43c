import ControlPlane
import Values

// The shapes of contract §9. Every member may be missing and unknown ones are passed over, so that a command line and a gateway of
// neighbouring versions understand each other.

/// `GET status`.
struct StatusReport: Decodable {
    struct Shadow: Decodable {
        var compared: Int?
        var matched: Int?
        var mismatched: Int?
        var transient: Int?
        var dropped: Int?
        /// Shadow reads that new failed or did not answer.
        var errors: Int?
    }
    struct CatchUp: Decodable {
        var rate: Double?
        var seconds: Double?
    }
    struct Journal: Decodable {
        var catchUp: [String: CatchUp]?
        var pending: [String: Int]?
        var oldestPendingSeconds: [String: Double]?
        var parked: Int?
        /// What legacy lacks because it was not written, and has not been put back yet.
        var missing: [String: Int]?
        /// After a rollback: when the backend had everything.
        var caughtUpAt: [String: String?]?
        var caughtUpLegs: [String: Int]?
        /// After a rollback: the backend does not have everything yet.
        var catchingUp: [String: Bool]?

        private enum CodingKeys: String, CodingKey {
            case pending, parked, missing
            case catchUp = "catch_up"
            case oldestPendingSeconds = "oldest_pending_seconds"
            case caughtUpAt = "caught_up_at"
            case caughtUpLegs = "caught_up_legs"
            case catchingUp = "catching_up"
        }
    }
    struct Backend: Decodable {
        var healthy: Bool?
    }
    var rollout: RolloutReport?
    var metrics: [String: MetricReport]?
    /// Every gate of the plan, in its order.
    var gates: [GateReport]?
    var next: NextReport?
    var shadow: Shadow?
    var journal: Journal?
    var backends: [String: Backend]?
    var alerts: AlertsReport?
    /// The span that the figures are taken over, and how much of it has been seen since the start.
    var windowSeconds: Double?
    var coveredSeconds: Double?

    private enum CodingKeys: String, CodingKey {
        case rollout, metrics, gates, next, shadow, journal, backends, alerts
        case windowSeconds = "window_seconds"
        case coveredSeconds = "covered_seconds"
    }
}

/// Where the rollout is.
struct RolloutReport: Decodable {
    var plan: String?
    var stage: String?
    var percent: Double?
    var shadowPercent: Double?
    var dualWrite: Bool?
    var state: String?
    var since: String?
    var generation: Int?
    var legacyWrites: Bool?
    var legacyUnwrittenSince: String?
    var keepEndsAt: String?
    /// Why it is rolled back or paused.
    var stateReason: String?
    /// Since when it is paused, rolled back or running; `since` is the stage's.
    var stateSince: String?
    /// What holds the end of the writing of legacy although it is due.
    var keepWaits: [String]?

    private enum CodingKeys: String, CodingKey {
        case plan, stage, percent, state, since, generation
        case stateReason = "state_reason"
        case stateSince = "state_since"
        case legacyWrites = "legacy_writes"
        case legacyUnwrittenSince = "legacy_unwritten_since"
        case keepEndsAt = "keep_ends_at"
        case keepWaits = "keep_waits"
        case shadowPercent = "shadow_percent"
        case dualWrite = "dual_write"
    }
}

/// `GET users/{id}`.
struct UserReport: Decodable {
    var user: String?
    var bucket: Int?
    var percentNeeded: Double?
    var side: String?
    var reason: String?
    var pin: String?
    var since: String?

    private enum CodingKeys: String, CodingKey {
        case user, bucket, side, reason, pin, since
        case percentNeeded = "percent_needed"
    }
}

/// A page of a list, newest first.
struct Page<Item: Decodable>: Decodable {
    var items: [Item]
    /// Where the next page begins: a text or a number, nil at the end.
    var next: JSONValue?

    /// The cursor as it goes into a query.
    var cursor: String? {
        switch next {
        case .string(let text): text
        case .number(let digits): digits
        default: nil
        }
    }
}

/// An item of `GET events`; also what a change answers.
struct EventReport: Decodable {
    var seq: Int?
    var at: String?
    var actor: String?
    var action: String?
    var before: JSONValue?
    var after: JSONValue?
    var reason: String?
}

/// What a change answers: the event, and what else there is to say.
struct ChangeReport: Decodable {
    var before: JSONValue?
    var after: JSONValue?
    var warnings: [JSONValue]?
    var generation: Int?
    var reason: String?
}

/// What `POST journal/replay` answers.
struct ReplayReport: Decodable {
    /// A leg that stays parked.
    struct Held: Decodable {
        var seq: Int
        var reason: String?
    }

    var replayed: Int?
    var seqs: [Int]?
    var held: [Held]?
    var isDryRun: Bool?

    private enum CodingKeys: String, CodingKey {
        case replayed, seqs, held
        case isDryRun = "dry_run"
    }
}

/// What `POST journal/settle` answers.
struct SettleReport: Decodable {
    var settled: Int?
}

/// An item of `GET journal`.
struct JournalRow: Decodable {
    struct Leg: Decodable {
        var state: String?
        var attempts: Int?
        var lastStatus: Int?
        var nextAttemptAt: String?

        private enum CodingKeys: String, CodingKey {
            case state, attempts
            case lastStatus = "last_status"
            case nextAttemptAt = "next_attempt_at"
        }
    }
    var seq: Int?
    var at: String?
    var user: String?
    var record: String?
    var revision: Int?
    var method: String?
    var target: String?
    var legs: [String: Leg]?
}

/// An item of `GET mismatches`.
struct MismatchReport: Decodable {
    struct Answer: Decodable {
        var status: Int?
        var hash: String?
    }
    var at: String?
    var kind: String?
    var method: String?
    var target: String?
    var paths: [String]?
    var legacy: Answer?
    var new: Answer?
}

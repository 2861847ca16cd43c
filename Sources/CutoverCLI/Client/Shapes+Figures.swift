/// One of the figures that an operator decides by.
struct MetricReport: Decodable {
    var value: Double?
    var samples: Int?
    var threshold: Double?
    /// How far new may be above legacy: points of a share, a factor of a duration.
    var overLegacy: Double?
    var verdict: String?
    /// Whose figure the gate looks at.
    var backend: String?
    /// The same figure for each backend alone.
    var byBackend: [String: MetricReport]?
    /// Reads that failed for clients after all: fallbacks have saved the others.
    var client: Figure?
    /// Conflicts, by who noticed.
    var bySource: [String: Int]?
    /// Fallbacks, by what new did wrong.
    var byReason: [String: Int]?

    /// A value and what it rests on.
    struct Figure: Decodable {
        var value: Double?
        var samples: Int?
    }

    private enum CodingKeys: String, CodingKey {
        case value, samples, threshold, verdict, client, backend
        case overLegacy = "over_legacy"
        case byBackend = "by_backend"
        case bySource = "by_source"
        case byReason = "by_reason"
    }

    init(from decoder: any Decoder) throws {
        // In `by_backend` a figure may be a bare number, or null without samples.
        if let single = try? decoder.singleValueContainer() {
            if single.decodeNil() { return }
            if let number = try? single.decode(Double.self) {
                value = number
                return
            }
        }
        let members = try decoder.container(keyedBy: CodingKeys.self)
        value = try members.decodeIfPresent(Double.self, forKey: .value)
        samples = try members.decodeIfPresent(Int.self, forKey: .samples)
        threshold = try members.decodeIfPresent(Double.self, forKey: .threshold)
        overLegacy = try members.decodeIfPresent(Double.self, forKey: .overLegacy)
        verdict = try members.decodeIfPresent(String.self, forKey: .verdict)
        backend = try members.decodeIfPresent(String.self, forKey: .backend)
        byBackend = try members.decodeIfPresent([String: MetricReport].self, forKey: .byBackend)
        client = try members.decodeIfPresent(Figure.self, forKey: .client)
        bySource = try members.decodeIfPresent([String: Int].self, forKey: .bySource)
        byReason = try members.decodeIfPresent([String: Int].self, forKey: .byReason)
    }
}

/// A gate of the plan, and why it says what it says.
struct GateReport: Decodable {
    /// As in the plan: `write_p95`, not `write_p95_seconds`.
    var name: String?
    var threshold: Double?
    var overLegacy: Double?
    var value: Double?
    var samples: Int?
    var verdict: String?
    var reason: String?

    private enum CodingKeys: String, CodingKey {
        case name, threshold, value, samples, verdict, reason
        case overLegacy = "over_legacy"
    }

    /// The name of its figure in `metrics`.
    var metric: String? { name == "write_p95" ? "write_p95_seconds" : name }
}

/// The next stage, and what holds it up.
struct NextReport: Decodable {
    var stage: String?
    var percent: Double?
    /// `manual` or `automatic`.
    var mode: String?
    var holdSeconds: Double?
    /// Time under load in this stage.
    var heldSeconds: Double?
    /// Time without traffic, which does not count.
    var idleSeconds: Double?
    /// Time since a person is waited for.
    var waitingSeconds: Double?
    var ready: Bool?
    var blockedBy: [String]?

    private enum CodingKeys: String, CodingKey {
        case stage, percent, mode, ready
        case holdSeconds = "hold_seconds"
        case heldSeconds = "held_seconds"
        case idleSeconds = "idle_seconds"
        case waitingSeconds = "waiting_seconds"
        case blockedBy = "blocked_by"
    }
}

/// Whether somebody is told of alerts.
struct AlertsReport: Decodable {
    /// Scheme and host of the receiver; nil: nobody is told.
    var receiver: String?
    /// Alerts that the receiver has not taken yet.
    var waiting: Int?
}

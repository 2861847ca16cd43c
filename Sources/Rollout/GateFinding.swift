/// What a gate says (contract §1).
package enum GateVerdict: String, Sendable, CaseIterable, Codable {
    case pass
    case fail
    /// Too few samples, or too few to be sure.
    case insufficient
    /// The window is not yet full after a start of the gateway or of the stage.
    case warmingUp = "warming_up"
}

/// One gate of the plan, what it looked at, and what it says.
package struct GateFinding: Sendable, Equatable {
    /// As in the plan's `gates`.
    package var name: String
    package var verdict: GateVerdict
    /// Why, in a sentence without the gate's name.
    package var reason: String
    /// The limit in the figure's unit; nil: the plan has none, so nothing hangs on it.
    package var threshold: Double?
    /// How far new may be above legacy: points of a share, or a factor of a duration.
    package var overLegacy: Double?
    /// Whose figure it is; nil where it is not a backend's.
    package var side: Side?
    package var value: Double?
    package var samples: UInt64
    /// False where the stage cannot give it a sample: nobody is on new, or nothing is compared. Then it holds nothing up.
    package var isApplicable: Bool
    /// Which other gateway of the store says it; nil: this one. What another says holds a promotion, and is acted on there.
    package var gateway: String?

    package init(
        name: String, verdict: GateVerdict, reason: String = "", threshold: Double? = nil, overLegacy: Double? = nil,
        side: Side? = nil, value: Double? = nil, samples: UInt64 = 0, isApplicable: Bool = true, gateway: String? = nil
    ) {
        self.name = name
        self.verdict = verdict
        self.reason = reason
        self.threshold = threshold
        self.overLegacy = overLegacy
        self.side = side
        self.value = value
        self.samples = samples
        self.isApplicable = isApplicable
        self.gateway = gateway
    }

    /// Whether the plan makes a gate of this figure.
    package var isGate: Bool { threshold != nil || overLegacy != nil }

    /// Whether its figure is above its own limit, proven or not.
    var isAboveLimit: Bool {
        guard let threshold, let value, side != .legacy else { return false }
        return value > threshold
    }

    /// `gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %`, and who says so where that is another gateway.
    var failureWords: String {
        (gateway.map { "gateway \($0) says: " } ?? "") + "gate \(name) fails" + (reason.isEmpty ? "" : ": \(reason)")
    }
}

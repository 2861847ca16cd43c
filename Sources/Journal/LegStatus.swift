package import Rollout

/// All that the journal keeps about one leg.
package struct LegStatus: Sendable, Equatable {
    package var state: LegState
    /// How often the leg was sent.
    package var attempts: Int
    /// How many of these attempts were answered with a refusal that is retried only a few times (`judgeSecondary`).
    package var refusals: Int
    /// HTTP status of the last answer; nil before the first, and after a connection that gave none.
    package var lastStatus: Int?
    /// When the leg is due again, in milliseconds since 1970; nil when nothing is planned.
    package var nextAttemptMilliseconds: Int64?

    package init(
        _ state: LegState, attempts: Int = 0, refusals: Int = 0, lastStatus: Int? = nil,
        nextAttemptMilliseconds: Int64? = nil
    ) {
        self.state = state
        self.attempts = attempts
        self.refusals = refusals
        self.lastStatus = lastStatus
        self.nextAttemptMilliseconds = nextAttemptMilliseconds
    }
}

/// Both legs of a change.
package struct Legs: Sendable, Equatable {
    package var legacy: LegStatus
    package var new: LegStatus

    package init(legacy: LegStatus, new: LegStatus) {
        self.legacy = legacy
        self.new = new
    }

    /// The legs of a change that was just accepted: the authoritative one is pending, the other too unless the stage does not dual-write.
    package init(acceptedOn side: Side, dualWrite: Bool) {
        let other = LegStatus(dualWrite ? .pending : .skipped)
        self.init(
            legacy: side == .legacy ? LegStatus(.pending) : other, new: side == .new ? LegStatus(.pending) : other)
    }

    package subscript(side: Side) -> LegStatus {
        get { side == .legacy ? legacy : new }
        set {
            switch side {
            case .legacy: legacy = newValue
            case .new: new = newValue
            }
        }
    }

    /// Whether any leg still blocks a lane.
    package var hasOutstanding: Bool { legacy.state.isOutstanding || new.state.isOutstanding }
}

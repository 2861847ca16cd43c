package import Rollout

/// The state of the rollout as the store keeps it. The store gives no meaning to anything but `generation`.
package struct RolloutRecord: Sendable, Equatable {
    /// Counts up with every change; the value of `If-Match`.
    package var generation: Int64
    package var plan: String
    package var stage: String
    package var percentHundredths: Int
    /// The contract's word: `running`, `paused`, `rolled_back`, `complete`.
    package var state: String
    /// When the present stage began, in milliseconds since 1970.
    package var sinceMilliseconds: Int64
    /// Whatever else its owner wants back, as text.
    package var details: String

    package init(
        generation: Int64, plan: String, stage: String, percentHundredths: Int, state: String, sinceMilliseconds: Int64,
        details: String = ""
    ) {
        self.generation = generation
        self.plan = plan
        self.stage = stage
        self.percentHundredths = percentHundredths
        self.state = state
        self.sinceMilliseconds = sinceMilliseconds
        self.details = details
    }
}

/// Something an operator or a gate did (contract §9).
package struct RolloutEvent: Sendable, Equatable {
    /// Its place among the events, given by the store; 0 before it is stored.
    package var sequence: Int64
    /// When, in milliseconds since 1970.
    package var atMilliseconds: Int64
    package var actor: String
    package var action: String
    package var before: String
    package var after: String
    package var reason: String

    package init(
        sequence: Int64 = 0, atMilliseconds: Int64, actor: String, action: String, before: String, after: String,
        reason: String
    ) {
        self.sequence = sequence
        self.atMilliseconds = atMilliseconds
        self.actor = actor
        self.action = action
        self.before = before
        self.after = after
        self.reason = reason
    }
}

/// A user that an operator has put on a side.
package struct Pin: Sendable, Equatable {
    package var user: String
    package var side: Side
    /// Since when, in milliseconds since 1970.
    package var sinceMilliseconds: Int64

    package init(user: String, side: Side, sinceMilliseconds: Int64) {
        self.user = user
        self.side = side
        self.sinceMilliseconds = sinceMilliseconds
    }
}

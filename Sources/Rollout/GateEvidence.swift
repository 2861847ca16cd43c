/// How often something happened.
package struct Tally: Sendable, Equatable {
    package var events: UInt64
    /// How often it could have happened.
    package var trials: UInt64

    package init(_ events: UInt64 = 0, of trials: UInt64 = 0) {
        // An event whose trial was counted just before the window began counts as one within it.
        self.events = min(events, trials)
        self.trials = trials
    }

    /// nil with no trial: no share is not a share of 0.
    package var share: Double? { trials > 0 ? Double(events) / Double(trials) : nil }
}

/// What clients waited for writes, as far as a gate asks.
package struct WaitTimes: Sendable {
    package var count: UInt64
    /// Seconds that a share (0…1) of the waits did not exceed; nil with none.
    package var quantile: @Sendable (Double) -> Double?
    /// How many waits were longer than so many seconds, rather too few than too many.
    package var countAbove: @Sendable (Double) -> UInt64

    package init(
        count: UInt64, quantile: @escaping @Sendable (Double) -> Double?,
        countAbove: @escaping @Sendable (Double) -> UInt64
    ) {
        self.count = count
        self.quantile = quantile
        self.countAbove = countAbove
    }

    package static let none = WaitTimes(count: 0, quantile: { _ in nil }, countAbove: { _ in 0 })
}

/// What the gates judge by: what was counted since the stage began, or over the plan's window, whichever is shorter.
package struct GateEvidence: Sendable {
    /// Reads that failed at a backend, before any fallback.
    package var legacyReads = Tally()
    package var newReads = Tally()
    /// Reads of users on new that new was not asked for while its breaker was open: it has failed them.
    package var keptAwayReads: UInt64 = 0
    /// Shadow reads that new failed, among those that it failed or that were compared.
    package var shadowReads = Tally()
    /// Shadow reads that new was not asked for while its breaker was open: as `keptAwayReads`.
    package var keptAwayShadowReads: UInt64 = 0
    package var legacyWrites = WaitTimes.none
    package var newWrites = WaitTimes.none
    /// Writes with a conflict.
    package var conflicts = Tally()
    /// Fallbacks of users on new, among their requests. What went to legacy by design, because new lacks writes of its user, is
    /// neither.
    package var fallbacks = Tally()
    /// Lasting mismatches among what was compared.
    package var mismatches = Tally()
    /// Shadow reads that should have been compared and were not: for want of room, or because either side's answer was none.
    package var droppedShadowReads: UInt64 = 0
    package var failedShadowReads: UInt64 = 0
    /// Age of the oldest outstanding leg to each backend, in seconds.
    package var legacyLagSeconds = 0.0
    package var newLagSeconds = 0.0
    /// The span that was seen, in seconds.
    package var coveredSeconds = 0.0

    package init() {}
}

/// A list of stages and the gates between them (contract §4).
package struct Plan: Sendable, Equatable {
    package var name: String
    package var stages: [Stage]
    package var gates = Gates()
    /// Length of the sliding window of the four metrics.
    package var windowSeconds: Int64 = 300
    package var minSamples = 200
    /// How sure a gate has to be before it fails, 0..<1; see `SequentialTest`.
    package var confidence = Plan.standardConfidence
    package var onBreach = BreachAction.rollback
    package var promote = PromotionMode.manual
    /// How long legacy keeps being written after the last stage.
    package var keepSeconds: Int64 = 90 * 86_400
    /// How much of the journal stays replayable towards legacy.
    package var rollbackWindowSeconds: Int64 = 86_400
    package var alerts = PlanAlerts()

    /// One false alarm in a thousand windows of a backend that is exactly at its limit.
    package static let standardConfidence = 0.999

    package init(name: String, stages: [Stage]) {
        self.name = name
        self.stages = stages
    }
}

/// One step of a plan. Shares are in hundredths of a percent: 10000 is everybody.
package struct Stage: Sendable, Equatable {
    package var name: String
    package var percentHundredths: Int
    package var shadowHundredths: Int
    package var dualWrite: Bool
    package var holdSeconds: Int64

    package init(
        name: String, percentHundredths: Int, shadowHundredths: Int = 10_000, dualWrite: Bool = true,
        holdSeconds: Int64 = 0
    ) {
        self.name = name
        self.percentHundredths = percentHundredths
        self.shadowHundredths = shadowHundredths
        self.dualWrite = dualWrite
        self.holdSeconds = holdSeconds
    }
}

/// Thresholds; nil means that this figure is no gate. Ratios are 0...1.
package struct Gates: Sendable, Equatable {
    package var readErrorRate: Double?
    /// How far new's read errors may be above legacy's of the same minutes, in points: 0.002 is 0.2 %.
    package var readErrorRateOverLegacy: Double?
    package var writeP95Seconds: Double?
    /// How many times legacy's p95 of the same minutes new's may be.
    package var writeP95OverLegacy: Double?
    package var conflictRate: Double?
    package var fallbackRate: Double?
    package var mismatchRate: Double?
    package var journalLagSeconds: Double?

    package init() {}

    /// Nothing is judged.
    package var isEmpty: Bool { self == Gates() }
}

package enum BreachAction: String, Sendable, CaseIterable { case rollback, pause, alert }
package enum PromotionMode: String, Sendable, CaseIterable { case manual, automatic }

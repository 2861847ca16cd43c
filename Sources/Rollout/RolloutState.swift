/// Where the rollout is: what is stored, what every worker decides by, and what `status` shows (contract §9).
package struct RolloutState: Sendable, Equatable, Codable {
    /// `state` of the contract.
    package enum Condition: String, Sendable, CaseIterable, Codable {
        /// Under way; automatic steps may happen.
        case running
        /// The operator holds automatic promotion; gates still act.
        case paused
        /// Sent back by the operator or a gate; `promote` starts again.
        case rolledBack = "rolled_back"
        /// In the last stage of the plan.
        case complete
    }

    /// The plan's name; nil without a plan.
    package var planName: String?
    /// Index of the stage in the plan; nil without a plan.
    package var stageIndex: Int?
    /// Name of the stage: what a changed plan is searched for. Nil without a plan.
    package var stageName: String?
    /// Share of buckets whose reads new serves, in hundredths of a percent.
    package var percentHundredths: Int
    /// Share of users whose reads are shadowed, in hundredths of a percent.
    package var shadowHundredths: Int
    /// Whether writes go to both backends.
    package var dualWrite: Bool
    package var condition: Condition
    /// When stage or percent came to be what they are, in milliseconds since 1970. A hold counts from here.
    package var sinceMilliseconds: Int64
    /// Counts the changes: the `If-Match` of the admin API.
    package var generation: Int64
    /// True: the percent was set as a number and differs from the stage's.
    package var isPercentDirect: Bool

    package init(
        planName: String?, stageIndex: Int?, stageName: String?, percentHundredths: Int, shadowHundredths: Int,
        dualWrite: Bool, condition: Condition, sinceMilliseconds: Int64, generation: Int64, isPercentDirect: Bool
    ) {
        self.planName = planName
        self.stageIndex = stageIndex
        self.stageName = stageName
        self.percentHundredths = percentHundredths
        self.shadowHundredths = shadowHundredths
        self.dualWrite = dualWrite
        self.condition = condition
        self.sinceMilliseconds = sinceMilliseconds
        self.generation = generation
        self.isPercentDirect = isPercentDirect
    }
}

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
        /// In the last stage of the plan, at its percent, after an earlier one.
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
    /// When stage or percent came to be what they are, in milliseconds since 1970.
    package var sinceMilliseconds: Int64
    /// When `condition` came to be what it is; nil: with stage and percent. Read `stateSince`.
    package internal(set) var stateSinceMilliseconds: Int64?
    /// Where the present attempt in this stage began: from here on the gates look, and the hold counts; nil: with stage and
    /// percent. Read `attemptSince`.
    package internal(set) var attemptSinceMilliseconds: Int64?
    /// The hold counts no more than what came after this; nil: all of the attempt. Read `heldFrom`.
    package internal(set) var heldFromMilliseconds: Int64?
    /// Counts the changes: the `If-Match` of the admin API.
    package var generation: Int64
    /// True: the percent was set as a number and differs from the stage's.
    package var isPercentDirect: Bool
    /// The percent was set as a number, whatever the stage's is: until somebody promotes, nothing goes on by itself.
    package var isSetByHand: Bool
    /// Whether legacy gets the writes that new has decided over. False only at 100 percent, after `keep` has ended or the
    /// operator said so: legacy then lacks what is written, and nobody may be sent there but by a rollback.
    package var legacyWrites: Bool
    /// When `legacyWrites` came to be what it is, in milliseconds since 1970; nil: it has never changed.
    package var legacyWritesSinceMilliseconds: Int64?

    /// Why the rollout is paused or rolled back, in words for an operator; nil while it goes on.
    package var conditionReason: String?

    package init(
        planName: String?, stageIndex: Int?, stageName: String?, percentHundredths: Int, shadowHundredths: Int,
        dualWrite: Bool, condition: Condition, sinceMilliseconds: Int64, generation: Int64, isPercentDirect: Bool,
        isSetByHand: Bool? = nil, legacyWrites: Bool = true, legacyWritesSinceMilliseconds: Int64? = nil,
        conditionReason: String? = nil
    ) {
        self.isSetByHand = isSetByHand ?? isPercentDirect
        self.conditionReason = conditionReason
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
        self.legacyWrites = legacyWrites
        self.legacyWritesSinceMilliseconds = legacyWritesSinceMilliseconds
    }

    private enum CodingKeys: String, CodingKey {
        case planName, stageIndex, stageName, percentHundredths, shadowHundredths, dualWrite, condition
        case sinceMilliseconds, generation, isPercentDirect, legacyWrites, legacyWritesSinceMilliseconds
        case conditionReason, isSetByHand, stateSinceMilliseconds, attemptSinceMilliseconds, heldFromMilliseconds
    }

    /// A state of an earlier version knows nothing of legacy's writes: legacy was always written.
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        planName = try members.decodeIfPresent(String.self, forKey: .planName)
        stageIndex = try members.decodeIfPresent(Int.self, forKey: .stageIndex)
        stageName = try members.decodeIfPresent(String.self, forKey: .stageName)
        percentHundredths = try members.decode(Int.self, forKey: .percentHundredths)
        shadowHundredths = try members.decode(Int.self, forKey: .shadowHundredths)
        dualWrite = try members.decode(Bool.self, forKey: .dualWrite)
        condition = try members.decode(Condition.self, forKey: .condition)
        sinceMilliseconds = try members.decode(Int64.self, forKey: .sinceMilliseconds)
        generation = try members.decode(Int64.self, forKey: .generation)
        isPercentDirect = try members.decode(Bool.self, forKey: .isPercentDirect)
        legacyWrites = try members.decodeIfPresent(Bool.self, forKey: .legacyWrites) ?? true
        legacyWritesSinceMilliseconds = try members.decodeIfPresent(Int64.self, forKey: .legacyWritesSinceMilliseconds)
        conditionReason = try members.decodeIfPresent(String.self, forKey: .conditionReason)
        isSetByHand = try members.decodeIfPresent(Bool.self, forKey: .isSetByHand) ?? isPercentDirect
        stateSinceMilliseconds = try members.decodeIfPresent(Int64.self, forKey: .stateSinceMilliseconds)
        attemptSinceMilliseconds = try members.decodeIfPresent(Int64.self, forKey: .attemptSinceMilliseconds)
        heldFromMilliseconds = try members.decodeIfPresent(Int64.self, forKey: .heldFromMilliseconds)
    }

    /// What is as it always was is left out, so that an unchanged state of an earlier version stays the same text.
    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(planName, forKey: .planName)
        try members.encodeIfPresent(stageIndex, forKey: .stageIndex)
        try members.encodeIfPresent(stageName, forKey: .stageName)
        try members.encode(percentHundredths, forKey: .percentHundredths)
        try members.encode(shadowHundredths, forKey: .shadowHundredths)
        try members.encode(dualWrite, forKey: .dualWrite)
        try members.encode(condition, forKey: .condition)
        try members.encode(sinceMilliseconds, forKey: .sinceMilliseconds)
        try members.encode(generation, forKey: .generation)
        try members.encode(isPercentDirect, forKey: .isPercentDirect)
        if !legacyWrites { try members.encode(false, forKey: .legacyWrites) }
        try members.encodeIfPresent(legacyWritesSinceMilliseconds, forKey: .legacyWritesSinceMilliseconds)
        try members.encodeIfPresent(conditionReason, forKey: .conditionReason)
        if isSetByHand != isPercentDirect { try members.encode(isSetByHand, forKey: .isSetByHand) }
        try members.encodeIfPresent(stateSinceMilliseconds, forKey: .stateSinceMilliseconds)
        try members.encodeIfPresent(attemptSinceMilliseconds, forKey: .attemptSinceMilliseconds)
        try members.encodeIfPresent(heldFromMilliseconds, forKey: .heldFromMilliseconds)
    }
}

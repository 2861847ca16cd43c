/// What an operator or a gate may ask of the rollout (contract §2, §9).
package enum RolloutCommand: Sendable, Equatable {
    /// To the next stage, or to the named one. `force` overrules failing gates and a way back that does not work.
    case promote(to: String?, force: Bool)
    /// To the first stage of percent 0 that dual-writes, or to the named one.
    case rollback(to: String?)
    case pause
    case resume
    /// Sets the percent, in hundredths, whatever the stages say.
    case setPercent(hundredths: Int)
    /// Ends the writing of legacy, in the last stage at 100 percent: by the operator, or when `keep` has ended.
    case stopLegacy
    /// Writes legacy again. `force` overrules obstacles: changes that legacy lacks and that are not there yet.
    case resumeLegacy(force: Bool)

    var isRollback: Bool { if case .rollback = self { true } else { false } }
}

/// What came of a command. Nothing has happened yet: the caller stores the new state, then publishes it.
package enum RolloutOutcome: Sendable, Equatable {
    /// A new state, its generation one above the old one's; the warnings are sentences for the operator.
    case changed(RolloutState, warnings: [String])
    /// The state was already what the command asks for; accepted, nothing to store.
    case unchanged(RolloutState, warnings: [String])
    /// 409: the reasons are sentences for the operator.
    case refused(reasons: [String])
}

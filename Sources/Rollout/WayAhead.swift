/// What lies between here and the next stage, apart from the gates: whether new answers, and what it lacks.
package struct WayAhead: Sendable, Equatable {
    /// False while new's breaker is open: hardly anything is asked of it, so that its figures say little.
    package var newAnswers: Bool
    /// Legs to new that were refused for good: changes that clients were told are saved, and that new lacks.
    package var parkedLegs: Int
    /// When the newest change with such a leg was accepted, in milliseconds since 1970; nil without one.
    package var parkedLastMilliseconds: Int64?

    package init(newAnswers: Bool = true, parkedLegs: Int = 0, parkedLastMilliseconds: Int64? = nil) {
        self.newAnswers = newAnswers
        self.parkedLegs = parkedLegs
        self.parkedLastMilliseconds = parkedLastMilliseconds
    }

    /// What is to be said to whoever sends users there, as sentences.
    package var cautions: [String] {
        var cautions = newAnswers ? [] : [Self.isSilent]
        if parkedLegs > 0 {
            let legs = parkedLegs == 1 ? "1 leg to new is" : "\(parkedLegs) legs to new are"
            cautions.append("new lacks what clients were told is saved: \(legs) parked (cutover journal --parked)")
        }
        return cautions
    }

    static let isSilent = "new does not answer; its breaker is open"
}

extension RolloutState {
    /// Whether a breach may be mended by going back: somebody is on new, what fails is not legacy's own figure, and legacy has
    /// what they wrote.
    func isHelpedByGoingBack(_ gate: GateFinding) -> Bool {
        percentHundredths > 0 && gate.side != .legacy && legacyWrites
    }

    /// What holds a step that is taken by itself, apart from its time: a promotion, or the end of the writing of legacy.
    ///
    /// Parked legs from before this attempt hold nothing: whoever began it was told their number.
    /// - Parameter gates: those of the plan.
    package func holds(gates: [GateFinding], ahead: WayAhead) -> [String] {
        var reasons = ahead.newAnswers ? [] : [WayAhead.isSilent]
        if isSetByHand { reasons.append("the percent was set by hand: promote it to go on along the plan") }
        return reasons + holds(gates) + holds(ahead)
    }

    func holds(_ gates: [GateFinding]) -> [String] {
        gates.filter { $0.isApplicable && $0.verdict != .pass }.map { gate in
            gate.verdict == .fail ? gate.failureWords : "gate \(gate.name) cannot say yet: \(gate.reason)"
        }
    }

    func holds(_ ahead: WayAhead) -> [String] {
        guard let last = ahead.parkedLastMilliseconds, last >= attemptSince else { return [] }
        let legs = ahead.parkedLegs == 1 ? "1 leg" : "\(ahead.parkedLegs) legs"
        return ["new has refused changes since this stage began: \(legs) to it parked (cutover journal --parked)"]
    }
}

/// What a gate says (contract §1).
package enum GateVerdict: String, Sendable, CaseIterable, Codable {
    case pass
    case fail
    /// Too few samples.
    case insufficient
    /// The window is not yet full after a start.
    case warmingUp = "warming_up"
}

/// A gate's name, as in the plan's `gates`, and its verdict.
package struct GateFinding: Sendable, Equatable {
    package var name: String
    package var verdict: GateVerdict

    package init(name: String, verdict: GateVerdict) {
        self.name = name
        self.verdict = verdict
    }
}

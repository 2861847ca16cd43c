import Rollout
import Values

/// The gates of the plan, in its order: what each looked at since its stage began, and what it says.
func gatesJSON(_ findings: [GateFinding]) -> JSONValue {
    .array(
        findings.filter(\.isGate).map { gate in
            .object([
                ("name", .string(gate.name)), ("threshold", number(gate.threshold)),
                ("over_legacy", number(gate.overLegacy)), ("backend", backendJSON(gate)),
                ("value", number(gate.value)), ("samples", .number(String(gate.samples))),
                ("verdict", .string(gate.verdict.rawValue)), ("reason", .string(gate.reason)),
                ("applies", .bool(gate.isApplicable)),
            ])
        })
}

/// The four figures with what their gates say beside them.
func explained(_ figures: [(String, JSONValue)], by findings: [GateFinding]) -> [(String, JSONValue)] {
    figures.map { name, value in
        let gateName = name == "write_p95_seconds" ? "write_p95" : name
        guard case .object(let members) = value, let gate = findings.first(where: { $0.name == gateName }) else {
            return (name, value)
        }
        return (
            name,
            .object(
                members + [
                    ("over_legacy", number(gate.overLegacy)), ("backend", backendJSON(gate)),
                    ("reason", .string(gate.reason)),
                ])
        )
    }
}

/// What holds the next step; null in the last stage and without a plan.
func nextJSON(_ next: NextStep?) -> JSONValue {
    guard let next else { return .null }
    func seconds(_ milliseconds: Int64) -> JSONValue { .number(String(milliseconds / 1000)) }
    return .object([
        ("stage", .string(next.stage)), ("percent", .number(Percent.text(hundredths: next.percentHundredths))),
        ("mode", .string(next.mode.rawValue)), ("hold_seconds", .number(String(next.holdSeconds))),
        ("held_seconds", seconds(next.heldMilliseconds)), ("idle_seconds", seconds(next.idleMilliseconds)),
        ("waiting_seconds", seconds(next.waitingMilliseconds)), ("ready", .bool(next.isReady)),
        ("blocked_by", .array(next.blockedBy.map { .string($0) })),
    ])
}

private func backendJSON(_ gate: GateFinding) -> JSONValue { gate.side.map { .string("\($0.name)") } ?? .null }

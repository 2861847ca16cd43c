import Rollout
import Values

/// The rollout's state as the API shows it (contract §9).
func rolloutJSON(_ state: RolloutState) -> JSONValue {
    var members: [(String, JSONValue)] = [
        ("plan", state.planName.map { .string($0) } ?? .null),
        ("stage", state.stageName.map { .string($0) } ?? .null),
        ("percent", .number(Percent.text(hundredths: state.percentHundredths))),
        ("shadow_percent", .number(Percent.text(hundredths: state.shadowHundredths))),
        ("dual_write", .bool(state.dualWrite)), ("legacy_writes", .bool(state.legacyWrites)),
        ("state", .string(state.condition.rawValue)),
        ("since", .string(Instant(milliseconds: state.sinceMilliseconds).text)),
        ("state_since", .string(Instant(milliseconds: state.stateSince).text)),
        ("generation", .number(String(state.generation))),
    ]
    if !state.legacyWrites, let since = state.legacyWritesSinceMilliseconds {
        members.append(("legacy_unwritten_since", .string(Instant(milliseconds: since).text)))
    }
    return .object(members)
}

/// When legacy stops being written by itself.
struct KeepReading: Sendable {
    /// In milliseconds since 1970; nil: not by itself.
    var endsMilliseconds: Int64?
    /// It has ended, and this holds it, as sentences.
    var waits: [String] = []
}

/// The rollout's state, why it is paused or rolled back, and when legacy's end comes.
func stateJSON(_ state: RolloutState, _ keep: KeepReading) -> JSONValue {
    var members: [(String, JSONValue)] = [("state_reason", state.conditionReason.map { .string($0) } ?? .null)]
    if let end = keep.endsMilliseconds {
        members.append(("keep_ends_at", .string(Instant(milliseconds: end).text)))
        if !keep.waits.isEmpty { members.append(("keep_waits", .array(keep.waits.map { .string($0) }))) }
    }
    return rolloutJSON(state).adding(members)
}

extension JSONValue {
    /// An object with more members; anything else as it is.
    func adding(_ members: [(String, JSONValue)]) -> JSONValue {
        guard case .object(let own) = self else { return self }
        return .object(own + members)
    }
}

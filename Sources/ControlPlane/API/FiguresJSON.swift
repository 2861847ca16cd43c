import Rollout
import Telemetry
import Values

/// The four figures as `status` shows them: what the gate looks at, and what stands behind it.
func figuresJSON(_ figures: FourFigures, _ gates: [GateReading]) -> [(String, JSONValue)] {
    gates.filter { $0.name != .mismatchRate && $0.name != .journalLag }.map { gate in
        let members: [(String, JSONValue)] = [
            ("value", number(gate.figure.value)), ("samples", .number(String(gate.figure.samples))),
            ("threshold", number(gate.threshold)), ("verdict", .string(gate.verdict.rawValue)),
        ]
        let name = gate.name == .writeP95 ? "write_p95_seconds" : gate.name.rawValue
        return (name, .object(members + detailsJSON(figures, of: gate.name)))
    }
}

/// What a figure is made of: by backend, by who noticed, by reason; and what clients saw of it.
func detailsJSON(_ figures: FourFigures, of gate: GateName) -> [(String, JSONValue)] {
    switch gate {
    case .readErrorRate:
        [
            ("by_backend", byBackendJSON(figures.readErrorRatio)),
            ("client", figureJSON(figures.allClientReadErrorRatio)),
            ("client_by_side", byBackendJSON(figures.clientReadErrorRatio)),
        ]
    case .writeP95:
        [
            ("by_backend", byBackendJSON(figures.writeP95Seconds)),
            ("leg_by_backend", byBackendJSON(figures.legP95Seconds)),
            ("total", figureJSON(figures.allWritesP95Seconds)),
            ("client_errors_by_side", byBackendJSON(figures.clientWriteErrorRatio)),
        ]
    case .conflictRate: [("by_source", countsJSON(figures.conflictsBySource))]
    case .fallbackRate:
        [("by_reason", countsJSON(figures.fallbacksByReason)), ("by_kind", countsJSON(figures.fallbacksByKind))]
    case .mismatchRate, .journalLag: []
    }
}

/// A figure without a sample has no value: null, never 0.
private func figureJSON(_ figure: Figure) -> JSONValue {
    .object([("value", number(figure.value)), ("samples", .number(String(figure.samples)))])
}

private func byBackendJSON(_ figures: ByBackend<Figure>) -> JSONValue {
    .object(Backend.allCases.map { ($0.label, figureJSON(figures[$0])) })
}

/// Counts by the words of a label, in the label's order.
private func countsJSON<Label: RawRepresentable<String> & CaseIterable & Hashable>(
    _ counts: [Label: UInt64]
) -> JSONValue {
    .object(Label.allCases.map { ($0.rawValue, .number(String(counts[$0, default: 0]))) })
}

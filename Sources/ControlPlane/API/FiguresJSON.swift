import Telemetry

/// The four figures as `status` shows them: what the gate looks at, and both backends beside it.
func figuresJSON(_ figures: FourFigures, _ gates: [GateReading]) -> [(String, JSONValue)] {
    gates.filter { $0.name != .mismatchRate && $0.name != .journalLag }.map { gate in
        var members: [(String, JSONValue)] = [
            ("value", number(gate.figure.value)), ("samples", .number(String(gate.figure.samples))),
            ("threshold", number(gate.threshold)), ("verdict", .string(gate.verdict.rawValue)),
        ]
        let both: ByBackend<Figure>? =
            switch gate.name {
            case .readErrorRate: figures.readErrorRatio
            case .writeP95: figures.writeP95Seconds
            default: nil
            }
        if let both {
            members.append(
                (
                    "by_backend",
                    .object(
                        Backend.allCases.map { backend in
                            (
                                backend.label,
                                .object([
                                    ("value", number(both[backend].value)),
                                    ("samples", .number(String(both[backend].samples))),
                                ])
                            )
                        })
                ))
        }
        return (gate.name == .writeP95 ? "write_p95_seconds" : gate.name.rawValue, .object(members))
    }
}

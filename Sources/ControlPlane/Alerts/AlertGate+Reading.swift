import Rollout
import Telemetry

extension AlertGate {
    /// The plan's gates among what was read.
    static func all(_ readings: [GateReading]) -> [AlertGate] {
        readings.filter { $0.threshold != nil }.map { gate in
            AlertGate(
                name: gate.name.rawValue, verdict: GateVerdict(rawValue: gate.verdict.rawValue) ?? .insufficient,
                reason: words(gate))
        }
    }

    private static func words(_ gate: GateReading) -> String {
        func shown(_ value: Double?) -> String {
            guard let value else { return "no sample" }
            if gate.name == .writeP95 || gate.name == .journalLag { return "\(Int64((value * 1000).rounded())) ms" }
            return "\((value * 10_000).rounded() / 100) %"
        }
        return "\(shown(gate.figure.value)) of \(gate.figure.samples) samples, limit \(shown(gate.threshold))"
    }
}

import Synchronization

@testable import ControlPlane

/// Changes that somebody heard of.
final class Heard: Sendable {
    private let list = Mutex<[RolloutChange]>([])

    var changes: [RolloutChange] { list.withLock { $0 } }
    func add(_ change: RolloutChange) { list.withLock { $0.append(change) } }
}

/// An alert that differs from others by its number only.
func alert(_ number: Int = 1, _ severity: Alert.Severity = .critical, endsAt: Int64? = nil) -> Alert {
    Alert(
        name: "Test", severity: severity, labels: ["number": String(number)], summary: "number \(number)",
        description: "Do something.", runbook: "docs/operating.md#gates", startsAt: 1_000_000, endsAt: endsAt)
}

import CLinux
import Gateway
import Rollout
import Telemetry

extension DataPlane {
    /// How long the oldest outstanding leg of each backend has waited, in seconds; 0 where none is outstanding.
    func oldestPendingSeconds() -> ByBackend<Double> {
        let now = clinux_wall_milliseconds()
        func age(_ side: Side) -> Double {
            guard let oldest = shared.coordinator.backlog(side).oldestMilliseconds else { return 0 }
            return Double(max(0, now - oldest)) / 1000
        }
        return ByBackend(legacy: age(.legacy), new: age(.new))
    }
}

import CLinux
import Configuration
package import Gateway
package import Rollout
import Synchronization
package import Telemetry

/// Takes a reading of all counters every second and tells the four figures over the plan's window. Safe from any thread.
package final class FigureBoard: Sendable {
    private let dataPlane: DataPlane
    private let control: LoopMetrics
    private let window: Mutex<SlidingWindow>
    private let catchUps = Mutex(ByBackend(legacy: CatchUpWindow(), new: CatchUpWindow()))

    package init(dataPlane: DataPlane, control: LoopMetrics, windowSeconds: Int64) {
        self.dataPlane = dataPlane
        self.control = control
        window = Mutex(
            SlidingWindow(
                window: UInt64(windowSeconds) * 1_000_000_000, now: clinux_monotonic_nanoseconds(),
                cumulative: MetricsSnapshot()))
    }

    /// All counters, now.
    package func snapshot() -> MetricsSnapshot { MetricsSnapshot(of: dataPlane.metrics + [control]) }

    /// To be called every second.
    package func tick() {
        let cumulative = snapshot()
        let now = clinux_monotonic_nanoseconds()
        window.withLock { $0.push(now: now, cumulative: cumulative) }
        let coordinator = dataPlane.shared.coordinator
        catchUps.withLock { catchUps in
            for side in Side.allCases {
                catchUps[side.backend].push(
                    now: now, settled: coordinator.settled(side), outstanding: coordinator.backlog(side).count)
            }
        }
    }

    /// How fast outstanding legs are settled, and when none is left.
    package func catchUp() -> ByBackend<CatchUp> {
        let (now, coordinator) = (clinux_monotonic_nanoseconds(), dataPlane.shared.coordinator)
        return catchUps.withLock { catchUps in
            func read(_ side: Side) -> CatchUp {
                catchUps[side.backend].catchUp(
                    now: now, settled: coordinator.settled(side), outstanding: coordinator.backlog(side).count)
            }
            return ByBackend(legacy: read(.legacy), new: read(.new))
        }
    }

    /// The four figures over the window, and the counters that they end with.
    ///
    /// - Parameter since: nothing from before this instant of `mark` counts.
    package func figures(since: UInt64? = nil) -> (FourFigures, MetricsSnapshot) {
        let (evidence, cumulative) = evidence(since: since)
        return (evidence.figures, cumulative)
    }

    /// The raw counts under the figures, and the counters that they end with.
    ///
    /// - Parameter since: nothing from before this instant of `mark` counts, such as the begin of a stage.
    package func evidence(since: UInt64? = nil) -> (FigureEvidence, MetricsSnapshot) {
        let cumulative = snapshot()
        let now = clinux_monotonic_nanoseconds()
        return (window.withLock { $0.evidence(now: now, cumulative: cumulative, since: since) }, cumulative)
    }

    /// Begins a span: figures and evidence `since` the result hold what is counted from now on, and nothing else.
    ///
    /// - Returns: now, in ns of the monotonic clock.
    package func mark() -> UInt64 {
        let cumulative = snapshot()
        let now = clinux_monotonic_nanoseconds()
        window.withLock { $0.mark(now: now, cumulative: cumulative) }
        return now
    }

    /// A plan with another window starts measuring anew.
    package func restart(windowSeconds: Int64) {
        let cumulative = snapshot()
        window.withLock {
            $0 = SlidingWindow(
                window: UInt64(windowSeconds) * 1_000_000_000, now: clinux_monotonic_nanoseconds(),
                cumulative: cumulative)
        }
    }
}

/// One figure as `status` and the metrics show it: its value over the plan's window, and what the gate on it says.
package struct GateReading: Sendable {
    package var name: GateName
    package var figure: Figure
    package var threshold: Double?
    package var verdict: GateVerdict
}

/// Puts the verdicts beside the figures of the whole window; a gate itself looks at what came since its stage began.
func gateReadings(_ figures: FourFigures, plan: Plan?, _ findings: [GateFinding]) -> [GateReading] {
    let minSamples = UInt64(plan?.minSamples ?? 200)
    return findings.compactMap { finding in
        guard let name = GateName(rawValue: finding.name) else { return nil }
        let figure =
            switch name {
            case .readErrorRate: FourFigures.watched(figures.readErrorRatio, minSamples: minSamples).figure
            case .writeP95: FourFigures.watched(figures.writeP95Seconds, minSamples: minSamples).figure
            case .conflictRate: figures.conflictRatio
            case .fallbackRate: figures.fallbackRatio
            case .mismatchRate: figures.mismatchRatio
            case .journalLag: Figure(value: finding.value, samples: finding.samples)
            }
        return GateReading(name: name, figure: figure, threshold: finding.threshold, verdict: finding.verdict)
    }
}

import Rollout

/// The page that `/metrics` answers: every series of contract §10, at 0 from the first scrape.
///
/// - Parameters:
///   - snapshot: everything counted since the start.
///   - figures: the figures over the plan's window.
///   - gauges: what the control plane knows.
/// - Returns: the text, `PrometheusText.contentType`.
package func renderMetrics(_ snapshot: MetricsSnapshot, figures: FourFigures, gauges: ControlGauges) -> [UInt8] {
    var text = PrometheusText()
    text.figures(figures, gauges)
    text.requests(snapshot)
    text.identity(snapshot)
    text.reads(snapshot)
    text.writes(snapshot)
    text.journal(snapshot, gauges)
    text.rollout(snapshot, gauges)
    text.cluster(gauges.cluster)
    text.alerts(gauges.alerts)
    text.history(gauges)
    text.accessLog(gauges.accessLog)
    text.spans(gauges.spans)
    text.connections(snapshot, gauges)
    text.tls(snapshot)
    text.certificates(gauges.certificates)
    text.process(gauges)
    return text.bytes
}

extension Backend {
    /// This backend as a label pair.
    var pair: (String, String) { ("backend", label) }
}

extension PrometheusText {
    /// The four, and the fifth that has a gate.
    mutating func figures(_ figures: FourFigures, _ gauges: ControlGauges) {
        begin(
            "cutover_read_error_ratio", .gauge,
            "Reads that failed at this backend before any fallback, divided by reads sent there; over the window."
        )
        for backend in Backend.allCases { sample([backend.pair], figures.readErrorRatio[backend].value) }
        begin(
            "cutover_write_p95_seconds", .gauge,
            "95th percentile of what clients waited for writes, by the side that they were meant for; over the window."
        )
        for backend in Backend.allCases { sample([backend.pair], figures.writeP95Seconds[backend].value) }
        begin(
            "cutover_conflict_ratio", .gauge,
            "Writes refused because of their revision, divided by writes received; over the window.")
        sample([], figures.conflictRatio.value)
        begin(
            "cutover_fallback_ratio", .gauge,
            "Requests that legacy answered in place of new, divided by requests of users on new; over the window.")
        sample([], figures.fallbackRatio.value)
        begin(
            "cutover_mismatch_ratio", .gauge,
            "Shadow reads with a lasting difference, divided by shadow reads compared; over the window.")
        sample([], figures.mismatchRatio.value)
        samples(figures)
        begin("cutover_window_seconds", .gauge, "The plan's window.")
        sample([], gauges.windowSeconds)
        begin(
            "cutover_window_covered_seconds", .gauge,
            "The span that the figures cover; less than the window after a start.")
        sample([], figures.coveredSeconds)
        begin("cutover_gate_verdict", .gauge, "1 for what the gate says now, 0 for the other verdicts.")
        for gate in GateName.allCases {
            let now = gauges.verdicts[gate] ?? .warmingUp
            for verdict in GateVerdict.allCases {
                sample([("gate", gate.rawValue), ("verdict", verdict.rawValue)], verdict == now ? 1 as UInt64 : 0)
            }
        }
        begin(
            "cutover_gate_threshold", .gauge,
            "The plan's threshold, in the unit of the figure; NaN where there is none.")
        for gate in GateName.allCases { sample([("gate", gate.rawValue)], gauges.thresholds[gate]) }
    }

    private mutating func samples(_ figures: FourFigures) {
        begin(
            "cutover_figure_samples", .gauge,
            "Events that a figure rests on, over the window; backend is all where a figure knows no backend.")
        for (figure, values) in [
            ("read_error_ratio", figures.readErrorRatio), ("write_p95_seconds", figures.writeP95Seconds),
        ] {
            for backend in Backend.allCases { sample([("figure", figure), backend.pair], values[backend].samples) }
        }
        for (figure, value) in [
            ("conflict_ratio", figures.conflictRatio), ("fallback_ratio", figures.fallbackRatio),
            ("mismatch_ratio", figures.mismatchRatio),
        ] {
            sample([("figure", figure), ("backend", "all")], value.samples)
        }
    }

    /// Where the rollout stands.
    mutating func rollout(_ snapshot: MetricsSnapshot, _ gauges: ControlGauges) {
        begin("cutover_rollout_percent", .gauge, "Share of buckets whose reads new serves, 0 to 100.")
        sample([], gauges.rolloutPercent)
        begin("cutover_shadow_percent", .gauge, "Share of users whose reads are compared, 0 to 100.")
        sample([], gauges.shadowPercent)
        begin(
            "cutover_rollout_generation", .gauge,
            "Grows with every change of the rollout; instances that differ for long do not agree.")
        sample([], gauges.rolloutGeneration)
        begin("cutover_rollbacks_total", .counter, "Times the rollout went back, by what set it off.")
        for trigger in RollbackTrigger.allCases {
            sample([("trigger", trigger.rawValue)], snapshot.counter(Cells.rollbacks + trigger.index))
        }
    }

    /// The build and the process, under the names that every exporter uses.
    mutating func process(_ gauges: ControlGauges) {
        begin("cutover_build_info", .gauge, "1, labelled with the version of this build.")
        sample([("version", gauges.version)], 1 as UInt64)
        begin("process_cpu_seconds_total", .counter, "Total user and system CPU time spent in seconds.")
        sample([], gauges.process.cpuSeconds)
        begin("process_resident_memory_bytes", .gauge, "Resident memory size in bytes.")
        sample([], gauges.process.residentMemoryBytes)
        begin("process_virtual_memory_bytes", .gauge, "Virtual memory size in bytes.")
        sample([], gauges.process.virtualMemoryBytes)
        begin("process_open_fds", .gauge, "Number of open file descriptors.")
        sample([], gauges.process.openDescriptors)
        begin("process_max_fds", .gauge, "Maximum number of open file descriptors.")
        sample([], gauges.process.maxDescriptors)
        begin("process_start_time_seconds", .gauge, "Start time of the process since unix epoch in seconds.")
        sample([], gauges.process.startTimeSeconds)
    }
}

package import Rollout

/// What the control plane knows and the loops do not: passed in at each scrape.
package struct ControlGauges: Sendable {
    /// Legs outstanding, by backend.
    package var journalPending = ByBackend<UInt64>(legacy: 0, new: 0)
    /// Age of the oldest outstanding leg in seconds, by backend; 0 when none is.
    package var journalOldestPendingSeconds = ByBackend<Double>(legacy: 0, new: 0)
    /// Outstanding legs that are only in the journal, by backend.
    package var journalDeferred = ByBackend<UInt64>(legacy: 0, new: 0)
    /// How fast outstanding legs are settled and when none is left, by backend.
    package var journalCatchUp = ByBackend(legacy: CatchUp(), new: CatchUp())
    /// Legs that wait for an operator.
    package var journalParked: UInt64 = 0
    /// Whether legacy gets the writes that new has decided over.
    package var legacyWritten = true
    /// Changes that legacy lacks and that a reverse sync has still to put back.
    package var legacyMissing: UInt64 = 0
    /// Changes that wait for their group commit.
    package var journalQueue: UInt64 = 0
    /// Groups that the journal has made durable since the start, each with one commit; groups of facts alone are among them.
    package var journalGroups: UInt64 = 0
    /// Writes that were judged in those groups.
    package var journalGroupWrites: UInt64 = 0
    /// False while the journal cannot be written and writes are answered 503.
    package var journalWritable = true
    /// The rollout's percent, 0…100.
    package var rolloutPercent: Double = 0
    /// The share of users whose reads are shadowed, 0…100.
    package var shadowPercent: Double = 0
    /// The generation of the rollout's state: it grows with every change.
    package var rolloutGeneration: UInt64 = 0
    /// Whether a backend is thought healthy.
    package var backendHealthy = ByBackend(legacy: true, new: true)
    /// What the gates say; a gate that is not here is `warming_up`.
    package var verdicts: [GateName: GateVerdict] = [:]
    /// The plan's thresholds, in the unit of the figure; a gate that is not here has none (NaN).
    package var thresholds: [GateName: Double] = [:]
    /// The plan's window in seconds.
    package var windowSeconds: Double = 0
    /// How the gateway stands with the others of a shared store.
    package var cluster = ClusterGauges()
    /// Rows of the history that the store did not take.
    package var historyDropped: UInt64 = 0
    /// Alerts that the gateway posts itself.
    package var alerts = AlertGauges()
    /// Lines of the access log.
    package var accessLog = AccessLogGauges()
    /// Spans that are exported.
    package var spans = SpanGauges()
    /// Certificates that listeners show; none without TLS.
    package var certificates: [CertificateEnd] = []
    /// The process itself.
    package var process = ProcessFigures()
    /// Event loops.
    package var workers: UInt64 = 0
    /// The version of this build.
    package var version: String = ""

    /// A gateway at its start.
    package init() {}
}

/// The figures of the process under their standard names; the caller reads them from the system.
package struct ProcessFigures: Sendable {
    /// User and system time, in seconds.
    package var cpuSeconds: Double = 0
    package var residentMemoryBytes: UInt64 = 0
    package var virtualMemoryBytes: UInt64 = 0
    package var openDescriptors: UInt64 = 0
    package var maxDescriptors: UInt64 = 0
    /// Seconds since 1970.
    package var startTimeSeconds: Double = 0

    /// All zero.
    package init() {}
}

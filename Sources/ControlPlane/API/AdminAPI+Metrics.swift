import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry

extension AdminAPI {
    func metricsPage() async -> ServiceResponse {
        let picture = await controller.picture
        let (figures, totals) = board.figures()
        let lag = dataPlane.oldestPendingSeconds()
        let gates = gateReadings(figures, plan: picture.settings.plan, await pilot.reading().gates)
        let parked = await parkedLegs()
        let journalFigures = journal.writer.figures
        var gauges = ControlGauges()
        gauges.journalPending = ByBackend(
            legacy: UInt64(dataPlane.shared.coordinator.backlog(.legacy).count),
            new: UInt64(dataPlane.shared.coordinator.backlog(.new).count))
        gauges.journalOldestPendingSeconds = lag
        gauges.journalDeferred = ByBackend(
            legacy: UInt64(dataPlane.shared.coordinator.deferred(.legacy)),
            new: UInt64(dataPlane.shared.coordinator.deferred(.new)))
        gauges.journalCatchUp = board.catchUp()
        gauges.journalParked = UInt64(parked)
        gauges.legacyWritten = picture.state.legacyWrites
        gauges.legacyMissing = UInt64(dataPlane.shared.coordinator.legacyGate.missing)
        gauges.journalQueue = UInt64(journalFigures.queueDepth)
        gauges.journalGroups = journalFigures.groups
        gauges.journalGroupWrites = journalFigures.submissions
        gauges.journalWritable = health.isWritable.load(ordering: .relaxed)
        gauges.rolloutPercent = Double(picture.state.percentHundredths) / 100
        gauges.shadowPercent = Double(picture.state.shadowHundredths) / 100
        gauges.rolloutGeneration = UInt64(max(0, picture.state.generation))
        gauges.backendHealthy = ByBackend(legacy: dataPlane.isHealthy(.legacy), new: dataPlane.isHealthy(.new))
        for gate in gates {
            gauges.verdicts[gate.name] = gate.verdict
            if let threshold = gate.threshold { gauges.thresholds[gate.name] = threshold }
        }
        gauges.windowSeconds = Double(picture.settings.plan?.windowSeconds ?? 300)
        if let state = storage.cluster?.state {
            gauges.cluster = ClusterGauges(
                members: UInt64(state.members), isConnected: state.isConnected,
                mayDeliver: dataPlane.shared.coordinator.standing.mayDeliver, takenOver: state.takenOver,
                fenced: state.fenced, announcements: state.announcements, lateAnnouncements: state.lateAnnouncements,
                watched: UInt64(state.watched),
                lastContactSeconds: Double(state.lastContactMilliseconds) / 1000)
        }
        gauges.alerts = alerts.gauges
        gauges.historyDropped = history.droppedRows
        let accessLog = dataPlane.shared.accessLog.figures
        gauges.accessLog = AccessLogGauges(written: accessLog.written, dropped: accessLog.dropped)
        let spans = dataPlane.shared.spans.figures
        gauges.spans = SpanGauges(exported: spans.exported, dropped: spans.dropped)
        gauges.certificates = dataPlane.tls.current.certificateEnds
        gauges.process = readProcessFigures()
        gauges.workers = UInt64(dataPlane.metrics.count)
        gauges.version = productVersion
        return ServiceResponse(
            status: 200, headers: [("Content-Type", PrometheusText.contentType)],
            body: renderMetrics(totals, figures: figures, gauges: gauges))
    }
}

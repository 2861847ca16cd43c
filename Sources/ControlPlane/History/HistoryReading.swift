import Journal
import Rollout
import Telemetry

/// The counters that a row of the history is made of, as they stand at one moment.
struct HistoryCounts: Sendable {
    var reads = HistoryRow.Pair()
    var readErrors = HistoryRow.Pair()
    var clientErrors: Int64 = 0
    var writes = ByBackend(legacy: Histogram(), new: Histogram())
    var writesReceived: Int64 = 0
    var conflicts: Int64 = 0
    var newRequests: Int64 = 0
    var fallbacks: Int64 = 0
    var compared: Int64 = 0
    var mismatched: Int64 = 0
    /// Answers to clients' requests of any kind: what tells time under load from idle time.
    var answers: UInt64 = 0

    init(_ snapshot: MetricsSnapshot) {
        func pair(_ value: (Backend) -> UInt64) -> HistoryRow.Pair {
            HistoryRow.Pair(legacy: Int64(clamping: value(.legacy)), new: Int64(clamping: value(.new)))
        }
        reads = pair { snapshot.reads($0, failed: false) &+ snapshot.reads($0, failed: true) }
        readErrors = pair { snapshot.reads($0, failed: true) }
        for side in Backend.allCases {
            clientErrors += Int64(clamping: snapshot.clientAnswers(.read, meantFor: side).part)
        }
        for backend in Backend.allCases {
            writes[backend] = snapshot.histogram(Cells.clientWriteDuration + backend.index)
        }
        writesReceived = Int64(clamping: snapshot.writesReceived)
        conflicts = Int64(clamping: snapshot.conflictedWrites)
        newRequests = Int64(clamping: snapshot.requestsOfNewUsers)
        fallbacks = Int64(clamping: snapshot.fallbacks)
        compared = Int64(clamping: snapshot.compared)
        mismatched = Int64(clamping: snapshot.shadow(.mismatch))
        // What got no route is no load: a port scan does not make a stage ripe.
        for kind in RequestKind.allCases where kind != .none {
            for slot in 0..<Cells.codesPerKind {
                answers &+= snapshot.counter(Cells.codes + kind.index * Cells.codesPerKind + slot)
            }
        }
    }

    /// Fills a row with what was counted since `earlier`.
    func fill(_ row: inout HistoryRow, since earlier: HistoryCounts) {
        func grown(_ path: KeyPath<HistoryCounts, Int64>) -> Int64 {
            max(0, self[keyPath: path] - earlier[keyPath: path])
        }
        row.reads = HistoryRow.Pair(legacy: grown(\.reads.legacy), new: grown(\.reads.new))
        row.readErrors = HistoryRow.Pair(legacy: grown(\.readErrors.legacy), new: grown(\.readErrors.new))
        row.clientErrors = grown(\.clientErrors)
        let legacy = writes.legacy.subtracting(earlier.writes.legacy)
        let new = writes.new.subtracting(earlier.writes.new)
        row.writes = HistoryRow.Pair(legacy: Int64(clamping: legacy.count), new: Int64(clamping: new.count))
        func microseconds(_ histogram: Histogram) -> Int64? {
            histogram.quantile(0.95).map { Int64(($0 * 1e6).rounded()) }
        }
        row.writeP95Legacy = microseconds(legacy)
        row.writeP95New = microseconds(new)
        row.writesReceived = grown(\.writesReceived)
        row.conflicts = grown(\.conflicts)
        row.newRequests = grown(\.newRequests)
        row.fallbacks = grown(\.fallbacks)
        row.compared = grown(\.compared)
        row.mismatched = grown(\.mismatched)
    }
}

/// What goes up and down, as last seen.
struct HistoryGauges: Sendable, Equatable {
    var percentHundredths: Int64 = 0
    var generation: Int64 = 0
    var stage = ""
    var state = ""
    var pending = HistoryRow.Pair()
    var parked: Int64 = 0

    mutating func take(_ rollout: RolloutState) {
        percentHundredths = Int64(rollout.percentHundredths)
        generation = rollout.generation
        stage = rollout.stageName ?? ""
        state = rollout.condition.rawValue
    }

    func fill(_ row: inout HistoryRow) {
        row.percentHundredths = percentHundredths
        row.generation = generation
        row.stage = stage
        row.state = state
        row.pending = pending
        row.parked = parked
    }
}

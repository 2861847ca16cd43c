import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry

/// Keeps the history: takes a reading every second, hands out a row every ten, and has the store keep it. Safe from any thread.
///
/// Nothing waits for the store: rows go to it one transaction at a time from a task of their own. What the store does not take
/// is dropped and counted, because trying again might count twice what it has kept after all; the next row is tried anew.
final class HistoryRecorder: Sendable {
    typealias OnRow = @Sendable (HistoryRow) -> Void

    /// Rows that wait for the store; a minute of them. Beyond it, the new one is dropped.
    static let waitingMax = 6
    /// Rows of one gateway in memory: as many as the store keeps of them.
    static let memoryMax = Int(
        HistoryResolution.tenSeconds.keptMilliseconds / HistoryResolution.tenSeconds.milliseconds)

    struct State: Sendable {
        var meter: HistoryMeter
        var gauges = HistoryGauges()
        var window = HistoryWindow(.tenSeconds, capacity: memoryMax)
        var listeners: [Int: OnRow] = [:]
        var lastListener = 0
        var waiting: [HistoryRow] = []
        var isWriting = false
        var isFailing = false
        /// Sums of time under load that were asked for, the newest last.
        var loads: [LoadSum] = []
        /// Where the first span of this process begins.
        var firstSpan: Int64

        init(_ meter: HistoryMeter) {
            self.meter = meter
            firstSpan = meter.spanBegin
        }
    }

    let instance: String
    let journal: ThreadedJournal
    /// Whether other gateways have rows in the store that this one does not see.
    let isShared: Bool
    /// How long one who asks waits for the store, in milliseconds.
    let patienceMilliseconds: Int
    let state: Mutex<State>
    private let dropped = Atomic<UInt64>(0)
    /// The last look at the rollout is not over yet: one at a time.
    let isLooking = Atomic<Bool>(false)

    /// - Parameters:
    ///   - instance: this gateway's name in the store.
    ///   - wall: milliseconds since 1970.
    ///   - monotonic: milliseconds of a clock that never jumps.
    ///   - patienceMilliseconds: how long one who asks waits for the store.
    ///   - snapshot: what was counted before and is not told of.
    init(
        instance: String, journal: ThreadedJournal, isShared: Bool = false, wall: Int64, monotonic: Int64,
        patienceMilliseconds: Int = 1_000, snapshot: MetricsSnapshot = MetricsSnapshot()
    ) {
        self.instance = instance
        self.journal = journal
        self.isShared = isShared
        self.patienceMilliseconds = patienceMilliseconds
        state = Mutex(
            State(
                HistoryMeter(instance: instance, wall: wall, monotonic: monotonic, counts: HistoryCounts(snapshot))))
    }

    /// Rows of ten seconds that the store did not take, since the start: `cutover_history_dropped_total`.
    var droppedRows: UInt64 { dropped.load(ordering: .relaxed) }

    // MARK: Readings

    /// To be called every second.
    /// - Parameters:
    ///   - wall: milliseconds since 1970.
    ///   - monotonic: milliseconds of a clock that never jumps.
    ///   - pending: outstanding legs.
    /// - Returns: whether a span is over.
    @discardableResult
    func tick(wall: Int64, monotonic: Int64, snapshot: MetricsSnapshot, pending: HistoryRow.Pair) -> Bool {
        let counts = HistoryCounts(snapshot)
        let row = state.withLock { state -> HistoryRow? in
            state.gauges.pending = pending
            return state.meter.read(wall: wall, monotonic: monotonic, counts: counts, gauges: state.gauges)
        }
        guard let row else { return false }
        publish(row, wall: wall)
        return true
    }

    /// The rollout is like this now.
    func note(_ rollout: RolloutState) { state.withLock { $0.gauges.take(rollout) } }

    /// So many legs are parked now.
    func note(parked: Int) { state.withLock { $0.gauges.parked = Int64(parked) } }

    /// Keeps what there is of the span that is not over. After the last client was answered, before the journal is closed.
    func finish(wall: Int64, monotonic: Int64, snapshot: MetricsSnapshot) async {
        let counts = HistoryCounts(snapshot)
        let rows = state.withLock { state -> [HistoryRow] in
            let over = state.meter.read(wall: wall, monotonic: monotonic, counts: counts, gauges: state.gauges)
            return [over, state.meter.finish(state.gauges)].compactMap { $0 }
        }
        for row in rows { publish(row, wall: wall) }
        _ = await within(milliseconds: patienceMilliseconds) { [self] () async -> Bool? in
            while state.withLock({ $0.isWriting }) { try? await Task.sleep(for: .milliseconds(2)) }
            return true
        }
    }

    // MARK: Listeners

    /// Hands every finished row to `onRow`, on any thread; it must only hand on.
    /// - Returns: what `stopListening` wants.
    func listen(_ onRow: @escaping OnRow) -> Int {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = onRow
            return state.lastListener
        }
    }

    func stopListening(_ listener: Int) { state.withLock { $0.listeners[listener] = nil } }

    // MARK: To the store

    private func publish(_ row: HistoryRow, wall: Int64) {
        let (listeners, isFirst) = state.withLock { state -> ([OnRow], Bool) in
            state.window.add(row)
            guard state.waiting.count < Self.waitingMax else {
                drop(1)
                return (Array(state.listeners.values), false)
            }
            state.waiting.append(row)
            defer { state.isWriting = true }
            return (Array(state.listeners.values), !state.isWriting)
        }
        for listener in listeners { listener(row) }
        if isFirst { Task.detached { [self] in await write(wall: wall) } }
    }

    private func drop(_ count: Int) { dropped.add(UInt64(count), ordering: .relaxed) }

    /// Writes what waits, until nothing does.
    private func write(wall: Int64) async {
        while true {
            let rows = state.withLock { state -> [HistoryRow] in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isWriting = false }
                return state.waiting
            }
            guard !rows.isEmpty else { return }
            var failure: JournalError?
            do throws(JournalError) {
                try await journal.write { store throws(JournalError) in
                    try store.appendHistory(rows.flatMap { HistoryRollup.rows(from: $0) }, now: wall)
                }
            } catch {
                failure = error
                drop(rows.count)
            }
            report(failure)
        }
    }

    /// One line when it begins to fail and one when it works again, not one a row.
    private func report(_ failure: JournalError?) {
        let isNew = state.withLock { state in
            defer { state.isFailing = failure != nil }
            return state.isFailing != (failure != nil)
        }
        guard isNew, failure?.kind != .closed else { return }
        if let failure {
            logLine("history: the store does not take it, rows are dropped until it does: \(failure.message)")
        } else {
            logLine("history: the store takes it again; \(droppedRows) rows were dropped since the start")
        }
    }
}

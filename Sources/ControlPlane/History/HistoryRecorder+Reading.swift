import Gateway
import Journal
import JournalThreads
import Synchronization
import Telemetry

extension HistoryRecorder {
    /// Brings back what the store holds of the last hours, and begins to count. Before the first tick. A store that cannot be
    /// read leaves a gap in memory, and nothing else.
    func begin(wall: Int64, monotonic: Int64, snapshot: MetricsSnapshot = MetricsSnapshot()) async {
        let counts = HistoryCounts(snapshot)
        state.withLock { state in
            state.meter = HistoryMeter(instance: instance, wall: wall, monotonic: monotonic, counts: counts)
            state.firstSpan = state.meter.spanBegin
        }
        let from = wall - HistoryResolution.tenSeconds.keptMilliseconds
        do throws(JournalError) {
            let rows = try await stored(.tenSeconds, from: from)
            state.withLock { state in
                for row in rows.reversed() where !isShared || row.instance == instance { state.window.add(row) }
            }
        } catch {
            logLine("history: the last hours cannot be read: \(error.message)")
        }
    }

    /// Rows of all gateways, newest first. Those of ten seconds come from memory where the store is this gateway's alone, so that
    /// nobody waits for it; in a shared one that cannot be asked they are this gateway's.
    /// - Parameters:
    ///   - from: none that begins before, in milliseconds since 1970.
    ///   - through: none that begins after: the clock may have been ahead for a while.
    ///   - cursor: only those after this place; nil for the newest page.
    func rows(
        _ resolution: HistoryResolution, from: Int64, through: Int64, before cursor: HistoryCursor?, limit: Int
    ) async throws(JournalError) -> [HistoryRow] {
        let start = cursor ?? HistoryCursor(atMilliseconds: through + 1, instance: "")
        let journal = journal
        let fromStore = { @Sendable () async throws(JournalError) -> [HistoryRow] in
            try await journal.read { reader throws(JournalError) in
                try reader.history(resolution, from: from, before: start, limit: limit)
            }
        }
        guard resolution == .tenSeconds else { return try await fromStore() }
        if isShared, let found = await within(milliseconds: patienceMilliseconds, { try? await fromStore() }) {
            return found
        }
        return state.withLock { $0.window.page(from: from, before: start, limit: limit) }
    }

    /// All stored rows from a moment on, newest first.
    func stored(_ resolution: HistoryResolution, from: Int64) async throws(JournalError) -> [HistoryRow] {
        try await journal.read { reader throws(JournalError) in
            let pageMax = 1_000
            var rows: [HistoryRow] = []
            while true {
                let page = try reader.history(resolution, from: from, before: rows.last?.cursor, limit: pageMax)
                rows += page
                if page.count < pageMax { return rows }
            }
        }
    }
}

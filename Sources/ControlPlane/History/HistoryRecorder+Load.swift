import Journal
import Rollout
import Synchronization

/// Time under load since some moment.
struct LoadSum: Sendable {
    /// In milliseconds since 1970.
    var since: Int64
    /// What it was, in milliseconds of load, when this process's own load was `mark`.
    var base: Int64
    var mark: Int64
}

extension HistoryRecorder.State {
    /// Where that begins which memory knows of this process: all of its rows from there on are there.
    fileprivate var knownFrom: Int64 { max(firstSpan, window.rows.first?.atMilliseconds ?? firstSpan) }

    /// Load that memory knows of this process, in milliseconds.
    fileprivate func ownLoad(since: Int64) -> Int64 {
        let from = max(knownFrom, HistoryResolution.tenSeconds.begin(of: since))
        let finished = window.rows.filter { $0.atMilliseconds >= from && $0.instance == meter.instance }
        return HistoryRecorder.load(finished, since: since)
            + max(0, meter.spanLoadMilliseconds - max(0, since - meter.spanBegin))
    }
}

extension HistoryRecorder {
    /// Moments that are remembered; asking for more than these again and again reads the store each time.
    static let loadSumsMax = 4

    /// How long there was load since a moment, in seconds: what the hold of a stage is measured by. Of the time before this
    /// process it is what all gateways of the store have seen, where several did, the busiest one; from then on, its own.
    ///
    /// Never too much: a row that began before the moment counts only as far as it must lie after it, and what was not seen,
    /// because nobody ran or the store dropped it, does not count. Within one process it only grows. The first question about a
    /// moment reads the store, later ones do not; while the store cannot be read, it is what this process has seen.
    /// - Parameter milliseconds: since 1970.
    func loadSeconds(since milliseconds: Int64) async -> Int64 {
        let known = state.withLock { state in
            state.loads.first { $0.since == milliseconds }.map { $0.base + state.meter.loadMilliseconds - $0.mark }
        }
        if let known { return known / 1000 }
        let (mark, begin, own, now) = state.withLock { state in
            (state.meter.loadMilliseconds, state.knownFrom, state.ownLoad(since: milliseconds), state.meter.wall)
        }
        let earlier = await within(milliseconds: patienceMilliseconds) { [self] in
            await storedLoad(since: milliseconds, until: begin, now: now)
        }
        guard let earlier else { return own / 1000 }
        return state.withLock { state in
            // Somebody else may have asked at the same time: the first one's sum stands, so that it only grows.
            if !state.loads.contains(where: { $0.since == milliseconds }) {
                state.loads.append(LoadSum(since: milliseconds, base: earlier + own, mark: mark))
                if state.loads.count > Self.loadSumsMax { state.loads.removeFirst() }
            }
            return (earlier + own + state.meter.loadMilliseconds - mark) / 1000
        }
    }

    /// Load in the rows that the store has from before `until`: of ten minutes where there is nothing finer any more, then of
    /// minutes, then of ten seconds.
    private func storedLoad(since: Int64, until: Int64, now: Int64) async -> Int64? {
        guard since < until else { return 0 }
        var sum: Int64 = 0
        var end = until
        for resolution in HistoryResolution.allCases {
            // Where a coarser span ends, so that none lies across, and clear of what is just being removed.
            let coarser = HistoryResolution.allCases.first { $0.rawValue > resolution.rawValue }
            let oldest = coarser.map { $0.begin(of: now - resolution.keptMilliseconds) + 2 * $0.milliseconds }
            let begin = max(resolution.begin(of: since), oldest ?? .min)
            guard begin < end else { continue }
            do throws(JournalError) {
                let rows = try await stored(resolution, from: begin)
                sum += Self.load(
                    rows.filter { $0.atMilliseconds + resolution.milliseconds <= end }, since: since)
            } catch {
                return nil
            }
            if begin <= since { return sum }
            end = begin
        }
        return sum
    }

    /// Of rows of one resolution. One in which the rollout was paused or rolled back holds nothing.
    static func load(_ rows: [HistoryRow], since: Int64) -> Int64 {
        let idle = [RolloutState.Condition.paused.rawValue, RolloutState.Condition.rolledBack.rawValue]
        var busiest: [Int64: Int64] = [:]
        for row in rows where !idle.contains(row.state) {
            // Of a row that began before the moment, all that can be before it is taken to be.
            let load = row.loadMilliseconds - max(0, since - row.atMilliseconds)
            busiest[row.atMilliseconds] = max(busiest[row.atMilliseconds] ?? 0, load)
        }
        return busiest.values.reduce(0, +)
    }
}

import CLinux
import Glibc
import Journal
import JournalThreads
import Rollout
import StoreSQLite
import Synchronization
import Telemetry
import Testing

@testable import ControlPlane

/// A machine that is busy with other tests is no store that does not answer; milliseconds.
private let patient = 60_000

/// A recorder on a real store, with clocks that the test moves.
private final class Desk {
    let house: House
    let recorder: HistoryRecorder
    let metrics = LoopMetrics()
    /// Some hours before now: what the store removes goes by what the test says is now.
    private(set) var wall: Int64
    private(set) var monotonic: Int64 = 0

    init(_ house: House? = nil, wall: Int64 = 1_764_500_000_000, instance: String = "a", isShared: Bool = false)
        async throws
    {
        self.house = if let house { house } else { try await House() }
        self.wall = wall
        recorder = HistoryRecorder(
            instance: instance, journal: self.house.journal, isShared: isShared, wall: wall, monotonic: 0,
            patienceMilliseconds: patient)
        await recorder.begin(wall: wall, monotonic: 0)
    }

    /// Seconds pass, with a request in each or without.
    func pass(_ seconds: Int, loaded: Bool = true) async {
        for _ in 0..<seconds {
            wall += 1_000
            monotonic += 1_000
            if loaded {
                metrics.read(.legacy, failed: false)
                metrics.request(kind: .read, status: 200, nanoseconds: 1_000)
            }
            recorder.tick(
                wall: wall, monotonic: monotonic, snapshot: MetricsSnapshot(of: [metrics]), pending: .init())
            if wall % 10_000 == 0 { await written() }
        }
    }

    /// Waits until nothing waits for the store.
    func written() async {
        while recorder.state.withLock({ $0.isWriting }) { try? await Task.sleep(for: .milliseconds(1)) }
    }

    func rows(_ resolution: HistoryResolution, limit: Int = 10_000) async throws -> [HistoryRow] {
        try await recorder.rows(resolution, from: 0, through: wall, before: nil, limit: limit)
    }

    func finish() async {
        await recorder.finish(wall: wall, monotonic: monotonic, snapshot: MetricsSnapshot(of: [metrics]))
    }

    /// Another process on the same store, some time later.
    func restarted(after milliseconds: Int64, instance: String = "a", isShared: Bool = false) async throws -> Desk {
        try await Desk(
            try await house.restarted(), wall: wall + milliseconds, instance: instance, isShared: isShared)
    }
}

@Suite(.timeLimit(.minutes(2)))
struct TheRecorder {
    @Test func rowsGoToTheStoreInEveryResolutionAndToWhoeverListens() async throws {
        let desk = try await Desk()
        let heard = Mutex<[HistoryRow]>([])
        let listener = desk.recorder.listen { row in heard.withLock { $0.append(row) } }
        await desk.pass(650)
        desk.recorder.stopListening(listener)
        await desk.pass(10)
        #expect(try await desk.rows(.tenSeconds).count == 66)
        #expect(heard.withLock { $0.map(\.reads.legacy) } == Array(repeating: 10, count: 65))
        for resolution in HistoryResolution.allCases {
            let stored = try await desk.recorder.stored(resolution, from: 0)
            #expect(stored.map(\.reads.legacy).reduce(0, +) == 660, "\(resolution)")
            #expect(stored.allSatisfy { $0.coveredMilliseconds == $0.loadMilliseconds })
        }
        let inMemory = try await desk.rows(.tenSeconds)
        #expect(try await desk.recorder.stored(.tenSeconds, from: 0) == inMemory)
        #expect(desk.recorder.droppedRows == 0)
        desk.house.close()
    }

    @Test func afterARestartTheLastHoursAreThereAndTheTimeBetweenIsAGap() async throws {
        let first = try await Desk()
        await first.pass(45)
        let second = try await first.restarted(after: 60_000)
        let before = try await first.rows(.tenSeconds)
        #expect(before.count == 4)
        #expect(try await second.rows(.tenSeconds) == before)
        await second.pass(25)
        let rows = try await second.rows(.tenSeconds)
        // 45 s seen and the last 5 lost with the process; a minute of nothing; 25 s more, of which 20 are over.
        let begins = rows.map { ($0.atMilliseconds - 1_764_500_000_000) / 10_000 }
        #expect(begins == [12, 11, 10, 3, 2, 1, 0])
        #expect(rows.map(\.reads.legacy) == [10, 10, 5, 10, 10, 10, 10])
        #expect(rows[2].coveredMilliseconds == 5_000)
        second.house.close()
    }

    @Test func whatIsLeftAtAnOrderlyEndIsKeptAndTheNextProcessAddsToIt() async throws {
        let first = try await Desk()
        await first.pass(14)
        await first.finish()
        let second = try await first.restarted(after: 1_000)
        await second.pass(15)
        let rows = try await second.rows(.tenSeconds)
        #expect(rows.map(\.reads.legacy) == [10, 9, 10])
        #expect(rows[1].coveredMilliseconds == 9_000, "the second in between was not seen")
        #expect(try await second.recorder.stored(.tenMinutes, from: 0).map(\.reads.legacy) == [29])
        second.house.close()
    }

    @Test func aStoreThatIsFullLosesRowsAndNothingElse() async throws {
        let desk = try await Desk()
        await desk.pass(10)
        try await desk.house.setStoreFull(true)
        var state = await desk.house.controller.state
        // Too long for the free room of the pages that are there.
        state.stageName = longReason
        desk.recorder.note(state)
        await desk.pass(30)
        #expect(desk.recorder.droppedRows == 3)
        #expect(try await desk.rows(.tenSeconds).count == 4, "memory has them all the same")
        try await desk.house.setStoreFull(false)
        state.stageName = "half"
        desk.recorder.note(state)
        await desk.pass(10)
        let stored = try await desk.recorder.stored(.tenSeconds, from: 0)
        #expect(stored.map(\.stage) == ["half", ""] && desk.recorder.droppedRows == 3)
        #expect(try await desk.recorder.stored(.tenMinutes, from: 0).map(\.reads.legacy) == [20])
        desk.house.close()
    }

    @Test func rowsThatTheStoreHasNoTimeForAreDroppedInsteadOfWaiting() async throws {
        let desk = try await Desk()
        let gate = Mutex(false)
        let journal = desk.house.journal
        async let stuck: Void = journal.write { _ throws(JournalError) in
            while !gate.withLock({ $0 }) { usleep(1_000) }
        }
        for _ in 0..<20 {
            for _ in 0..<10 { desk.tickWithoutWaiting() }
        }
        // One is under way, the others wait.
        #expect(desk.recorder.droppedRows >= UInt64(20 - 1 - 2 * HistoryRecorder.waitingMax))
        gate.withLock { $0 = true }
        try await stuck
        await desk.written()
        let stored = try await desk.recorder.stored(.tenSeconds, from: 0)
        #expect(stored.count + Int(desk.recorder.droppedRows) == 20)
        #expect(try await desk.rows(.tenSeconds).count == 20)
        desk.house.close()
    }

    @Test func whatTheClockSaidWhenItWasAheadIsNotShownBeforeItsTime() async throws {
        let desk = try await Desk()
        await desk.pass(10)
        let ahead = HistoryRow(.minute, atMilliseconds: desk.wall + 3_600_000, instance: "a")
        try await desk.house.journal.write { store throws(JournalError) in
            try store.appendHistory([ahead], now: 0)
        }
        #expect(try await desk.rows(.minute).count == 1)
        let later = try await desk.recorder.rows(
            .minute, from: 0, through: desk.wall + 7_200_000, before: nil, limit: 9)
        #expect(later.count == 2)
        desk.house.close()
    }

    @Test func aSharedStoreShowsTheRowsOfAllAndMemoryOnlyItsOwn() async throws {
        let first = try await Desk(instance: "a", isShared: true)
        await first.pass(20)
        let second = try await first.restarted(after: 0, instance: "b", isShared: true)
        await second.pass(10)
        #expect(try await second.rows(.tenSeconds).map(\.instance) == ["b", "a", "a"])
        second.house.close()
        #expect(try await second.rows(.tenSeconds).map(\.instance) == ["b"], "the store is away")
        await #expect(throws: JournalError.self) { try await second.rows(.minute) }
    }
}

extension Desk {
    func tickWithoutWaiting() {
        wall += 1_000
        monotonic += 1_000
        recorder.tick(wall: wall, monotonic: monotonic, snapshot: MetricsSnapshot(of: [metrics]), pending: .init())
    }
}

@Suite(.timeLimit(.minutes(2)))
struct TimeUnderLoad {
    private let start: Int64 = 1_764_500_000_000

    @Test func itCountsFromTheMomentOnAndStandsStillWithoutTraffic() async throws {
        let desk = try await Desk()
        await desk.pass(25)
        let since = desk.wall
        #expect(await desk.recorder.loadSeconds(since: since) == 0)
        await desk.pass(5)
        #expect(await desk.recorder.loadSeconds(since: since) == 5, "the span that is not over counts")
        await desk.pass(100, loaded: false)
        #expect(await desk.recorder.loadSeconds(since: since) == 5)
        await desk.pass(60)
        #expect(await desk.recorder.loadSeconds(since: since) == 65)
        #expect(await desk.recorder.loadSeconds(since: start) == 90)
        #expect(await desk.recorder.loadSeconds(since: desk.wall + 1_000_000) == 0)
        // A stage is not held by time in which the rollout stood still.
        var rows = ["running", "paused", "rolled_back", "complete"].map { state in
            var row = HistoryRow(.tenSeconds, atMilliseconds: 0, instance: "a")
            row.state = state
            row.loadMilliseconds = 10_000
            return row
        }
        for index in rows.indices { rows[index].atMilliseconds = Int64(index) * 10_000 }
        #expect(HistoryRecorder.load(rows, since: 0) == 20_000)
        desk.house.close()
    }

    @Test func aMomentWithinASpanNeverGetsTooMuch() async throws {
        let desk = try await Desk()
        await desk.pass(4)
        await desk.pass(6, loaded: false)
        await desk.pass(10)
        // Asked for later only: the four seconds of the first span may all lie before the moment.
        #expect(await desk.recorder.loadSeconds(since: start + 5_000) == 10)
        #expect(await desk.recorder.loadSeconds(since: start + 2_000) == 12)
        desk.house.close()
    }

    @Test func itGoesOnAfterARestartWithoutTheTimeInBetween() async throws {
        let first = try await Desk()
        await first.pass(40)
        let second = try await first.restarted(after: 500_000)
        #expect(await second.recorder.loadSeconds(since: start) == 40)
        await second.pass(30)
        #expect(await second.recorder.loadSeconds(since: start) == 70)
        await second.finish()
        let third = try await second.restarted(after: 500_000)
        #expect(await third.recorder.loadSeconds(since: start) == 70)
        #expect(await third.recorder.loadSeconds(since: start + 10_000) == 60)
        third.house.close()
    }

    @Test func overDaysItIsMadeOfCoarserRowsAndNoneCountsTwice() async throws {
        let desk = try await Desk()
        // Ten days, all of it under load, as the store has it at the end: what is old is gone.
        let now = clinux_wall_milliseconds()
        for resolution in HistoryResolution.allCases {
            var at = resolution.begin(of: now - min(resolution.keptMilliseconds, 10 * 86_400_000))
            var rows: [HistoryRow] = []
            while at + resolution.milliseconds <= now {
                var row = HistoryRow(resolution, atMilliseconds: at, instance: "a")
                row.loadMilliseconds = resolution.milliseconds
                rows.append(row)
                at += resolution.milliseconds
            }
            try await desk.house.journal.write { [rows] store throws(JournalError) in
                try store.appendHistory(rows, now: 0)
            }
        }
        let late = try await desk.house.restarted()
        let recorder = HistoryRecorder(
            instance: "a", journal: late.journal, wall: now, monotonic: 0, patienceMilliseconds: patient)
        await recorder.begin(wall: now, monotonic: 0)
        for hours in [1, 2, 4, 30, 71, 73, 200] as [Int64] {
            let found = await recorder.loadSeconds(since: now - hours * 3_600_000 - 1_234)
            // At most a span of the coarsest that is needed is missing at the beginning, and one of the finest at the end.
            let slack: Int64 = hours > 72 ? 610 : hours > 3 ? 70 : 20
            #expect(found <= hours * 3_600 + 1 && found >= hours * 3_600 - slack, "\(hours) h: \(found) s")
        }
        late.close()
    }

    @Test func ofSeveralGatewaysTheBusiestOneOfASpanCounts() async throws {
        let desk = try await Desk(wall: start + 1_000_000, isShared: true)
        func row(_ span: Int64, _ instance: String, _ load: Int64) -> HistoryRow {
            var row = HistoryRow(.tenSeconds, atMilliseconds: start + span * 10_000, instance: instance)
            row.loadMilliseconds = load
            return row
        }
        let rows = [row(0, "a", 3_000), row(0, "b", 9_000), row(1, "a", 4_000), row(3, "c", 1_000)]
        #expect(HistoryRecorder.load(rows, since: start) == 14_000)
        #expect(HistoryRecorder.load(rows, since: start + 2_000) == 12_000)
        #expect(HistoryRecorder.load([], since: start) == 0)
        desk.house.close()
    }

    @Test func aStoreThatCannotBeReadCountsWhatThisProcessHasSeen() async throws {
        let first = try await Desk()
        await first.pass(20)
        let second = try await first.restarted(after: 0)
        await second.pass(10)
        second.house.close()
        #expect(await second.recorder.loadSeconds(since: start) == 10)
    }
}

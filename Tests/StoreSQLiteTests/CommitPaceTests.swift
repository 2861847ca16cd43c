import Journal
import JournalRules
import JournalThreads
import Testing

/// When a commit is put off for more writes to share it, and when it is not.
@Suite struct PacingCommits {
    private var limits: JournalLimits {
        var limits = JournalLimits()
        limits.paceAfterWrites = 8
        limits.paceMicroseconds = 500
        limits.groupWrites = 20
        return limits
    }

    private let end: UInt64 = 7_000_000
    private var putOff: UInt64 { end + 500_000 }

    private func pace(after writes: Int...) -> CommitPace {
        var pace = CommitPace()
        for count in writes { pace.committed(writes: count, at: end) }
        return pace
    }

    private func queue(_ writes: Int) -> WriteQueue {
        var queue = WriteQueue()
        for _ in 0..<writes {
            let fits = queue.append(.init(submission: submission()) { _ in }, limits: limits)
            #expect(fits)
        }
        return queue
    }

    @Test func afterALargeGroupTheNextWaitsUntilHalfAsManyAgainHaveArrived() {
        let pace = pace(after: 8)
        #expect(pace.awaitedWrites(limits) == 12)
        #expect(pace.deadline(for: queue(11), limits) == putOff)
        #expect(pace.deadline(for: queue(12), limits) == 0)
    }

    @Test func afterASmallGroupOrNoneNobodyWaits() {
        #expect(pace(after: 7).deadline(for: queue(1), limits) == 0)
        #expect(pace().deadline(for: queue(1), limits) == 0)
        #expect(pace(after: 9, 3).deadline(for: queue(1), limits) == 0, "the last group counts")
    }

    @Test func aTransactionOfUpdatesAloneSaysNothingAboutWrites() {
        var pace = pace(after: 8)
        pace.committed(writes: 0, at: end + 1_000_000)
        #expect(pace.deadline(for: queue(1), limits) == putOff)
    }

    @Test func aFullGroupIsNotWaitedFor() {
        #expect(pace(after: 18).awaitedWrites(limits) == 20)
        var narrow = limits
        narrow.groupBytes = 1_000
        #expect(pace(after: 8).deadline(for: queue(2), narrow) == 0)
        narrow = limits
        narrow.groupUpdates = 1
        var waiting = queue(1)
        waiting.append(.accepted(1), at: end)
        #expect(pace(after: 8).deadline(for: waiting, narrow) == 0)
    }

    @Test func whoWaitsForAnUpdateOrForWorkOnTheThreadDoesNotWaitForWrites() {
        var waiting = queue(1)
        waiting.append(.accepted(1), at: end, isAwaited: true)
        #expect(pace(after: 8).deadline(for: waiting, limits) == 0)
        waiting = queue(1)
        waiting.append { _ in }
        #expect(pace(after: 8).deadline(for: waiting, limits) == 0)
    }
}

import Journal
import JournalRules
import JournalThreads
import Rollout
import Testing

/// When updates go with a group of writes, and when they wait for what is still to come of their changes.
@Suite struct TakingGroups {
    /// As many writes as the tests have count as many.
    private var limits: JournalLimits {
        var limits = JournalLimits()
        limits.gatherBesideWrites = 1
        return limits
    }

    /// The monotonic clock at a time after the first update.
    private func at(_ milliseconds: UInt64) -> UInt64 { 1_000_000_000 + milliseconds * 1_000_000 }

    private func queue(_ updates: JournalUpdate..., beside submission: Submission? = submission()) -> WriteQueue {
        var queue = WriteQueue()
        for update in updates { queue.append(update, at: at(0)) }
        if let submission { add(submission, to: &queue) }
        return queue
    }

    private func add(_ submission: Submission, to queue: inout WriteQueue) {
        let fits = queue.append(.init(submission: submission) { _ in }, limits: limits)
        #expect(fits)
    }

    @Test func anAnswerWaitsForItsOtherLegAndBothBecomeOneRowUpdate() throws {
        var queue = queue(.accepted(1))
        let first = queue.take(limits, at: at(1))
        #expect(first.writes.count == 1 && first.updates.isEmpty)
        queue.append(.leg(1, .new, LegStatus(.applied, attempts: 1)), at: at(2))
        add(submission(), to: &queue)
        let second = queue.take(limits, at: at(limits.updateGatherMilliseconds))
        #expect(second.writes.count == 1 && second.updates.count == 2 && queue.isEmpty)
        let folded = fold(second.updates)
        guard folded.count == 1, case .answered(1, _, let legs, _, _) = folded[0] else {
            Issue.record("\(folded)")
            return
        }
        #expect(legs.new == LegStatus(.applied, attempts: 1))
    }

    @Test func noUpdateWaitsLongerForAGroupThanUpdatesWithoutOneDo() {
        #expect(limits.updateGatherMilliseconds < limits.updateDelayMilliseconds)
        var queue = queue(.accepted(1), beside: nil)
        queue.append(.accepted(2), at: at(limits.updateGatherMilliseconds - 1))
        let taken = queue.take(limits, at: at(limits.updateDelayMilliseconds)).updates
        #expect(taken.count == 2)
    }

    @Test func updatesGoAllOrNoneSoThatTheOrderOfALaneStays() {
        var queue = queue(.accepted(1))
        queue.append(.leg(1, .new, LegStatus(.applied)), at: at(1))
        queue.append(.accepted(2), at: at(limits.updateGatherMilliseconds))
        let sequences = queue.take(limits, at: at(limits.updateGatherMilliseconds)).updates.map(\.sequence)
        #expect(sequences == [1, 1, 2])
    }

    @Test func aWriteThatIsJudgedByEarlierOnesTakesTheirAnswersAlong() {
        for judged in [submission(key: "a"), submission([("note", nil), ("other", 7)])] {
            var queue = queue(.accepted(1), beside: judged)
            add(submission(), to: &queue)
            let left = queue.take(limits, at: at(0)).updates
            #expect(left.count == 1)
            queue.append(.accepted(2), at: at(0))
            add(submission(), to: &queue)
            let atOnce = queue.take(limits, at: at(1)).updates
            #expect(atOnce.isEmpty, "only its own group")
        }
    }

    @Test func aJudgedWriteThatIsLeftForTheNextGroupTakesTheAnswersAlongThen() {
        var limits = limits
        limits.groupWrites = 1
        var queue = queue(.accepted(1))
        add(submission(key: "a"), to: &queue)
        let others = queue.take(limits, at: at(0)).updates
        #expect(others.count == 1)
        queue.append(.accepted(2), at: at(0))
        let last = queue.take(limits, at: at(0))
        #expect(last.writes.first?.submission.idempotencyKey == "a" && last.updates.count == 1)
    }

    @Test func whoeverWaitsForAnUpdateOrAsksWhatWasKeptTakesThemAlong() {
        var awaited = queue(.accepted(1))
        awaited.append(.leg(1, .new, LegStatus(.parked)), at: at(0), isAwaited: true)
        let taken = awaited.take(limits, at: at(0)).updates
        #expect(taken.count == 2)
        var barrier = queue(.accepted(1))
        barrier.append { _ in }
        let group = barrier.take(limits, at: at(0))
        #expect(group.updates.count == 1 && group.works.count == 1)
        var closing = queue(.accepted(1))
        let left = closing.take(limits, at: at(0), isLast: true).updates
        #expect(left.count == 1 && closing.isEmpty)
    }

    @Test func asManyUpdatesAsMakeAGroupDoNotWait() {
        var limits = limits
        limits.groupUpdates = 2
        var queue = queue(.accepted(1), .accepted(2))
        let atOnce = queue.take(limits, at: at(0)).updates
        #expect(atOnce.count == 2)
    }

    @Test func aSmallGroupTakesUpdatesAlongSoThatTheyNeedNoTransactionOfTheirOwn() {
        let limits = JournalLimits()
        var queue = queue(.accepted(1))
        for _ in 2..<limits.gatherBesideWrites { add(submission(), to: &queue) }
        let few = queue.take(limits, at: at(0)).updates
        #expect(few.count == 1)
        queue.append(.accepted(2), at: at(0))
        for _ in 0..<limits.gatherBesideWrites { add(submission(), to: &queue) }
        let many = queue.take(limits, at: at(1)).updates
        #expect(many.isEmpty)
    }

    @Test func nothingWaitsWhereTheStoreIsShared() {
        var limits = limits
        limits.updateGatherMilliseconds = 0
        var queue = queue(.accepted(1))
        let others = queue.take(limits, at: at(0)).updates
        #expect(others.count == 1)
    }
}

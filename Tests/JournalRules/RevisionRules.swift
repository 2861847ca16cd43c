import Journal
import Rollout
import Testing

/// What holds for revisions (contract §6.6).
package enum RevisionRules {
    package static let all = [
        JournalRule("oneThatIsNotAboveTheLastIsStale", oneThatIsNotAboveTheLastIsStale),
        JournalRule("theyAreCountedPerUserAndRecord", theyAreCountedPerUserAndRecord),
        JournalRule("theSameRevisionWithTheSamePayloadIsARetry", theSameRevisionWithTheSamePayloadIsARetry),
        JournalRule("aRetryWhoseAnswerIsGoneIsAcceptedAgain", aRetryWhoseAnswerIsGoneIsAcceptedAgain),
        JournalRule("theSamePayloadToAnotherTargetIsNotReplayed", theSamePayloadToAnotherTargetIsNotReplayed),
        JournalRule("aRefusedRevisionIsFreeAgain", aRefusedRevisionIsFreeAgain),
        JournalRule("oneStaleItemRefusesTheBatchAndAllOfThemAreNamed", oneStaleItemRefusesTheBatchAndAllOfThemAreNamed),
        JournalRule("aRefusedBatchGivesBackAllItsRevisions", aRefusedBatchGivesBackAllItsRevisions),
        JournalRule(
            "aRepeatedBatchIsReplayedAndAMixedOneAcceptedAgain", aRepeatedBatchIsReplayedAndAMixedOneAcceptedAgain),
        JournalRule("aRecordTwiceInOneBatchMustRise", aRecordTwiceInOneBatchMustRise),
        JournalRule("submissionsOfOneGroupSeeEachOther", submissionsOfOneGroupSeeEachOther),
        JournalRule("theLastOneSurvivesPruningAndReopening", theLastOneSurvivesPruningAndReopening),
    ]

    static func oneThatIsNotAboveTheLastIsStale(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission([("n", 8)], body: "eight")) == ["accepted 1"])
        #expect(try store.said(submission([("n", 7)], body: "seven")) == ["stale n:7<8"])
        #expect(try store.said(submission([("n", 8)], body: "other eight")) == ["stale n:8<8"])
        try store.apply([.accepted(1)], now: 1_100)
        #expect(try store.said(submission([("n", 7)], body: "seven")) == ["stale n:7<8"])
        #expect(try store.said(submission([("n", 9)], body: "nine")) == ["accepted 2"])
        #expect(try store.said(submission([("n", 8)], body: "eight")) == ["stale n:8<9"])
    }

    static func theyAreCountedPerUserAndRecord(_ open: JournalOpener) throws {
        let store = try open()
        #expect(
            try store.said(
                submission(user: "anna", [("n", 8)]), submission(user: "bert", [("n", 2)], body: "b"),
                submission(user: "anna", [("m", 1)], body: "c"), submission(user: nil, [("n", 1)], body: "d"))
                == ["accepted 1", "accepted 2", "accepted 3", "accepted 4"])
    }

    static func theSameRevisionWithTheSamePayloadIsARetry(_ open: JournalOpener) throws {
        let store = try open()
        let first = submission([("n", 8)], key: "k1", body: "eight")
        let again = submission([("n", 8)], key: "k2", body: "eight")
        #expect(try store.said(first, again) == ["accepted 1", "running"])
        try store.apply([.accepted(1)], now: 1_100)
        #expect(try store.said(again, submission([("n", 8)], body: "eight")) == ["replay 201", "replay 201"])
    }

    static func aRetryWhoseAnswerIsGoneIsAcceptedAgain(_ open: JournalOpener) throws {
        let store = try open()
        let write = submission([("n", 8)], key: "k", body: "eight")
        #expect(try store.said(write, updates: []) == ["accepted 1"])
        try store.apply([.accepted(1, new: .applied)], now: 1_100)
        let pruned = try store.prune(
            Retention(rollbackWindowMilliseconds: 10, idempotencyMilliseconds: 10), now: 100_000)
        #expect(pruned.deletedChanges == 1)
        #expect(try store.said(write) == ["accepted 2"])
        // Refusing the repeat must not give back what the first one brought.
        try store.apply([.refused(2)], now: 1_200)
        #expect(try store.said(submission([("n", 8)], body: "other")) == ["stale n:8<8"])
    }

    static func theSamePayloadToAnotherTargetIsNotReplayed(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission([("n", 8)], body: "x", target: "/a")) == ["accepted 1"])
        try store.apply([.accepted(1)], now: 1_100)
        #expect(try store.said(submission([("n", 8)], body: "x", target: "/b")) == ["accepted 2"])
    }

    static func aRefusedRevisionIsFreeAgain(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission([("n", 7)], body: "seven")) == ["accepted 1"])
        try store.apply([.accepted(1)], now: 1_100)
        #expect(try store.said(submission([("n", 8)], body: "eight")) == ["accepted 2"])
        #expect(try store.said(submission([("n", 8)], body: "better")) == ["stale n:8<8"])
        #expect(try store.said(submission([("n", 8)], body: "better"), updates: [.refused(2)]) == ["accepted 3"])
        #expect(try store.said(submission([("n", 7)], body: "again")) == ["stale n:7<8"])
        try store.apply([.failed(3)], now: 1_200)
        #expect(try store.said(submission([("n", 7)], body: "again")) == ["stale n:7<7"])
    }

    static func oneStaleItemRefusesTheBatchAndAllOfThemAreNamed(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission([("a", 5), ("b", 5)], body: "1")) == ["accepted 1"])
        #expect(
            try store.said(submission([("a", 4), ("c", 1), ("b", 5)], body: "2")) == ["stale a:4<5,b:5<5"])
        #expect(try store.said(submission([("c", 1)], body: "3")) == ["accepted 2"], "nothing of the batch was kept")
        #expect(try store.said(submission([("a", 6), ("b", 6)], body: "4")) == ["accepted 3"])
    }

    static func aRefusedBatchGivesBackAllItsRevisions(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission([("a", 5), ("b", 6)], body: "1")) == ["accepted 1"])
        #expect(
            try store.said(submission([("a", 5), ("b", 6)], body: "2"), updates: [.refused(1)]) == ["accepted 2"])
    }

    static func aRepeatedBatchIsReplayedAndAMixedOneAcceptedAgain(_ open: JournalOpener) throws {
        let store = try open()
        let batch = submission([("a", 5), ("b", 5)], body: "1", payload: "p")
        #expect(try store.said(batch) == ["accepted 1"])
        #expect(try store.said(submission([("a", 5), ("c", 1)], body: "2", payload: "p")) == ["running"])
        try store.apply([.accepted(1)], now: 1_100)
        #expect(try store.said(batch) == ["replay 201"])
        #expect(try store.said(submission([("a", 5)], body: "3", payload: "p")) == ["accepted 2"])
        #expect(try store.said(submission([("a", 5), ("c", 1)], body: "2", payload: "p")) == ["accepted 3"])
    }

    static func aRecordTwiceInOneBatchMustRise(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission([("a", 1), ("a", 2)], body: "1")) == ["accepted 1"])
        #expect(try store.said(submission([("b", 2), ("b", 1)], body: "2")) == ["stale b:1<2"])
        #expect(try store.said(submission([("a", 2)], body: "3")) == ["stale a:2<2"])
    }

    static func submissionsOfOneGroupSeeEachOther(_ open: JournalOpener) throws {
        let store = try open()
        #expect(
            try store.said(
                submission([("n", 8)], body: "eight"), submission([("n", 7)], body: "seven"),
                submission([("n", 9)], body: "nine")) == ["accepted 1", "stale n:7<8", "accepted 2"])
    }

    static func theLastOneSurvivesPruningAndReopening(_ open: JournalOpener) throws {
        do {
            let store = try open()
            #expect(try store.said(submission([("n", 8)], body: "eight")) == ["accepted 1"])
            try store.apply([.accepted(1, new: .applied)], now: 1_100)
            let retention = Retention(rollbackWindowMilliseconds: 1, idempotencyMilliseconds: 1)
            #expect(try store.prune(retention, now: 9_000).deletedChanges == 1)
        }
        let store = try open()
        #expect(try store.said(submission([("n", 7)], body: "seven")) == ["stale n:7<8"])
        #expect(
            try store.said(submission([("n", 9)], body: "nine")) == ["accepted 2"], "places are not given out twice")
    }
}

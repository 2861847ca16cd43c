import Journal
import Rollout
import Testing

/// What holds for stored changes, their legs and their end.
package enum ChangeRules {
    package static let all = [
        JournalRule("aChangeComesBackAsItWasSubmitted", aChangeComesBackAsItWasSubmitted),
        JournalRule(
            "outstandingChangesComeInTheOrderOfAcceptanceAfterReopening",
            outstandingChangesComeInTheOrderOfAcceptanceAfterReopening),
        JournalRule(
            "whatWasInFlightWhenTheProcessDiedIsAnsweredAfterTheStart",
            whatWasInFlightWhenTheProcessDiedIsAnsweredAfterTheStart),
        JournalRule("factsAboutAChangeThatIsGoneAreDropped", factsAboutAChangeThatIsGoneAreDropped),
        JournalRule("aLegKeepsItsAttempts", aLegKeepsItsAttempts),
        JournalRule("rowsAreListedNewestFirstAndParkedOnesAlone", rowsAreListedNewestFirstAndParkedOnesAlone),
        JournalRule(
            "pruningNeverTakesAnOutstandingOrParkedLegNorAnUnansweredWrite",
            pruningNeverTakesAnOutstandingOrParkedLegNorAnUnansweredWrite),
        JournalRule(
            "theLongerOfBothRetentionsKeepsTheRowAndTheShorterFreesTheKey",
            theLongerOfBothRetentionsKeepsTheRowAndTheShorterFreesTheKey),
        JournalRule("pruningGoesInStepsAndStartsOver", pruningGoesInStepsAndStartsOver),
    ]
    /// How many rows one `prune` looks at, in every store.
    private static let pruneStepRows = 1_000
    private static let short = Retention(rollbackWindowMilliseconds: 100, idempotencyMilliseconds: 100)

    static func aChangeComesBackAsItWasSubmitted(_ open: JournalOpener) throws {
        let store = try open()
        var whole = submission([("a", 1), ("b", nil), ("c", 3)], key: "k", body: "{\"ü\":1}", side: .new)
        whole.body += [0, 0xFF]
        var bare = submission(user: nil, [], side: .legacy, dualWrite: false)
        (bare.headerLines, bare.conditionalLines, bare.body) = ([], [], [])
        #expect(try store.accept([whole, bare], now: 77).map(\.summary) == ["accepted 1", "accepted 2"])
        for (sequence, expected) in [(1, whole), (2, bare)] as [(Sequence64, Submission)] {
            let change = try #require(try store.load(sequence))
            let got = change.submission
            #expect(change.acceptedMilliseconds == 77 && change.answeredStatus == nil)
            #expect(change.legs == Legs(acceptedOn: expected.side, dualWrite: expected.dualWrite))
            #expect(got.user == expected.user && got.records == expected.records)
            #expect(got.idempotencyKey == expected.idempotencyKey && got.outgoingKey == expected.outgoingKey)
            #expect(got.fingerprint == expected.fingerprint && got.method == expected.method)
            #expect(got.target == expected.target && got.side == expected.side && got.dualWrite == expected.dualWrite)
            #expect(got.headerLines == expected.headerLines && got.conditionalLines == expected.conditionalLines)
            #expect(got.body == expected.body)
        }
        #expect(try store.load(3) == nil)
    }

    static func outstandingChangesComeInTheOrderOfAcceptanceAfterReopening(_ open: JournalOpener) throws {
        do {
            let store = try open()
            for index in 1...30 { _ = try store.said(submission([("n\(index)", nil), ("m", nil)])) }
            let settled = stride(from: 3, through: 30, by: 3).map {
                JournalUpdate.accepted(Sequence64($0), new: .applied)
            }
            try store.apply(settled + [.accepted(1), .leg(2, .new, LegStatus(.awaitingCopy))], now: 2_000)
        }
        let store = try open()
        var found: [OutstandingChange] = []
        while case let page = try store.outstanding(after: found.last?.sequence ?? 0, limit: 7), !page.isEmpty {
            found += page
        }
        #expect(found.map(\.sequence) == (1...30).filter { $0 % 3 != 0 })
        #expect(found[0].answeredStatus == 201 && found[0].legs.legacy.state == .applied)
        #expect(found[0].records == ["n1", "m"] && found[0].user == "anna" && found[0].side == .legacy)
        #expect(found[1].answeredStatus == nil && found[1].legs.new.state == .awaitingCopy)
    }

    static func whatWasInFlightWhenTheProcessDiedIsAnsweredAfterTheStart(_ open: JournalOpener) throws {
        do {
            let store = try open()
            #expect(
                try store.said(
                    submission([("a", 3), ("b", 4)], key: "k", body: "1"), submission([("c", 5)], key: "l", body: "2"),
                    submission([("d", 6)], body: "3")) == ["accepted 1", "accepted 2", "accepted 3"])
        }
        let store = try open()
        try store.apply([.accepted(1), .refused(2), .failed(3)], now: 2_000)
        #expect(
            try store.said(
                submission([("a", 3), ("b", 4)], key: "k", body: "1"), submission([("a", 3), ("b", 4)], body: "other"),
                submission([("c", 5)], key: "l", body: "2"), submission([("c", 5)], body: "better"),
                submission([("d", 6)], body: "better")) == [
                    "replay 201", "stale a:3<3,b:4<4", "replay 422", "accepted 4", "accepted 5",
                ])
    }

    static func factsAboutAChangeThatIsGoneAreDropped(_ open: JournalOpener) throws {
        let store = try open()
        try store.apply([.accepted(7), .leg(8, .new, LegStatus(.applied))], now: 2_000)
        #expect(try store.rows(parkedOnly: false, before: nil, limit: 9).isEmpty)
    }

    static func aLegKeepsItsAttempts(_ open: JournalOpener) throws {
        let store = try open()
        _ = try store.said(submission())
        let status = LegStatus(.pending, attempts: 4, refusals: 2, lastStatus: 422, nextAttemptMilliseconds: 9_000)
        try store.apply([.accepted(1), .leg(1, .new, status)], now: 2_000)
        #expect(try store.load(1)?.legs.new == status)
        #expect(try store.rows(parkedOnly: false, before: nil, limit: 1)[0].legs.new == status)
        try store.apply([.leg(1, .new, LegStatus(.applied, attempts: 5, lastStatus: 200))], now: 2_000)
        #expect(try store.counts().outstandingNew == 0)
    }

    static func rowsAreListedNewestFirstAndParkedOnesAlone(_ open: JournalOpener) throws {
        let store = try open()
        for index in 1...10 { _ = try store.said(submission([("n\(index)", 1)], body: "\(index)")) }
        try store.apply(
            [.accepted(4, new: .parked), .accepted(8, new: .parked), .accepted(9, new: .applied)], now: 2_000)
        let newest = try store.rows(parkedOnly: false, before: nil, limit: 3)
        #expect(newest.map(\.sequence) == [10, 9, 8])
        #expect(try store.rows(parkedOnly: false, before: 3, limit: 9).map(\.sequence) == [2, 1])
        #expect(try store.rows(parkedOnly: true, before: nil, limit: 9).map(\.sequence) == [8, 4])
        #expect(try store.rows(parkedOnly: true, before: 8, limit: 9).map(\.sequence) == [4])
        #expect(try store.parked(after: 4, limit: 9) == [8])
        #expect(newest[0].record == "n10" && newest[0].revision == 1 && newest[0].recordCount == 1)
        #expect(newest[0].method == "POST" && newest[0].target == "/changes" && newest[0].user == "anna")
        let counts = try store.counts()
        #expect(counts.outstandingLegacy == 7 && counts.outstandingNew == 7)
        #expect(counts.parkedLegacy == 0 && counts.parkedNew == 2 && counts.lastSequence == 10)
    }

    static func pruningNeverTakesAnOutstandingOrParkedLegNorAnUnansweredWrite(_ open: JournalOpener) throws {
        let store = try open()
        for index in 1...6 { _ = try store.said(submission([("n\(index)", nil)], key: "k\(index)")) }
        try store.apply(
            [
                .accepted(1, new: .applied), .accepted(2, new: .pending), .accepted(3, new: .parked),
                .accepted(4, new: .awaitingCopy), .refused(5),
            ], now: 1_000)
        #expect(try store.prune(short, now: 1_050).deletedChanges == 0)
        let result = try store.prune(short, now: 5_000)
        #expect(result.deletedChanges == 2 && !result.hasMore)
        #expect(try store.rows(parkedOnly: false, before: nil, limit: 9).map(\.sequence) == [6, 4, 3, 2])
        try store.apply([.leg(2, .new, LegStatus(.applied)), .leg(3, .new, LegStatus(.superseded))], now: 5_000)
        #expect(try store.prune(short, now: 5_000).deletedChanges == 2)
        #expect(try store.rows(parkedOnly: false, before: nil, limit: 9).map(\.sequence) == [6, 4])
    }

    static func theLongerOfBothRetentionsKeepsTheRowAndTheShorterFreesTheKey(_ open: JournalOpener) throws {
        let store = try open()
        let window = Retention(rollbackWindowMilliseconds: 10_000, idempotencyMilliseconds: 100)
        _ = try store.said(submission(key: "k"), submission(key: "pending"), now: 0)
        try store.apply([.accepted(1, new: .applied)], now: 10)
        #expect(try store.prune(window, now: 50) == PruneResult(deletedChanges: 0, releasedKeys: 0, hasMore: false))
        #expect(try store.said(submission(key: "k"), now: 60) == ["replay 201"])
        #expect(try store.prune(window, now: 500) == PruneResult(deletedChanges: 0, releasedKeys: 1, hasMore: false))
        #expect(try store.load(1) != nil)
        #expect(try store.said(submission(key: "pending"), now: 600) == ["running"])
        #expect(try store.said(submission(key: "k"), now: 600) == ["accepted 3"])
        #expect(try store.prune(window, now: 20_000).deletedChanges == 1)
    }

    static func pruningGoesInStepsAndStartsOver(_ open: JournalOpener) throws {
        let store = try open()
        let many = pruneStepRows + 200
        _ = try store.accept((0..<many).map { submission([("n\($0)", nil)]) }, now: 0)
        try store.apply((1...many).map { .accepted(Sequence64($0), new: .applied) }, now: 0)
        #expect(
            try store.prune(short, now: 9_000)
                == PruneResult(deletedChanges: pruneStepRows, releasedKeys: 0, hasMore: true))
        #expect(
            try store.prune(short, now: 9_000) == PruneResult(deletedChanges: 200, releasedKeys: 0, hasMore: false))
        #expect(try store.said(submission()) == ["accepted \(many + 1)"])
    }
}

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
            "aPageHasTheOutstandingLegsOfOneSideOfEveryoneOrOfOneUser",
            aPageHasTheOutstandingLegsOfOneSideOfEveryoneOrOfOneUser),
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
        JournalRule(
            "noRowIsPrunedBeforeThoseThatWereAcceptedBeforeIt", noRowIsPrunedBeforeThoseThatWereAcceptedBeforeIt),
        JournalRule("aSteppedClockCountsOverStepsOfPruning", aSteppedClockCountsOverStepsOfPruning),
        JournalRule("whatLegacyWasNotToldIsKeptForTheRollbackWindow", whatLegacyWasNotToldIsKeptForTheRollbackWindow),
        JournalRule(
            "onlyWhatNewTookWhileLegacyWasNotWrittenIsMissingThere",
            onlyWhatNewTookWhileLegacyWasNotWrittenIsMissingThere),
        JournalRule("pruningGoesInStepsAndStartsOver", pruningGoesInStepsAndStartsOver),
        JournalRule("whatWasWrittenToARecordSinceIsFound", whatWasWrittenToARecordSinceIsFound),
    ]
    /// How many rows one `prune` looks at, in every store.
    private static let pruneStepRows = 1_000
    private static let short = Retention(rollbackWindowMilliseconds: 100, idempotencyMilliseconds: 100)

    static func whatWasWrittenToARecordSinceIsFound(_ open: JournalOpener) throws {
        let store = try open()
        func put(_ records: [(String, Int64?)], user: String? = "anna", new: LegState) throws -> Sequence64 {
            let said = try store.said(submission(user: user, records))
            let sequence = try #require(said.first.flatMap { Int64($0.dropFirst("accepted ".count)) })
            try store.apply([.accepted(sequence, new: new)], now: 2_000)
            return sequence
        }
        let old = try put([("a", nil)], new: .parked)
        let versioned = try put([("v", 1)], new: .parked)
        let batch = try put([("x", nil), ("y", nil), ("z", nil)], new: .parked)
        let nameless = try put([], new: .parked)
        let removal = try put([("w", nil)], new: .parked)
        let nobodys = try put([("a", nil)], user: nil, new: .parked)
        func behind(_ sequence: Sequence64, on side: Side = .new) throws -> Sequence64? {
            try store.changeBehind(sequence, on: side)
        }
        // The same record of somebody else, another record, and what new did not take either.
        _ = try put([("a", nil)], user: "bert", new: .applied)
        _ = try put([("b", nil)], new: .applied)
        let again = try put([("a", nil)], new: .parked)
        for sequence in [old, versioned, batch, nameless, removal, nobodys, again] {
            #expect(try behind(sequence) == nil)
        }
        // Legacy has it, new does not.
        #expect(try behind(old, on: .legacy) == again && behind(again, on: .legacy) == nil)
        for state in [LegState.applied, .superseded, .pending, .awaitingCopy, .parked, .skipped] {
            let later = try put([("a", nil)], new: state)
            let counts = ![.parked, .skipped].contains(state)
            #expect(try behind(old) == (counts ? later : nil) && behind(again) == (counts ? later : nil))
            try store.apply([.leg(later, .new, LegStatus(.refused))], now: 2_000)
        }
        // With a revision, alone or in a batch, from this side and from that.
        _ = try put([("v", 2)], new: .applied)
        #expect(try behind(versioned) == nil)
        let revised = try put([("w", 7)], new: .applied)
        #expect(try behind(removal) == revised)
        let single = try put([("z", nil)], new: .applied)
        #expect(try behind(batch) == single)
        let many = try put([("q", nil), ("a", nil)], new: .applied)
        #expect(try behind(old) == many && behind(nobodys) == nil && behind(nameless) == nil)
        let strangers = try put([("q", nil), ("a", nil)], user: nil, new: .pending)
        #expect(try behind(nobodys) == strangers && behind(4_711) == nil)
    }

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

    static func aPageHasTheOutstandingLegsOfOneSideOfEveryoneOrOfOneUser(_ open: JournalOpener) throws {
        let store = try open()
        let users = ["anna", "bert", nil]
        for index in 0..<12 {
            var change = submission([("n", nil), ("m", nil)])
            change.user = users[index % 3]
            _ = try store.said(change)
        }
        // 1 to 10 are answered by legacy; new has 4.
        try store.apply((1...10).map { .accepted(Sequence64($0), new: $0 == 4 ? .applied : .pending) }, now: 2_000)
        func page(_ query: OutstandingQuery) throws -> [Sequence64] { try store.outstanding(query).map(\.sequence) }
        #expect(try page(OutstandingQuery(side: .new, limit: 100)) == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12])
        #expect(try page(OutstandingQuery(side: .legacy, limit: 100)) == [11, 12])
        #expect(try page(OutstandingQuery(side: .new, after: 2, through: 9, limit: 3)) == [3, 5, 6])
        #expect(try page(OutstandingQuery(side: .new, scope: .user("anna"), limit: 2)) == [1, 7])
        #expect(try page(OutstandingQuery(side: .new, scope: .user(nil), after: 3, through: 11, limit: 9)) == [6, 9])
        #expect(try store.unanswered(after: 0, limit: 9).map(\.sequence) == [11, 12])
        #expect(try store.unanswered(after: 11, limit: 9).first?.records == ["n", "m"])
        let places = try store.outstandingPlaces(after: 8, limit: 3)
        #expect(places.map(\.sequence) == [9, 10, 11] && places.map(\.user) == [nil, "anna", "bert"])
        #expect(places.map(\.sides) == [.new, .new, .both] && places.map(\.isAnswered) == [true, true, false])
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

    static func noRowIsPrunedBeforeThoseThatWereAcceptedBeforeIt(_ open: JournalOpener) throws {
        let store = try open()
        let window = Retention(rollbackWindowMilliseconds: 10_000, idempotencyMilliseconds: 100)
        // The clock is stepped back by 5 s between the two.
        _ = try store.said(submission(), now: 20_000)
        _ = try store.said(submission(), now: 15_000)
        try store.apply([.accepted(1, new: .applied), .accepted(2, new: .applied)], now: 15_000)
        #expect(try store.prune(window, now: 26_000).deletedChanges == 0)
        #expect(try store.load(2) != nil)
        #expect(try store.prune(window, now: 30_001).deletedChanges == 2)
    }

    static func aSteppedClockCountsOverStepsOfPruning(_ open: JournalOpener) throws {
        let store = try open()
        let window = Retention(rollbackWindowMilliseconds: 10_000, idempotencyMilliseconds: 100)
        let many = pruneStepRows
        _ = try store.accept((0..<many).map { submission([("n\($0)", nil)]) }, now: 20_000)
        _ = try store.said(submission(), now: 15_000)
        try store.apply((1...many + 1).map { .accepted(Sequence64($0), new: .applied) }, now: 15_000)
        #expect(try store.prune(window, now: 26_000).hasMore)
        #expect(try store.prune(window, now: 26_000).deletedChanges == 0)
        #expect(try store.load(Sequence64(many + 1)) != nil)
    }

    static func whatLegacyWasNotToldIsKeptForTheRollbackWindow(_ open: JournalOpener) throws {
        let store = try open()
        let window = Retention(rollbackWindowMilliseconds: 10_000, idempotencyMilliseconds: 100)
        _ = try store.said(submission(side: .new, dualWrite: false), now: 0)
        try store.apply([.acceptedByNew(1)], now: 0)
        #expect(try store.prune(window, now: 9_999).deletedChanges == 0)
        #expect(try store.unshared(after: 0, skippedOnly: false, limit: 9).map(\.isMissing) == [true])
        #expect(try store.prune(window, now: 10_001).deletedChanges == 1)
        #expect(try store.unshared(after: 0, skippedOnly: false, limit: 9).isEmpty)
    }

    static func onlyWhatNewTookWhileLegacyWasNotWrittenIsMissingThere(_ open: JournalOpener) throws {
        let store = try open()
        let alone = submission([("a", 1), ("b", 2)], side: .new, dualWrite: false)
        // 1 taken, 2 refused by new, 3 failed on new, 4 under way, 5 put back, 6 to both, 7 anonymous and first to legacy.
        for _ in 1...3 { _ = try store.said(submission(side: .new, dualWrite: false)) }
        _ = try store.said(alone)
        _ = try store.said(submission(user: nil, side: .new, dualWrite: false))
        _ = try store.said(submission(side: .new), submission(user: nil, side: .legacy, dualWrite: false))
        var refused = Legs(acceptedOn: .new, dualWrite: false)
        refused.new.state = .refused
        var failed = refused
        failed.new.state = .skipped
        try store.apply(
            [
                .acceptedByNew(1),
                .answered(2, servedBy: .new, legs: refused, answer: answer(422), revisionAccepted: false),
                .answered(3, servedBy: nil, legs: failed, answer: nil, revisionAccepted: false), .acceptedByNew(5),
                .leg(5, .legacy, LegStatus(.pending)),
            ], now: 2)
        let found = try store.unshared(after: 0, skippedOnly: false, limit: 9)
        #expect(found.map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(found.map(\.isMissing) == [true, false, false, false, false])
        #expect(found.map(\.wasAccepted) == [true, false, false, false, true])
        #expect(found.map(\.isAnswered) == [true, true, true, false, true])
        #expect(try store.unshared(after: 0, skippedOnly: true, limit: 9).map(\.sequence) == [1, 2, 3, 4])
        #expect(found[3].records == ["a", "b"] && found[3].user == "anna" && found[4].user == nil)
        #expect(try store.unshared(after: 1, skippedOnly: false, limit: 2).map(\.sequence) == [2, 3])
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

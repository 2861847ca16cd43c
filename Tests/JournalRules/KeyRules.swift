import Journal
import Rollout
import Testing

/// What holds for idempotency keys (contract §6.5).
package enum KeyRules {
    package static let all = [
        JournalRule("theFirstAnswerIsReplayed", theFirstAnswerIsReplayed),
        JournalRule("anotherRequestWithTheSameKeyIsToldSo", anotherRequestWithTheSameKeyIsToldSo),
        JournalRule("theScopeIsTheUser", theScopeIsTheUser),
        JournalRule("aRefusalIsAnAnswerAndIsReplayed", aRefusalIsAnAnswerAndIsReplayed),
        JournalRule("afterAFailureARepeatIsANewAttempt", afterAFailureARepeatIsANewAttempt),
        JournalRule("submissionsOfOneGroupSeeEachOther", submissionsOfOneGroupSeeEachOther),
        JournalRule("writesWithoutAKeyAreNeverRepeats", writesWithoutAKeyAreNeverRepeats),
        JournalRule("anAnswerThatIsTooLongIsReplayedWithoutItsBody", anAnswerThatIsTooLongIsReplayedWithoutItsBody),
        JournalRule("keysSurviveReopening", keysSurviveReopening),
    ]

    static func theFirstAnswerIsReplayed(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission(key: "k")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k")) == ["running"])
        try store.apply([.accepted(1)], now: 1_100)
        guard case .replay(let stored) = try store.accept([submission(key: "k")], now: 1_200)[0] else {
            Issue.record("not replayed")
            return
        }
        #expect(stored == answer())
    }

    static func anotherRequestWithTheSameKeyIsToldSo(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission(key: "k", body: "1")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k", body: "2")) == ["reused"])
        try store.apply([.accepted(1)], now: 1_100)
        #expect(try store.said(submission(key: "k", body: "2")) == ["reused"])
    }

    static func theScopeIsTheUser(_ open: JournalOpener) throws {
        let store = try open()
        #expect(
            try store.said(
                submission(user: "anna", key: "k", body: "1"), submission(user: "bert", key: "k", body: "2"),
                submission(user: nil, key: "k", body: "3")) == ["accepted 1", "accepted 2", "accepted 3"])
    }

    static func aRefusalIsAnAnswerAndIsReplayed(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission(key: "k")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k"), updates: [.refused(1)]) == ["replay 422"])
    }

    static func afterAFailureARepeatIsANewAttempt(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission(key: "k", body: "1")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k", body: "1"), updates: [.failed(1)]) == ["accepted 2"])
        #expect(try store.said(submission(key: "k", body: "1")) == ["running"])
        try store.apply([.failed(2)], now: 1_200)
        #expect(try store.said(submission(key: "k", body: "other")) == ["accepted 3"])
        try store.apply([.accepted(3)], now: 1_300)
        #expect(try store.said(submission(key: "k", body: "other")) == ["replay 201"])
    }

    static func submissionsOfOneGroupSeeEachOther(_ open: JournalOpener) throws {
        let store = try open()
        #expect(
            try store.said(
                submission(key: "k", body: "1"), submission(key: "k", body: "1"), submission(key: "k", body: "2"),
                submission(key: "l", body: "1")) == ["accepted 1", "running", "reused", "accepted 2"])
    }

    static func writesWithoutAKeyAreNeverRepeats(_ open: JournalOpener) throws {
        let store = try open()
        #expect(try store.said(submission(), submission()) == ["accepted 1", "accepted 2"])
        try store.apply([.accepted(1), .accepted(2)], now: 1_100)
        #expect(try store.said(submission()) == ["accepted 3"])
    }

    static func anAnswerThatIsTooLongIsReplayedWithoutItsBody(_ open: JournalOpener) throws {
        let store = try open()
        let long = String(repeating: "x", count: StoredAnswer.bodyLimitBytes + 1)
        #expect(try store.said(submission(key: "k")) == ["accepted 1"])
        try store.apply([.accepted(1, answer: answer(body: long))], now: 1_100)
        guard case .replay(let stored) = try store.accept([submission(key: "k")], now: 1_200)[0] else {
            Issue.record("not replayed")
            return
        }
        #expect(stored.isBodyOmitted && stored.body.isEmpty && stored.status == 201)
    }

    static func keysSurviveReopening(_ open: JournalOpener) throws {
        do {
            let store = try open()
            #expect(try store.said(submission(key: "k"), submission(key: "l")) == ["accepted 1", "accepted 2"])
            try store.apply([.accepted(1)], now: 1_100)
        }
        let store = try open()
        #expect(try store.said(submission(key: "k"), submission(key: "l")) == ["replay 201", "running"])
        #expect(try store.said(submission(key: "k", body: "2")) == ["reused"])
    }
}

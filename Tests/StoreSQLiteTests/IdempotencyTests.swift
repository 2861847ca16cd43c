import Journal
import Rollout
import Testing

@testable import StoreSQLite

@Suite struct IdempotencyKeys {
    private let directory = TemporaryDirectory()

    @Test func theFirstAnswerIsReplayed() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.said(submission(key: "k")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k")) == ["running"])
        try store.apply([.accepted(1)], now: 1_100)
        guard case .replay(let stored) = try store.accept([submission(key: "k")], now: 1_200)[0] else {
            Issue.record("not replayed")
            return
        }
        #expect(stored == answer())
    }

    @Test func anotherRequestWithTheSameKeyIsToldSo() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.said(submission(key: "k", body: "1")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k", body: "2")) == ["reused"])
        try store.apply([.accepted(1)], now: 1_100)
        #expect(try store.said(submission(key: "k", body: "2")) == ["reused"])
    }

    @Test func theScopeIsTheUser() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(
            try store.said(
                submission(user: "anna", key: "k", body: "1"), submission(user: "bert", key: "k", body: "2"),
                submission(user: nil, key: "k", body: "3")) == ["accepted 1", "accepted 2", "accepted 3"])
    }

    @Test func aRefusalIsAnAnswerAndIsReplayed() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.said(submission(key: "k")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k"), updates: [.refused(1)]) == ["replay 422"])
    }

    @Test func afterAFailureARepeatIsANewAttempt() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.said(submission(key: "k", body: "1")) == ["accepted 1"])
        #expect(try store.said(submission(key: "k", body: "1"), updates: [.failed(1)]) == ["accepted 2"])
        #expect(try store.said(submission(key: "k", body: "1")) == ["running"])
        try store.apply([.failed(2)], now: 1_200)
        #expect(try store.said(submission(key: "k", body: "other")) == ["accepted 3"])
        try store.apply([.accepted(3)], now: 1_300)
        #expect(try store.said(submission(key: "k", body: "other")) == ["replay 201"])
    }

    @Test func submissionsOfOneGroupSeeEachOther() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(
            try store.said(
                submission(key: "k", body: "1"), submission(key: "k", body: "1"), submission(key: "k", body: "2"),
                submission(key: "l", body: "1")) == ["accepted 1", "running", "reused", "accepted 2"])
    }

    @Test func writesWithoutAKeyAreNeverRepeats() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.said(submission(), submission()) == ["accepted 1", "accepted 2"])
        try store.apply([.accepted(1), .accepted(2)], now: 1_100)
        #expect(try store.said(submission()) == ["accepted 3"])
    }

    @Test func anAnswerThatIsTooLongIsReplayedWithoutItsBody() throws {
        let store = try SQLiteStore(directory: directory.path)
        let long = String(repeating: "x", count: StoredAnswer.bodyLimitBytes + 1)
        #expect(try store.said(submission(key: "k")) == ["accepted 1"])
        try store.apply([.accepted(1, answer: answer(body: long))], now: 1_100)
        guard case .replay(let stored) = try store.accept([submission(key: "k")], now: 1_200)[0] else {
            Issue.record("not replayed")
            return
        }
        #expect(stored.isBodyOmitted && stored.body.isEmpty && stored.status == 201)
    }

    @Test func keysSurviveReopening() throws {
        do {
            let store = try SQLiteStore(directory: directory.path)
            #expect(try store.said(submission(key: "k"), submission(key: "l")) == ["accepted 1", "accepted 2"])
            try store.apply([.accepted(1)], now: 1_100)
        }
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.said(submission(key: "k"), submission(key: "l")) == ["replay 201", "running"])
        #expect(try store.said(submission(key: "k", body: "2")) == ["reused"])
    }
}

import Glibc
import Journal
import JournalRules
import Rollout
import TestSupport
import Testing

@testable import StoreSQLite

@Suite struct FailuresOfTheDisk {
    private let directory = TemporaryDirectory()

    @Test func aFullDiskKeepsNothingOfTheGroupAndRecovers() throws {
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.said(submission(key: "a")) == ["accepted 1"])
        try store.limitSize(toBytes: 4_096)
        let large = submission(key: "b", body: String(repeating: "x", count: 100_000))
        do throws(JournalError) {
            _ = try store.commit([submission(key: "c"), large], updates: [.accepted(1)], now: 1_000)
            Issue.record("a full disk took a write")
        } catch {
            #expect(error.kind == .full && error.isTransient)
        }
        #expect(try store.counts().lastSequence == 1)
        #expect(try store.said(submission(key: "a")) == ["running"], "the update was rolled back with the group")
        try store.limitSize(toBytes: nil)
        #expect(try store.said(submission(key: "c"), large, updates: [.accepted(1)]) == ["accepted 2", "accepted 3"])
        #expect(try store.said(submission(key: "a")) == ["replay 201"])
    }

    @Test func aLockedDatabaseIsBusyAndRecovers() throws {
        let store = try SQLiteStore(directory: directory.path)
        try store.connection.execute("PRAGMA busy_timeout = 1")
        let other = try SQLiteConnection(path: store.databasePath, readOnly: false)
        try other.execute("BEGIN IMMEDIATE")
        do throws(JournalError) {
            _ = try store.accept([submission()], now: 1_000)
            Issue.record("a locked database took a write")
        } catch {
            #expect(error.kind == .busy && error.isTransient)
        }
        try other.execute("ROLLBACK")
        #expect(try store.said(submission()) == ["accepted 1"])
    }

    /// A crash leaves what is in the files at that moment: copies of them are taken after every group, opened, and compared.
    @Test func whateverWasAcceptedIsThereAfterACrashAtAnyGroup() throws {
        let store = try SQLiteStore(directory: directory.path)
        var copies: [(accepted: Int, copy: TemporaryDirectory)] = []
        for group in 1...12 {
            let members = (0..<group).map { submission([("n\(group)-\($0)", 1)], key: "k\(group)-\($0)") }
            let admissions = try store.accept(members, now: 1_000)
            #expect(admissions.count == group)
            let first = Sequence64(group * (group - 1) / 2 + 1)
            try store.apply([.accepted(first, new: .applied)], now: 1_100)
            if group == 6 { try store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
            copies.append((group * (group + 1) / 2, directory.copied()))
        }
        for (accepted, copy) in copies {
            let reopened = try SQLiteStore(directory: copy.path)
            #expect(try reopened.counts().lastSequence == Sequence64(accepted))
            #expect(try reopened.rows(parkedOnly: false, before: nil, limit: 1_000).count == accepted)
            #expect(
                try reopened.connection.integer(
                    "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1)
            #expect(try reopened.said(submission([("n1-0", 1)], key: "k1-0")) == ["replay 201"])
            #expect(try reopened.said(submission([("new", 1)])) == ["accepted \(accepted + 1)"])
        }
    }

    /// The tail of the WAL is torn: the last group is missing as a whole or there as a whole, never in part.
    @Test func aTornTailOfTheLogLosesWholeGroupsOnly() throws {
        let store = try SQLiteStore(directory: directory.path)
        try store.connection.execute("PRAGMA wal_autocheckpoint = 0")
        for group in 0..<5 { _ = try store.accept((0..<10).map { submission([("n\(group)-\($0)", nil)]) }, now: 1_000) }
        let wal = readFile(store.databasePath + "-wal")
        #expect(wal.count > 40_000)
        var random = SystemRandomNumberGenerator()
        for cut in [
            wal.count - 1, wal.count - 5_000, wal.count / 2, wal.count / 3,
            Int.random(in: 0..<wal.count, using: &random),
        ] {
            let copy = directory.copied()
            write(Array(wal[..<cut]), to: copy.path + "/journal.sqlite-wal")
            let reopened = try SQLiteStore(directory: copy.path)
            let rows = try reopened.rows(parkedOnly: false, before: nil, limit: 1_000).count
            #expect(rows % 10 == 0 && rows < 50, "cut at \(cut) of \(wal.count) left \(rows) rows")
        }
    }
}

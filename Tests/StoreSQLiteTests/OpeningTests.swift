import Glibc
import Journal
import JournalRules
import TestSupport
import Testing

@testable import StoreSQLite

@Suite struct Opening {
    private let directory = TemporaryDirectory()

    private func failure(_ path: String) -> JournalError.Kind? {
        do throws(JournalError) {
            _ = try SQLiteStore(directory: path)
            return nil
        } catch {
            #expect(error.message.contains(path))
            return error.kind
        }
    }

    private func execute(_ sql: String) throws {
        try SQLiteConnection(path: directory.path + "/journal.sqlite", readOnly: false).execute(sql)
    }

    @Test func aFreshDirectoryIsCreatedForItsOwnerOnly() throws {
        let path = directory.path + "/data"
        do {
            let store = try SQLiteStore(directory: path)
            _ = try store.said(submission())
            for name in ["", "/journal.sqlite", "/journal.sqlite-wal", "/lock"] {
                var status = stat()
                #expect(stat(path + name, &status) == 0)
                #expect(status.st_mode & 0o077 == 0, "\(name) is open to others")
            }
            let connection = store.connection
            #expect(try connection.integer("PRAGMA synchronous") == 2)
            #expect(try connection.integer("PRAGMA application_id") == Schema.applicationID)
            #expect(try connection.integer("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1)
        }
        for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "lock"] { unlink(path + "/" + name) }
        rmdir(path)
    }

    @Test func aMissingParentIsNamed() {
        #expect(failure(directory.path + "/missing/data") == .cannotOpen)
    }

    @Test func aSecondUserOfTheDirectoryIsRefusedUntilTheFirstIsGone() throws {
        do {
            let first = try SQLiteStore(directory: directory.path)
            #expect(failure(directory.path) == .inUse)
            _ = try first.said(submission())
        }
        #expect(failure(directory.path) == nil)
    }

    @Test func aJournalThatHasNoFurtherPlaceIsRefused() throws {
        do { _ = try SQLiteStore(directory: directory.path) }
        try execute("INSERT INTO counter VALUES ('pruned_sequence', \(Int64.max))")
        #expect(failure(directory.path) == .damaged)
        try execute("UPDATE counter SET value = \(Int64.max - 1)")
        #expect(failure(directory.path) == nil)
    }

    @Test func whatIsNoDatabaseIsRefusedAndLeftAsItIs() {
        let garbage = [UInt8](repeating: 0x41, count: 8_192)
        write(garbage, to: directory.path + "/journal.sqlite")
        #expect(failure(directory.path) == .damaged)
        #expect(readFile(directory.path + "/journal.sqlite") == garbage)
    }

    @Test func aDamagedJournalIsRefusedAndLeftAsItIs() throws {
        do { _ = try SQLiteStore(directory: directory.path).said(submission()) }
        var bytes = readFile(directory.path + "/journal.sqlite")
        #expect(bytes.count > 4_096)
        // The root page of the schema: its header is nonsense from here on.
        for index in 100..<4_096 { bytes[index] = 0xFF }
        write(bytes, to: directory.path + "/journal.sqlite")
        #expect(failure(directory.path) == .damaged)
        #expect(readFile(directory.path + "/journal.sqlite") == bytes)
    }

    @Test func theDatabaseOfAnotherProgramIsRefusedAndLeftAsItIs() throws {
        try execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        let before = readFile(directory.path + "/journal.sqlite")
        #expect(failure(directory.path) == .foreign)
        #expect(readFile(directory.path + "/journal.sqlite") == before)
    }

    @Test func aJournalOfTheFirstSchemaIsTakenOverWithWhatIsOutstanding() throws {
        do { #expect(try SQLiteStore(directory: directory.path).said(submission(), submission()).count == 2) }
        try execute(
            """
            DROP INDEX change_outstanding;
            DROP INDEX change_unshared;
            DROP INDEX change_skipped;
            DROP INDEX change_record;
            DROP INDEX batch_record_record;
            DROP TABLE history;
            CREATE INDEX change_outstanding ON change (sequence) WHERE \(Schema.outstanding);
            PRAGMA user_version = 1
            """)
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.outstandingPlaces(after: 0, limit: 9).map(\.sequence) == [1, 2])
    }

    /// Made by the very steps of before, with a row of everything in it.
    private func makeJournalBeforeTheHistory() throws {
        do { _ = try SQLiteStore(directory: directory.path) }
        for name in directory.names where name.hasPrefix("journal.sqlite") { unlink(directory.path + "/" + name) }
        for step in Schema.migrations.prefix(3) { try execute(step) }
        try execute(
            """
            INSERT INTO change (sequence, accepted_at, user, record_count, has_revision, outgoing_key, holds_key,
                fingerprint, method, target, side, dual_write, legacy_state, new_state)
            VALUES (7, 1, 'anna', 0, 0, 'k', 0, 'f', 'PUT', '/x', 0, 1, 'applied', 'pending');
            INSERT INTO change_body VALUES (7, x'', x'', x'626F6479');
            INSERT INTO event (at, actor, action, before, after, reason) VALUES (1, 'a', 'start', '', '', '');
            INSERT INTO pin VALUES ('anna', 1, 5);
            INSERT INTO rollout VALUES (1, 12, 'plan', 'canary', 100, 'running', 5, '{}');
            PRAGMA application_id = \(Schema.applicationID); PRAGMA user_version = 3
            """)
    }

    @Test func aJournalFromBeforeTheHistoryIsTakenOverAndGetsOne() throws {
        try makeJournalBeforeTheHistory()
        for _ in 0..<2 {
            let store = try SQLiteStore(directory: directory.path)
            #expect(try store.connection.integer("PRAGMA user_version") == Schema.version)
            #expect(try store.outstandingPlaces(after: 0, limit: 9).map(\.sequence) == [7])
            #expect(try store.load(7)?.submission.body == Array("body".utf8))
            #expect(try store.loadRollout()?.generation == 12 && store.pins().count == 1)
            #expect(try store.events(before: nil, limit: 9).map(\.action) == ["start"])
            try store.appendHistory([HistoryRow(.minute, atMilliseconds: 60_000, instance: "a")], now: 60_000)
            #expect(try store.history(.minute, from: 0, before: nil, limit: 9).count == 1)
        }
    }

    @Test func aMoveReadsAJournalFromBeforeTheHistoryAsOneWithout() throws {
        try makeJournalBeforeTheHistory()
        let export = try SQLiteExport(path: directory.path + "/journal.sqlite")
        #expect(try export.count(.change) == 1 && export.count(.history) == 0)
        try export.pages(.history) { rows in Issue.record("rows of nowhere: \(rows.count)") }
        #expect(try export.contains(.history, keys: [[.integer(10), .integer(0), .text("a")]]) == [false])
    }

    @Test func aLaterSchemaIsRefusedAndLeftAsItIs() throws {
        do { _ = try SQLiteStore(directory: directory.path) }
        try execute("PRAGMA user_version = 999")
        let before = readFile(directory.path + "/journal.sqlite")
        #expect(failure(directory.path) == .newerSchema)
        #expect(readFile(directory.path + "/journal.sqlite") == before)
    }

    @Test func anEmptyFileIsAFreshStart() throws {
        write([], to: directory.path + "/journal.sqlite")
        #expect(try SQLiteStore(directory: directory.path).said(submission()) == ["accepted 1"])
    }
}

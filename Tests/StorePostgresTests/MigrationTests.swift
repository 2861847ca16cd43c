import Glibc
import Journal
import JournalRules
import JournalThreads
import PostgresTestServer
import Rollout
import StoreMigration
import StoreSQLite
import Synchronization
import Testing

@testable import StorePostgres

@Suite struct MovingToASharedStore {
    private let database: String
    private let url: String

    init() throws {
        database = try PostgresServer.shared.makeDatabase()
        url = PostgresServer.shared.url(database)
    }

    private func connection() throws -> PostgresConnection { try PostgresServer.shared.connection(to: database) }

    private func integer(_ sql: String) throws -> Int64 {
        try connection().query(PostgresStatement("test", sql)).integer(0, 0)
    }

    private func move(
        _ source: EmbeddedJournal, _ mode: StoreMigration.Mode = .move,
        progress: @escaping (String, MigratedTable) -> Void = { _, _ in }
    ) throws(JournalError) -> MigrationReport {
        try StoreMigration(directory: source.path, url: url, mode: mode, progress: progress).run()
    }

    @Test func everyRowArrivesAndIsCompared() throws {
        let source = try EmbeddedJournal(rows: 20_000)
        let before = source.contents
        let report = try move(source)
        #expect(report.differing == 0 && report.lastSequence == 20_000)
        for table in report.tables { #expect(table.rows > 0 && table.verified == table.rows, "\(table.name)") }
        #expect(source.contents == before, "the source is only read")

        // Asked once more as a gateway asks, without what moved it.
        let (old, new) = (try source.reader, PostgresReader(try PostgresAddress(url), membership: Membership()))
        var seen = 0
        for sequence in 1...20_000 as ClosedRange<Int64> {
            var (was, now) = (try old.load(sequence), try new.load(sequence))
            if was != nil { seen += 1 }
            let sameBody = was?.submission.body == now?.submission.body
            was?.submission.body = []
            now?.submission.body = []
            guard sameBody, String(describing: was) == String(describing: now) else {
                Issue.record("change \(sequence) is another one")
                return
            }
        }
        #expect(seen > 15_000 && seen < 20_000)
        #expect(try old.counts() == new.counts())
        #expect(try old.loadRollout() == new.loadRollout())
        #expect(try old.pins() == new.pins())
        #expect(try old.events(before: nil, limit: 10_000) == new.events(before: nil, limit: 10_000))
        for resolution in HistoryResolution.allCases {
            let history = try old.history(resolution, from: .min, before: nil, limit: 10_000)
            #expect(history.count > 40)
            #expect(try history == new.history(resolution, from: .min, before: nil, limit: 10_000))
        }
        #expect(try old.parked(after: 0, limit: 10_000) == new.parked(after: 0, limit: 10_000))
        #expect(
            try old.unshared(after: 0, skippedOnly: true, limit: 10_000)
                == new.unshared(after: 0, skippedOnly: true, limit: 10_000))
    }

    @Test func theNextGatewayTakesOverWhatIsOutstandingAndGoesOn() async throws {
        let source = try EmbeddedJournal(rows: 2_000)
        _ = try move(source)
        let outstanding = try source.reader.outstanding(after: 0, limit: 10_000).map(\.sequence)
        #expect(outstanding.count > 300)
        let member = try ClusterMember(url, "first")
        try await until("all of it is taken over") { member.heard.takenOver.count == outstanding.count }
        #expect(member.heard.takenOver.sorted() == outstanding)
        let store = try PostgresStore(try PostgresAddress(url), membership: member.membership)

        // A repeat gets the answer of before; what was accepted binds; a lane knows what stands before.
        let asked = try #require(source.answered.last)
        guard case .replay(let answer)? = try store.accept([asked.submission], now: 1).first else {
            Issue.record("the answer to a key did not come along")
            return
        }
        #expect(answer.body == asked.body)
        let revised = try #require(source.answered.last { $0.submission.records.first?.revision != nil }?.submission)
        var stale = revised
        stale.idempotencyKey = nil
        stale.records = [RecordRevision(record: revised.records[0].record, revision: 0, payloadHash: "other")]
        #expect(try store.said(stale).first?.hasPrefix("stale") == true)
        #expect(try store.said(submission(user: "nobody", [("fresh", nil)])) == ["accepted 2001"])
        let event = RolloutEvent(
            sequence: 0, atMilliseconds: 1, actor: "a", action: "b", before: "", after: "", reason: "")
        try store.appendEvent(event)
        let events = try store.events(before: nil, limit: 2)
        #expect(events.map(\.sequence) == [events[1].sequence + 1, events[1].sequence])
        member.cluster.leave()
    }

    @Test func aLaneOfABatchIsKnownAfterwards() async throws {
        let source = try EmbeddedJournal(rows: 500)
        _ = try move(source)
        let batch = try #require(
            try source.reader.outstanding(after: 0, limit: 500).first { $0.records.count > 1 && $0.sequence % 11 == 0 })
        // Another gateway's row: nothing is taken over, so that the batch is foreign to it.
        try connection().script("INSERT INTO gateway (name, expires_at) VALUES ('other', now() + interval '1 day')")
        let membership = Membership()
        membership.join(as: try integer("SELECT max(id) FROM gateway"))
        let store = try PostgresStore(try PostgresAddress(url), membership: membership)
        let group = try store.commit(
            [submission(user: batch.user, [(batch.records[2], nil)])], updates: [], now: 1)
        #expect(group.foreign.map(\.sequence) == [batch.sequence])
    }

    @Test func aDryRunChangesNothing() throws {
        let source = try EmbeddedJournal(rows: 100)
        let report = try move(source, .dryRun)
        #expect(report.tables.map(\.rows).reduce(0, +) > 700)
        #expect(try integer("SELECT count(*) FROM pg_namespace WHERE nspname = 'cutover'") == 0)
    }

    @Test func plantedDifferencesAreFound() throws {
        let source = try EmbeddedJournal(rows: 1_000)
        _ = try move(source)
        #expect(try move(source, .verify).differing == 0)
        let lanes = try integer("SELECT count(*) FROM batch_lane")
        try connection().script(
            """
            UPDATE change SET target = target || ' ' WHERE sequence = 501;
            UPDATE change SET lane = lane + 1 WHERE sequence = 503;
            UPDATE change SET key_digest = 'x' WHERE sequence = 504;
            UPDATE change SET answer_body = NULL WHERE sequence = 518;
            UPDATE change_body SET body = body || '\\x00' WHERE sequence = 505;
            DELETE FROM change_body WHERE sequence = 506;
            INSERT INTO change_body VALUES (999999, '', '', '');
            DELETE FROM batch_lane WHERE sequence = (SELECT min(sequence) FROM batch_lane);
            INSERT INTO batch_lane VALUES (1, 999999);
            UPDATE pin SET "user" = '\(EmbeddedJournal.sameLooks[1])' WHERE "user" = '\(EmbeddedJournal.sameLooks[0])';
            UPDATE record_revision SET payload_hash = '' WHERE sequence = (SELECT max(sequence) FROM record_revision);
            DELETE FROM event WHERE sequence = 7;
            UPDATE rollout SET percent_hundredths = 1;
            UPDATE history SET parked = parked + 1, write_p95_new_microseconds = -1
                WHERE at = (SELECT max(at) FROM history WHERE resolution = 600) AND resolution = 600;
            DELETE FROM history WHERE resolution = 60 AND at = (SELECT min(at) FROM history WHERE resolution = 60);
            SELECT nextval('change_sequence');
            """)
        let found = Dictionary(
            uniqueKeysWithValues: try move(source, .verify).tables.map { ($0.name, $0) })
        #expect(
            found["change"]?.firstDiffering == [
                "change 501 differs in target", "change 503 differs in lane",
                "change 504 differs in what the store derives",
                "change 518 differs in answer_body",
            ])
        #expect(
            found["change_body"]?.firstDiffering == [
                "change 505 differs in body", "change 506 is missing", "change 999999 is in the target only",
            ])
        let missing = try #require(found["batch_record"]?.differing)
        #expect(missing > 0 && found["batch_lane"]?.rows == lanes - missing + 1)
        #expect(found["batch_lane"]?.differing == 1)
        #expect(found["pin"]?.differing == 1 && found["record_revision"]?.differing == 1)
        #expect(found["event"]?.firstDiffering == ["event 7 is missing"])
        #expect(found["rollout"]?.firstDiffering == ["the rollout differs in percent_hundredths"])
        let history = try #require(found["history"])
        #expect(history.differing >= 2 && history.differing < 9)
        #expect(history.firstDiffering.contains { $0.contains("(60 s from ") && $0.hasSuffix(" is missing") })
        #expect(
            history.firstDiffering.contains { $0.hasSuffix("differs in parked, write_p95_new_microseconds") })
        #expect(found["counters"]?.firstDiffering == ["changes go on after 1001, not after 1000"])
    }

    @Test func nothingIsKeptWhenARowDoesNotArriveAsItWas() throws {
        let source = try EmbeddedJournal(rows: 500)
        try PostgresSchema.prepare(try connection())
        try connection().script(
            """
            CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN NEW.method := 'PUT'; RETURN NEW; END $$;
            CREATE TRIGGER spoil BEFORE INSERT ON change FOR EACH ROW WHEN (NEW.sequence = 321) EXECUTE FUNCTION spoil();
            """)
        let report = try move(source)
        #expect(report.differing == 1)
        #expect(report.tables.first?.firstDiffering == ["change 321 differs in method"])
        #expect(try integer("SELECT (SELECT count(*) FROM change) + (SELECT count(*) FROM event)") == 0)
    }

    @Test(arguments: ["change", "event"])
    func brokenOffHalfWayItCanBeMadeAgain(_ table: String) throws {
        let source = try EmbeddedJournal(rows: 1_000)
        let database = database
        #expect(throws: JournalError.self) {
            try move(source) { step, moved in
                guard step == "moved", moved.name == table else { return }
                _ = try? PostgresServer.shared.connection(to: "postgres").query(
                    PostgresStatement(
                        "cut",
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database)'"))
            }
        }
        #expect(try integer("SELECT (SELECT count(*) FROM change) + (SELECT count(*) FROM gateway)") == 0)
        #expect(try move(source).differing == 0)
    }

    @Test func aGatewayCannotJoinMeanwhile() throws {
        let source = try EmbeddedJournal(rows: 100)
        let joined = Mutex<JournalError.Kind?>(nil)
        let url = url
        _ = try move(source) { step, table in
            guard step == "moved", table.name == "change" else { return }
            let kind = failure { () throws(JournalError) in
                try PostgresConnection(try PostgresAddress(url)).script(
                    "SET lock_timeout TO 50; INSERT INTO gateway (name, expires_at) VALUES ('early', now())")
            }
            joined.withLock { $0 = kind }
        }
        #expect(joined.withLock { $0 } == .busy)
    }

    @Test func aTargetThatHoldsSomethingIsRefused() throws {
        let source = try EmbeddedJournal(rows: 100)
        _ = try move(source)
        let error = #expect(throws: JournalError.self) { try move(source) }
        #expect(error?.kind == .inUse)
        #expect(error?.message.contains("is not empty: it holds 50 changes, ") == true)
        #expect(throws: JournalError.self) { try move(source, .dryRun) }
        #expect(try move(source, .verify).differing == 0)
    }

    @Test func aRunningGatewayIsRefusedOnEitherEnd() throws {
        let source = try EmbeddedJournal(rows: 60)
        let store = try SQLiteStore(directory: source.path)
        var error = #expect(throws: JournalError.self) { try move(source) }
        #expect(error?.kind == .inUse && error?.message.contains("in use by process") == true)
        #expect(try move(source, .dryRun).tables.first?.rows == 10, "looking is allowed")
        withExtendedLifetime(store) {}
        let other = try EmbeddedJournal(rows: 60)
        try PostgresSchema.prepare(try connection())
        try connection().script("INSERT INTO gateway (name, expires_at) VALUES ('g', now() + interval '1 day')")
        error = #expect(throws: JournalError.self) { try move(other) }
        #expect(error?.message.contains("it holds 1 running gateway") == true)
    }

    @Test func whatIsNoStoreIsRefusedAndLeftAlone() throws {
        let source = try EmbeddedJournal(rows: 60)
        #expect(
            failure { () throws(JournalError) in
                _ = try StoreMigration(directory: source.path, url: "nonsense", mode: .move)
            }
                == .cannotOpen)
        let nowhere = "postgresql://postgres@/nowhere?host=\(PostgresServer.shared.directory)"
        #expect(
            failure { () throws(JournalError) in
                _ = try StoreMigration(directory: source.path, url: nowhere, mode: .move).run()
            }
                == .unreachable)
        let absent = source.path + "-absent"
        #expect(
            failure { () throws(JournalError) in _ = try StoreMigration(directory: absent, url: url, mode: .move) }
                == .cannotOpen)
        #expect(access(absent, F_OK) != 0)
        try connection().script("CREATE SCHEMA cutover; CREATE TABLE cutover.theirs (a int)")
        #expect(failure { () throws(JournalError) in _ = try move(source) } == .foreign)
    }
}

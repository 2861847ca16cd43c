import Journal
import JournalRules
import JournalThreads
import PostgresTestServer
import Rollout
import TestSupport
import Testing

@testable import StorePostgres

@Suite struct LimitsOfTheSharedStore {
    private func full(_ tag: String) -> [Submission] {
        (0..<PostgresStore.groupWrites).map { submission([("\(tag)\($0)", 1)], key: "\(tag)\($0)") }
    }

    @Test func fullGroupsOfThreeGatewaysFitTheLockTableTogether() throws {
        let server = PostgresServer(settings: ["fsync=off"])
        let database = try SharedDatabase(server)
        let said = Collector<Int>()
        let threads = try (0..<3).map { index in
            let (address, membership) = (database.address, try database.join())
            let group = full("g\(index)-")
            return Thread(name: "gateway \(index)") {
                let store = try? PostgresStore(address, membership: membership)
                for round in 0..<5 {
                    let round = group.map { write in
                        var write = write
                        write.idempotencyKey = write.idempotencyKey.map { "\($0)-\(round)" }
                        write.records[0].revision = Int64(round + 1)
                        return write
                    }
                    let admissions = (try? store?.accept(round, now: 1_000)) ?? []
                    said.add(admissions.filter { if case .accepted = $0 { true } else { false } }.count)
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(said.all == Array(repeating: PostgresStore.groupWrites, count: 15))
        #expect(try database.integer("SELECT count(*) FROM change") == Int64(15 * PostgresStore.groupWrites))
    }

    @Test func aLockTableThatIsTooSmallCostsSpeedAndNoWrites() throws {
        let server = PostgresServer(
            settings: ["fsync=off", "max_connections=10", "max_locks_per_transaction=10", "max_wal_senders=0"])
        let database = try SharedDatabase(server)
        let store = try database.gateway()
        let many = "SELECT count(pg_advisory_xact_lock(i)) FROM generate_series(1, 600) AS i"
        #expect(failure { () throws(JournalError) in _ = try database.integer(many) } == .busy, "600 are too many here")
        // A thousand locks a group, one for each lane and key.
        for round in 0..<4 {
            let group = (0..<500).map { submission([("n\(round)-\($0)", nil)], key: "k\(round)-\($0)") }
            let accepted = try store.accept(group, now: 1_000).filter { if case .accepted = $0 { true } else { false } }
            #expect(accepted.count == 500)
        }
        #expect(try store.counts().outstandingLegacy == 2_000)
    }

    @Test func aBatchOfMoreRecordsThanAGroupHasLocksIsOneWrite() throws {
        let database = try SharedDatabase()
        let (first, second) = (try database.gateway(), try database.gateway())
        let records = (0..<4_000).map { ("n\($0)", Int64(5)) as (String, Int64?) }
        #expect(try first.said(submission(records, key: "k")) == ["accepted 1"])
        let stale = try second.said(submission(records.map { ($0.0, 4) }, body: "old"))
        #expect(stale.count == 1 && stale[0].hasPrefix("stale n0:4<5,"))
        let group = try second.commit([submission([("n3999", 6)], body: "new")], updates: [], now: 1_000)
        #expect(group.foreign.map(\.sequence) == [1] && group.foreign[0].records.count == 4_000)
    }

    @Test func idsThatPostgreSQLCouldNotHoldOrIndexAreKeptAsTheyAre() throws {
        let database = try SharedDatabase()
        let store = try database.gateway()
        // Text of PostgreSQL holds no NUL, and an index entry at most 2,700 bytes, after compression.
        var random = SeededGenerator(seed: 7)
        let long = String(decoding: (0..<20_000).map { _ in UInt8.random(in: 33...126, using: &random) }, as: UTF8.self)
        let ids = ["a", "a\0", "a\u{1}", "a\u{1}\u{2}", "", long, long + "x", "ü\u{1F600}", "{a,b}", "NULL", "\\\"'"]
        for (index, id) in ids.enumerated() {
            let write = submission(user: "u" + id, [(id, 1), (id + "b", 1)], key: id, body: id, target: "/" + id)
            #expect(try store.said(write) == ["accepted \(index + 1)"])
            let change = try #require(try store.load(Sequence64(index + 1))).submission
            #expect(change.user == "u" + id && change.records.map(\.record) == [id, id + "b"])
            #expect(change.idempotencyKey == id && change.target == "/" + id && change.body == Array(id.utf8))
            try store.apply([.accepted(Sequence64(index + 1))], now: 1_000)
            #expect(try store.said(write) == ["replay 201"])
            let page = OutstandingQuery(side: .new, scope: .user("u" + id), limit: 9)
            #expect(try store.outstanding(page).map(\.sequence) == [Sequence64(index + 1)])
            let event = RolloutEvent(atMilliseconds: 1, actor: id, action: id, before: "", after: "", reason: id)
            try store.setPin(Pin(user: id, side: .new, sinceMilliseconds: 1), event: event)
        }
        #expect(try Set(store.pins().map(\.user)) == Set(ids))
    }

    @Test func tenThousandRowsArePrunedInStepsByOneGatewayAtATime() throws {
        let database = try SharedDatabase()
        let (first, second) = (try database.gateway(), try database.gateway())
        let retention = Retention(rollbackWindowMilliseconds: 100, idempotencyMilliseconds: 100)
        var sequence: Sequence64 = 0
        for group in 0..<40 {
            let writes = (0..<250).map {
                submission([("n\(group)-\($0)", 1), ("m\(group)-\($0)", 1)], key: "\(group)-\($0)")
            }
            #expect(try first.accept(writes, now: 0).count == 250)
            try first.apply((1...250).map { .accepted(sequence + $0, new: .applied) }, now: 0)
            sequence += 250
        }
        _ = try second.said(submission([("open", nil)]), now: 0)
        try database.connection.script(
            "BEGIN; SELECT pg_advisory_xact_lock(\(PostgresLocks.space), \(PostgresLocks.prune))")
        #expect(
            try first.prune(retention, now: 9_000) == PruneResult(deletedChanges: 0, releasedKeys: 0, hasMore: false))
        try database.connection.script("COMMIT")
        var (deleted, steps) = (0, 0)
        var result = PruneResult(deletedChanges: 0, releasedKeys: 0, hasMore: true)
        while result.hasMore {
            result = try (steps % 2 == 0 ? first : second).prune(retention, now: 9_000)
            deleted += result.deletedChanges
            steps += 1
        }
        #expect(deleted == 10_000 && steps <= 24)
        for table in ["change", "change_body"] { #expect(try database.integer("SELECT count(*) FROM \(table)") == 1) }
        for table in ["batch_record", "batch_lane"] {
            #expect(try database.integer("SELECT count(*) FROM \(table)") == 0)
        }
        #expect(
            try database.integer("SELECT count(*) FROM record_revision") == 20_000, "revisions outlive their changes")
    }
}

@Suite struct HowItAsks {
    @Test func listingsUseTheirIndexes() throws {
        let database = try SharedDatabase()
        let page = PostgresQueries.page(OutstandingQuery(side: .new, limit: 1))
        let userPage = PostgresQueries.page(OutstandingQuery(side: .legacy, scope: .user(nil), limit: 1))
        let expected: [(PostgresStatement, [String])] = [
            (PostgresQueries.outstanding, ["change_outstanding"]), (PostgresQueries.unanswered, ["change_outstanding"]),
            (PostgresQueries.places, ["change_outstanding"]), (page, ["change_outstanding"]),
            (userPage, ["change_outstanding_user"]), (PostgresQueries.parked, ["change_parked"]),
            (PostgresQueries.foreign, ["change_outstanding_lane", "batch_lane_pkey", "change_pkey"]),
            (PostgresQueries.rows, ["change_pkey"]),
            (PostgresQueries.unshared(skippedOnly: false), ["change_unshared"]),
            (PostgresQueries.unshared(skippedOnly: true), ["change_skipped"]),
            (PostgresQueries.behind(.new), ["change_record", "batch_record_record", "record_revision_pkey"]),
            (PostgresQueries.counts, ["change_outstanding", "change_parked"]),
        ]
        for (statement, indexes) in expected {
            var sql = statement.sql.replacing("ANY ($2)", with: "ANY ('{1}'::bigint[])").replacing("$7", with: "'a'")
            for number in 1...6 { sql = sql.replacing("$\(number)", with: "\(number)") }
            let plan = try database.connection.query(PostgresStatement("explain " + statement.name, "EXPLAIN " + sql))
            let text = (0..<plan.count).map { plan.text($0, 0) }.joined(separator: "\n")
            for index in indexes { #expect(text.contains(index), "\(statement.name):\n\(text)") }
            #expect(!text.contains("Seq Scan on change c") && !text.contains("Seq Scan on batch"), "\(statement.name)")
        }
    }

    @Test func aCommitIsOnTheDiskWhateverTheDatabaseIsSetTo() throws {
        let database = try SharedDatabase()
        try database.connection.script("ALTER DATABASE \(database.name) SET synchronous_commit TO off")
        let show = PostgresStatement("show", "SELECT current_setting('synchronous_commit')")
        #expect(try PostgresConnection(database.address).query(show).text(0, 0) == "on")
    }

    @Test func lanesHashLikeSipHash() {
        // The vectors of the reference implementation: key 00 … 0F, input 00 … length − 1.
        let (low, high): (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        #expect(LaneHash.sipHash([], low, high) == 0x726F_DB47_DD0E_0E31)
        #expect(LaneHash.sipHash(Array(0..<8), low, high) == 0x93F5_F579_9A93_2462)
        #expect(LaneHash.sipHash(Array(0..<15), low, high) == 0xA129_CA61_49BE_45E5)
    }

    @Test func lanesAreThoseOfTheTables() {
        let lanes = LaneHash(low: 1, high: 2)
        let all = [
            lanes.lanes(user: "a", records: ["b"]), lanes.lanes(user: nil, records: ["b"]),
            lanes.lanes(user: "", records: ["b"]), lanes.lanes(user: "ab", records: [""]),
            lanes.lanes(user: "a", records: []), lanes.lanes(user: nil, records: []), [lanes.key("b", user: "a")],
        ]
        #expect(all.allSatisfy { $0.count == 1 } && Set(all.flatMap { $0 }).count == all.count)
        #expect(lanes.lanes(user: "a", records: ["b", "c"]).first == all[0].first)
    }
}

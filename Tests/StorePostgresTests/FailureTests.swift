import Glibc
import Journal
import JournalRules
import JournalThreads
import PostgresTestServer
import Rollout
import Testing

@testable import StorePostgres

@Suite struct FailuresOfTheServer {
    @Test func aGroupIsOneRoundTrip() throws {
        let database = try SharedDatabase()
        let proxy = CuttingProxy(database.server)
        defer { proxy.close() }
        let store = try PostgresStore(try proxy.address(database.name), membership: try database.join())
        _ = try store.said(submission(), updates: [.accepted(9), .leg(8, .new, LegStatus(.applied))])
        let before = proxy.roundTrips
        let many = (0..<64).map { submission([("n\($0)", 1)], key: "k\($0)") }
        #expect(try store.commit(many, updates: [.accepted(1)], now: 1_100).admissions.count == 64)
        #expect(proxy.roundTrips == before + 1)
        try store.apply([.leg(1, .new, LegStatus(.applied))], now: 1_200)
        #expect(proxy.roundTrips == before + 2)
    }

    /// The server has the group, but its word is lost: the clients were told 503, so none of it may be sent.
    @Test func aGroupWhoseFateIsUnknownIsDisowned() throws {
        let database = try SharedDatabase()
        let proxy = CuttingProxy(database.server)
        defer { proxy.close() }
        let store = try PostgresStore(try proxy.address(database.name), membership: try database.join())
        let reader = PostgresReader(database.address, membership: store.membership)
        #expect(try store.said(submission([("n", 1)], body: "1")) == ["accepted 1"])
        proxy.dropNextAnswer()
        let lost = [submission([("n", 2), ("m", 2)], key: "k", body: "2"), submission([("n", 3)], body: "3")]
        #expect(failure { () throws(JournalError) in _ = try store.accept(lost, now: 1_100) } == .unreachable)
        #expect(try database.integer("SELECT count(*) FROM change") == 3, "the server did keep it")
        #expect(try reader.outstanding(after: 0, limit: 9).map(\.sequence) == [1], "nobody may deliver it")
        #expect(try store.said(submission([("n", 2)], key: "k", body: "two")) == ["accepted 4"])
        #expect(try store.outstanding(after: 0, limit: 9).map(\.sequence) == [1, 4])
        for sequence in [2, 3] as [Sequence64] {
            let change = try #require(try store.load(sequence))
            #expect(change.legs.legacy.state == .skipped && change.legs.new.state == .skipped)
        }
        #expect(try database.integer("SELECT count(*) FROM batch_lane") == 0)
        #expect(try store.said(submission([("m", 1)], body: "4")) == ["accepted 5"], "its revisions are free again")
    }

    /// The request is still under way when the gateway has gone on: when it arrives, it is refused.
    @Test func aGroupThatArrivesLateIsRefused() throws {
        let database = try SharedDatabase()
        let proxy = CuttingProxy(database.server)
        defer { proxy.close() }
        let store = try PostgresStore(try proxy.address(database.name), membership: try database.join())
        #expect(try store.said(submission([("a", nil)])) == ["accepted 1"])
        proxy.holdNextRequest()
        #expect(
            failure { () throws(JournalError) in
                _ = try store.commit([submission([("b", nil)])], updates: [.accepted(1)], now: 1_100)
            } == .unreachable)
        #expect(try store.said(submission([("c", nil)])) == ["accepted 2"])
        let answer = String(decoding: proxy.releaseHeldRequest(), as: UTF8.self)
        #expect(answer.contains(PostgresFailure.fenced))
        #expect(try database.integer("SELECT count(*) FROM change WHERE record = 'b' OR is_answered") == 0)
    }

    @Test func whatCutsConnectionsIsUnreachableOnceAndThenWorksAgain() throws {
        let database = try SharedDatabase()
        let store = try database.gateway()
        #expect(try store.said(submission(key: "a")) == ["accepted 1"])
        try database.cutConnections()
        #expect(
            failure { () throws(JournalError) in _ = try store.accept([submission(key: "b")], now: 1_100) }
                == .unreachable)
        #expect(try store.said(submission(key: "a"), submission(key: "c")) == ["running", "accepted 2"])
    }

    @Test func aServerThatDiedIsUnreachableAndWorksAgainByItself() throws {
        let server = PostgresServer()
        let database = try SharedDatabase(server)
        let store = try database.gateway()
        let reader = PostgresReader(database.address, membership: store.membership)
        #expect(try store.said(submission(key: "k")) == ["accepted 1"])
        #expect(try reader.outstanding(after: 0, limit: 9).count == 1)
        server.stop()
        for _ in 0..<3 {
            #expect(
                failure { () throws(JournalError) in _ = try store.accept([submission()], now: 1_000) } == .unreachable)
            #expect(failure { () throws(JournalError) in _ = try reader.counts() } == .unreachable)
        }
        server.start()
        var said: [String] = []
        while said.isEmpty {
            said = (try? store.said(submission(key: "k"), submission(key: "l"))) ?? []
            usleep(20_000)
        }
        #expect(said[0] == "running" && said[1].hasPrefix("accepted"), "what was accepted before the crash is there")
        #expect(try reader.counts().outstandingLegacy == 2)
    }

    @Test func aDatabaseThatRefusesWritesIsReadOnly() throws {
        let database = try SharedDatabase()
        let store = try database.gateway()
        try database.connection.script("ALTER DATABASE \(database.name) SET default_transaction_read_only TO on")
        try database.cutConnections()
        store.connection.close()
        #expect(failure { () throws(JournalError) in _ = try store.accept([submission()], now: 1_000) } == .readOnly)
        #expect(try store.counts().lastSequence == 0, "reads go on")
    }

    @Test func aLaneThatAnotherHoldsForTooLongIsBusy() throws {
        let database = try SharedDatabase()
        let store = try database.gateway()
        try store.connection.script("SET lock_timeout TO 50")
        let lane = store.lanes.lanes(user: "anna", records: ["note"])[0]
        try database.connection.script("BEGIN; SELECT pg_advisory_xact_lock(\(lane))")
        #expect(failure { () throws(JournalError) in _ = try store.accept([submission()], now: 1_000) } == .busy)
        try database.connection.script("ROLLBACK")
        #expect(try store.said(submission()).count == 1)
    }

    @Test func aGroupThatFailsHalfwayKeepsNothing() throws {
        let database = try SharedDatabase()
        let store = try database.gateway()
        #expect(try store.said(submission(key: "a")) == ["accepted 1"])
        try database.connection.script("ALTER TABLE change_body ADD CONSTRAINT small CHECK (length(body) < 100)")
        let large = submission(key: "b", body: String(repeating: "x", count: 200))
        #expect(
            failure { () throws(JournalError) in
                _ = try store.commit([submission(key: "c"), large], updates: [.accepted(1)], now: 1_000)
            } == .other)
        #expect(try store.said(submission(key: "a")) == ["running"], "the update was rolled back with the group")
        #expect(try database.integer("SELECT count(*) FROM change") == 1)
    }

    @Test func whatIsSaidOfAFailureNamesThePlaceAndNoPassword() throws {
        let address = try PostgresAddress("postgresql://bert:geheim@127.0.0.1:1/journal?password=geheim")
        let connection = PostgresConnection(address)
        do throws(JournalError) {
            try connection.script("SELECT 1")
            Issue.record("connected to nothing")
        } catch {
            #expect(error.kind == .unreachable && error.message.contains("127.0.0.1:1, database journal"))
            #expect(!error.message.contains("geheim"))
        }
        do throws(JournalError) {
            _ = try PostgresAddress("postgresql://bert:geheim@host:port:port/%zz")
            Issue.record("understood nonsense")
        } catch {
            #expect(error.kind == .cannotOpen && !error.message.contains("geheim"))
        }
    }

    @Test func connectingIsNotTriedInAHotSpin() throws {
        let connection = PostgresConnection(try PostgresAddress("postgresql://postgres@/x?host=/nowhere/at/all"))
        let begin = monotonicNanoseconds()
        for _ in 0..<10_000 {
            #expect(failure { () throws(JournalError) in try connection.script("SELECT 1") } == .unreachable)
        }
        // Ten thousand real attempts would take more than a second; a slow machine makes this only larger.
        #expect(connection.attempts <= 1 + (monotonicNanoseconds() - begin) / 200_000_000)
    }
}

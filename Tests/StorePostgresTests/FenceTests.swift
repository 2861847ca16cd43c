import Glibc
import Journal
import JournalRules
import JournalThreads
import Rollout
import Testing

@testable import StorePostgres

@Suite struct TheFence {
    private let database: SharedDatabase

    init() throws { database = try SharedDatabase() }

    @Test func whoseLeaseWasTakenKeepsNothing() throws {
        let store = try database.gateway()
        #expect(try store.said(submission([("a", nil)])) == ["accepted 1"])
        try database.end(store)
        let group = { () throws(JournalError) in
            _ = try store.commit([submission([("b", nil)])], updates: [.accepted(1)], now: 1_100)
        }
        #expect(failure(group) == .fenced)
        #expect(failure(group) == .fenced)
        #expect(failure { () throws(JournalError) in try store.apply([.accepted(1)], now: 1_100) } == .fenced)
        #expect(try database.integer("SELECT count(*) FROM change WHERE record = 'b' OR is_answered") == 0)
        store.membership.join(as: try #require(try database.join().owner))
        #expect(try store.said(submission([("b", nil)])) == ["accepted 2"], "as another gateway it goes on")
    }

    @Test func whoNeverJoinedKeepsNothing() throws {
        let store = try database.store(Membership())
        #expect(failure { () throws(JournalError) in _ = try store.accept([submission()], now: 1_000) } == .fenced)
        store.membership.join(as: 4_711)
        #expect(failure { () throws(JournalError) in _ = try store.accept([submission()], now: 1_000) } == .fenced)
        #expect(try store.counts().lastSequence == 0 && store.outstanding(after: 0, limit: 9).isEmpty, "it may read")
    }

    /// A takeover must see everything that the gateway has kept: it waits for the group that is under way.
    @Test func endingAGatewayWaitsForItsGroup() throws {
        let store = try database.gateway()
        let owner = try #require(store.membership.owner)
        let running = PostgresConnection(database.address)
        try running.script("BEGIN; SELECT begin_group(\(owner), 1, false, '{}')")
        let ended = Collector<Bool>()
        let address = database.address
        let thread = Thread(name: "takeover") {
            let connection = PostgresConnection(address)
            ended.add((try? connection.script("UPDATE gateway SET ended_at = now() WHERE id = \(owner)")) != nil)
        }
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try database.integer(waiting) == 0 { usleep(1_000) }
        // A heartbeat of the same gateway does not wait for its group; here it would wait for the takeover.
        #expect(ended.all.isEmpty)
        try running.script("COMMIT")
        #expect(ended.wait(for: 1) == [true])
        thread.join()
        #expect(failure { () throws(JournalError) in _ = try store.accept([submission()], now: 1_000) } == .fenced)
    }

    @Test func aHeartbeatDoesNotWaitForAGroup() throws {
        let store = try database.gateway()
        let owner = try #require(store.membership.owner)
        let running = PostgresConnection(database.address)
        try running.script("BEGIN; SELECT begin_group(\(owner), 1, false, '{}')")
        try database.connection.script(
            "SET lock_timeout TO 1; UPDATE gateway SET expires_at = now() WHERE id = \(owner)")
        try running.script("ROLLBACK")
    }

    /// What was taken over from another gateway stands before later changes in its lanes, although nobody told of it yet.
    @Test func whatWasTakenOverIsAmongTheForeignOnes() throws {
        let (gone, heir) = (try database.gateway(), try database.gateway())
        _ = try gone.said(submission([("a", nil)]), submission([("b", nil), ("c", nil)]))
        try database.end(gone)
        let owner = try #require(heir.membership.owner)
        try database.connection.script("UPDATE change SET owner = \(owner), group_number = -1")
        let group = try heir.commit([submission([("a", nil)]), submission([("c", nil)])], updates: [], now: 1_000)
        #expect(group.foreign.map(\.sequence) == [1, 2])
        #expect(try heir.outstanding(after: 0, limit: 9).map(\.sequence) == [1, 2, 3, 4])
    }
}

import Journal
import JournalThreads
import Rollout
import Testing

@testable import StorePostgres

/// The journal's store under the membership that a cluster gives it.
@Suite struct StoresOfACluster {
    private func submission(_ record: String, user: String = "anna", key: String? = nil) -> Submission {
        Submission(
            user: user, records: [RecordRevision(record: record, revision: nil, payloadHash: "h")], idempotencyKey: key,
            outgoingKey: key ?? "made", fingerprint: "f", method: "PUT", target: "/" + record, headerLines: [],
            conditionalLines: [], body: Array("{}".utf8), side: .legacy, dualWrite: true)
    }

    private func kind(_ body: () throws(JournalError) -> Void) -> JournalError.Kind? {
        do throws(JournalError) {
            try body()
            return nil
        } catch {
            return error.kind
        }
    }

    private func store(_ database: ClusterDatabase, _ member: ClusterMember) throws -> PostgresStore {
        try PostgresStore(try PostgresAddress(database.url), membership: member.membership)
    }

    private func accepted(_ group: CommittedGroup) -> [Sequence64] {
        group.admissions.compactMap { if case .accepted(let sequence) = $0 { sequence } else { nil } }
    }

    @Test func aGatewayThatWasStoppedKeepsNothingLateAndWorksAgainUnderANewLease() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let stopped = try store(database, b)
        let before = accepted(try stopped.commit([submission("r1"), submission("r2")], updates: [], now: 1))
        #expect(before.count == 2)
        b.gate.close()
        try await until("a takes over") { a.heard.takenOver == before }
        // Its cluster knows nothing yet. Its store is refused all the same: a write, and the fact that a leg holds.
        #expect(b.heard.fenced == 0)
        let rows = try database.integer("SELECT count(*) FROM change")
        #expect(
            kind { () throws(JournalError) in _ = try stopped.commit([submission("r3")], updates: [], now: 1) }
                == .fenced)
        let fact = JournalUpdate.leg(before[0], .new, LegStatus(.applied, attempts: 1, lastStatus: 200))
        #expect(kind { () throws(JournalError) in _ = try stopped.commit([], updates: [fact], now: 1) } == .fenced)
        #expect(try database.integer("SELECT count(*) FROM change") == rows)
        #expect(try database.integer("SELECT count(*) FROM change WHERE new_state = 'pending'") == 2)

        b.gate.open()
        try await until("b joins anew") { b.heard.fenced == 1 && b.holdsLease }
        // Facts about what is another's by now are dropped, and do not hold the group up.
        let after = try stopped.commit([submission("r1")], updates: [fact], now: 1)
        #expect(accepted(after).count == 1)
        #expect(after.foreign.map(\.sequence) == [before[0]])
        #expect(try database.integer("SELECT count(*) FROM change WHERE new_state = 'pending'") == 3)
        // The heir's facts are kept.
        _ = try store(database, a).commit([], updates: [fact], now: 1)
        #expect(try database.integer("SELECT count(*) FROM change WHERE new_state = 'applied'") == 1)
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func aPageShowsNothingOfATakeoverThatWasNotToldYet() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let taken = accepted(try store(database, b).commit([submission("r1")], updates: [], now: 1))
        b.cluster.leave()
        try await until("a takes over") { a.heard.takenOver == taken }
        let heir = try store(database, a)
        let own = accepted(try heir.commit([submission("r2")], updates: [], now: 1))
        let number = try #require(a.heard.takeovers.first)
        let page = { (through: Int64) throws(JournalError) in
            try heir.outstanding(OutstandingQuery(side: .new, throughTakeover: through, limit: 9)).map(\.sequence)
        }
        #expect(try page(number - 1) == own)
        #expect(try page(number) == taken + own)
        a.cluster.leave()
    }

    @Test func aGroupThatIsAheadOfATakeoversReportNamesWhatWasTaken() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let taken = accepted(try store(database, b).commit([submission("r1")], updates: [], now: 1))
        b.cluster.leave()
        try await until("a takes over") { a.heard.takenOver == taken }
        let heir = try store(database, a)
        #expect(try heir.commit([submission("r1")], updates: [], now: 1).foreign.map(\.sequence) == taken)
        #expect(try heir.commit([submission("r2")], updates: [], now: 1).foreign.isEmpty)
        // What it accepted itself is not named.
        let fact = JournalUpdate.answered(
            taken[0], servedBy: .legacy, legs: Legs(legacy: LegStatus(.applied), new: LegStatus(.applied)), answer: nil,
            revisionAccepted: true)
        #expect(try heir.commit([submission("r1")], updates: [fact], now: 1).foreign.isEmpty)
        a.cluster.leave()
    }

    @Test func aGroupBehindAnothersIsReleasedWhenThatOneHasSettled() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let (first, second) = (try store(database, a), try store(database, b))
        let earlier = accepted(try first.commit([submission("r1")], updates: [], now: 1))
        let later = try second.commit([submission("r1")], updates: [], now: 1)
        #expect(later.foreign.map(\.sequence) == earlier)
        b.cluster.watch(later.foreign.map(\.sequence))
        _ = try first.commit(
            [], updates: [.leg(earlier[0], .legacy, LegStatus(.applied, attempts: 1, lastStatus: 200))], now: 1)
        try await until("one side is free") { b.heard.settled == [earlier[0]: .legacy] }
        _ = try first.commit(
            [], updates: [.leg(earlier[0], .new, LegStatus(.parked, attempts: 4, lastStatus: 400))], now: 1)
        try await until("the other one, too") { b.heard.settled == [earlier[0]: .both] }
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func withoutALeaseNothingIsAccepted() throws {
        let database = try ClusterDatabase()
        let a = try database.member("a")
        let own = try store(database, a)
        _ = try own.commit([submission("r1")], updates: [], now: 1)
        a.cluster.leave()
        #expect(
            kind { () throws(JournalError) in _ = try own.commit([submission("r2")], updates: [], now: 1) } == .fenced)
        #expect(try database.integer("SELECT count(*) FROM change") == 1)
    }
}

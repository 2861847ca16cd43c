import Journal
import JournalThreads
import PostgresTestServer
import Testing

@testable import StorePostgres

/// Leases, takeovers and the fence, on a real server.
@Suite struct ClusterMembership {
    /// Microseconds between the last renewal of a gateway and its end, by the store's clock.
    private func microsecondsUntilReplaced(_ database: ClusterDatabase, _ id: Int64) throws -> Int64 {
        try database.integer(
            """
            SELECT (extract(epoch FROM ended_at - expires_at + interval '\(ClusterTimes.leaseSeconds) s') * 1000000)::bigint
            FROM gateway WHERE id = \(id)
            """)
    }

    @Test func aGatewayThatIsStoppedIsReplacedByExactlyOneAndCanDoNoHarmAfterwards() async throws {
        let database = try ClusterDatabase()
        let (a, b, c) = (try database.member("a"), try database.member("b"), try database.member("c"))
        let lost = c.id
        #expect(try database.integer("SELECT count(*) FROM gateway WHERE ended_at IS NULL") == 3)
        let first = try database.insert(owner: lost, count: 30)
        try database.insert(owner: lost, new: "applied")
        #expect(database.groupFailure(owner: lost, group: 1) == nil)

        c.gate.close()
        try await until("somebody takes over") { a.heard.takenOver.count + b.heard.takenOver.count == 30 }
        #expect(a.heard.takenOver.isEmpty || b.heard.takenOver.isEmpty)
        let heir = a.heard.takenOver.isEmpty ? b : a
        #expect(heir.heard.takenOver == Array(first..<first + 30))
        #expect(heir.cluster.state.takenOver == 30)
        #expect(try database.integer("SELECT count(*) FROM change WHERE owner = \(heir.id)") == 30)
        // What was settled is nobody's work any more.
        #expect(try database.integer("SELECT count(*) FROM change WHERE owner = \(lost)") == 1)
        #expect(!c.holdsLease)
        // 10 s is the promise; half as much again for a machine that is busy with other tests.
        let replaced = try microsecondsUntilReplaced(database, lost)
        #expect(replaced >= 6_000_000 && replaced < 15_000_000)

        // Its late group keeps nothing, before and after it hears of it.
        #expect(database.groupFailure(owner: lost, group: 2) == .fenced)
        c.gate.open()
        try await until("it joins anew") { c.heard.fenced == 1 && c.holdsLease }
        #expect(c.id != lost && c.id != 0)
        #expect(database.groupFailure(owner: lost, group: 3) == .fenced)
        #expect(database.groupFailure(owner: c.id, group: 1) == nil)
        try await until("everybody sees three again") { [a, b, c].allSatisfy { $0.cluster.state.members == 3 } }
        #expect(a.heard.fenced == 0 && b.heard.fenced == 0 && c.heard.fenced == 1)
        for member in [a, b, c] { member.cluster.leave() }
    }

    @Test func whatALeavingGatewayLeavesGoesToAnotherAtOnce() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let first = try database.insert(owner: b.id, count: 3)
        let left = b.id
        b.cluster.leave()
        try await until("a takes over") { a.heard.takenOver == Array(first..<first + 3) }
        // At once: the lease had not run out.
        #expect(
            try database.integer("SELECT (ended_at < expires_at)::integer FROM gateway WHERE id = \(left)") == 1)
        #expect(database.groupFailure(owner: left, group: 1) == .fenced)
        try await until("a is alone") { a.cluster.state.members == 1 }
        a.cluster.leave()
        #expect(try database.integer("SELECT count(*) FROM gateway WHERE ended_at IS NULL") == 0)
    }

    @Test func aRestartedGatewayHasItsChangesBackBeforeItServes() throws {
        let database = try ClusterDatabase()
        let before = try database.member("a")
        let first = try database.insert(owner: before.id, count: 5)
        before.gate.close()

        let after = try database.member("a")
        #expect(after.heard.takenOver == Array(first..<first + 5))
        #expect(after.holdsLease)
        #expect(database.groupFailure(owner: before.id, group: 1) == .fenced)
        after.cluster.leave()
        before.gate.open()
        before.cluster.leave()
    }

    @Test func whoStartsAloneTakesOverAllThatOthersLeft() throws {
        let database = try ClusterDatabase()
        let gone = try database.insertGateway(expires: "- interval '1 day'", ended: "- interval '1 day'")
        let dead = try database.insertGateway(expires: "- interval '1 s'")
        let alive = try database.insertGateway()
        let first = try database.insert(owner: gone, count: 2)
        try database.insert(owner: dead, count: 2)
        try database.insert(owner: alive, user: "bert", legacy: "pending", new: "applied")
        let a = try database.member("a")
        #expect(a.heard.takenOver == Array(first..<first + 4))
        #expect(a.heard.foreign.last == ForeignOutstanding(legacy: ["bert"]))
        #expect(a.heard.order.last { $0 != "stateChanged" } == "foreign")
        a.cluster.leave()
    }

    @Test func aTakeoverIsToldInPagesInOrderAndWithWhatComesBeforeIt() async throws {
        let database = try ClusterDatabase()
        let bystander = try database.insertGateway()
        let (b, c) = (try database.member("b"), try database.member("c"))
        let earlier = try database.insert(owner: bystander, lane: 5)
        try database.insert(owner: bystander, lane: 6)
        try database.insert(owner: bystander, lane: 5, new: "parked")
        let batch = try database.insert(owner: bystander, lane: 8)
        let first = try database.insert(owner: b.id, count: 2_500, lane: 5)
        let inBatch = try database.insert(owner: b.id, lane: 9)
        try database.connection.script("INSERT INTO batch_lane VALUES (7, \(batch)), (7, \(inBatch))")
        try database.insert(owner: bystander, lane: 5)
        b.cluster.leave()
        try await until("c takes over") { c.heard.takenOver.count >= 2_501 }
        #expect(c.heard.takenOver == Array(first..<first + 2_501))
        #expect(c.heard.pages.map(\.count) == [1_000, 1_000, 501])
        #expect(c.heard.takeovers == Set(c.heard.takeovers).sorted(), "a number of its own, each higher than the last")
        // The parked one, the ones in other lanes and the later one come before nothing.
        #expect(Set(c.heard.foreignBefore.map(\.sequence)) == [earlier, batch])
        let change = try #require(c.heard.pages.first?.first)
        #expect(change.user == "anna" && change.records == ["r"] && change.answeredStatus == 200)
        #expect(change.legs.new.state == .pending && change.legs.legacy.state == .applied)
        for member in [b, c] { member.cluster.leave() }
    }

    @Test func aProcessStoppedInTheMiddleOfAGroupDoesNotHoldUpItsReplacement() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let first = try database.insert(owner: b.id)
        b.gate.close()
        // What a group holds when its process stops between two packets: its gateway's row, and lanes.
        let stopped = try PostgresServer.shared.connection(to: database.name)
        try stopped.script(
            "BEGIN; SET idle_in_transaction_session_timeout TO 0; SELECT begin_group(\(b.id), 1, false, '{7}')")
        try await until("a takes over") { a.heard.takenOver == [first] }
        // The session was ended, and its lanes are free.
        #expect(throws: JournalError.self) { try stopped.script("COMMIT") }
        #expect(database.groupFailure(owner: a.id, group: 1) == nil)
        b.gate.open()
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func twoGatewaysWithOneNameDoNotFenceEachOtherForEver() async throws {
        let database = try ClusterDatabase()
        let a = try database.member("copied")
        let b = try database.member("copied")
        try await until("the first one has joined anew") { a.heard.fenced == 1 && a.holdsLease }
        try await until("both see two") { a.cluster.state.members == 2 && b.cluster.state.members == 2 }
        let renewals = (a.heard.renewals, b.heard.renewals)
        try await until("both renew") { a.heard.renewals > renewals.0 + 2 && b.heard.renewals > renewals.1 + 2 }
        #expect(a.heard.fenced == 1 && b.heard.fenced == 0)
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func cutConnectionsInTheMiddleOfATakeoverLoseNothingAndTellNothingTwice() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let first = try database.insert(owner: b.id, count: 5_000)
        b.cluster.leave()
        for _ in 0..<60 where a.heard.takenOver.count < 5_000 {
            try database.cutSessions()
            try await Task.sleep(nanoseconds: 15_000_000)
        }
        try await until("everything was told") { a.heard.takenOver.count >= 5_000 }
        #expect(a.heard.takenOver == Array(first..<first + 5_000))
        #expect(a.heard.fenced == 0)
        a.cluster.leave()
    }

    @Test func rowsOfGatewaysGoWhenNothingNeedsThem() async throws {
        let database = try ClusterDatabase()
        let old = "- interval '1 day'"
        let (empty, parking) = (
            try database.insertGateway(expires: old, ended: old), try database.insertGateway(expires: old, ended: old)
        )
        let recent = try database.insertGateway(expires: old, ended: "- interval '1 minute'")
        try database.insert(owner: empty, new: "applied")
        try database.insert(owner: parking, new: "parked")
        let a = try database.member("a")
        try await until("the empty one is gone") {
            try database.integer("SELECT count(*) FROM gateway WHERE id = \(empty)") == 0
        }
        #expect(try database.integer("SELECT count(*) FROM gateway WHERE id IN (\(parking), \(recent))") == 2)
        // Should an operator put the parked leg back, whoever lives takes it.
        try database.connection.script("UPDATE change SET new_state = 'pending' WHERE owner = \(parking)")
        try await until("it is taken") { a.heard.takenOver.count == 1 }
        a.cluster.leave()
    }

    @Test func aStoreThatCannotBeReachedIsSaidAtTheStart() throws {
        #expect(throws: JournalError.self) { try ClusterMember("postgresql://nobody@127.0.0.1:1/none", "a") }
    }
}

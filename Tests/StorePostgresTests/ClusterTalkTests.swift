import Journal
import JournalThreads
import PostgresTestServer
import Synchronization
import JournalRules
import Testing

@testable import StorePostgres

/// Announcements, versions, watches and lost connections, on a real server.
@Suite struct ClusterTalk {
    @Test func anAnnouncementIsAnsweredWhenTheOthersHaveLooked() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        try await until("both see two") { a.cluster.state.members == 2 && b.cluster.state.members == 2 }
        for round in 0..<20 {
            let user = "user \(round)"
            try database.insert(owner: a.id, user: user, lane: Int64(round))
            let hasHeard = Mutex<Bool?>(nil)
            let answer = await withCheckedContinuation { continuation in
                a.cluster.announce { answer in
                    // At the moment of the answer, not some time after it.
                    hasHeard.withLock { $0 = b.heard.foreign.last?.new.contains(user) }
                    continuation.resume(returning: answer)
                }
            }
            #expect(answer)
            #expect(hasHeard.withLock { $0 } == true)
        }
        #expect(a.cluster.state.announcements == 20 && a.cluster.state.lateAnnouncements == 0)
        // While something is outstanding there, b looks again by itself, until nothing is.
        try database.connection.script("UPDATE change SET new_state = 'applied'")
        try await until("b hears of the end") { b.heard.foreign.last?.isEmpty == true }
        // Its own changes are never foreign.
        #expect(a.heard.foreign.filter { !$0.isEmpty } == [])
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func manyAnnouncementsAtOnceShareRounds() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        try await until("both see two") { a.cluster.state.members == 2 && b.cluster.state.members == 2 }
        let before = try database.integer("SELECT value FROM counter WHERE name = 'announcement'")
        let answers = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<500 { group.addTask { await a.announce() } }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(answers.count == 500)
        // A machine that is busy may be late; but every one is answered, and few rounds were needed.
        #expect(answers.contains(true))
        let rounds = try database.integer("SELECT value FROM counter WHERE name = 'announcement'") - before
        #expect(rounds >= 1 && rounds < 250)
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func aloneThereIsNobodyToAsk() async throws {
        let database = try ClusterDatabase()
        let a = try database.member("a")
        try await until("it knows that it is alone") {
            let before = try database.integer("SELECT value FROM counter WHERE name = 'announcement'")
            let answer = Mutex<Bool?>(nil)
            a.cluster.announce { given in answer.withLock { $0 = given } }
            // At once means: before `announce` returns, and without the store.
            guard answer.withLock({ $0 }) == true else { return false }
            return try database.integer("SELECT value FROM counter WHERE name = 'announcement'") == before
        }
        a.cluster.leave()
        #expect(await a.announce() == false)
    }

    @Test func aGatewayThatDoesNotAnswerMakesAnAnnouncementLateUntilItsLeaseIsOver() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        try await until("both see two") { a.cluster.state.members == 2 && b.cluster.state.members == 2 }
        b.gate.close()
        // Until b's threads have come to their gate, it may still answer.
        try await until("an announcement is late, or b is gone") { await a.announce() == false }
        #expect(a.cluster.state.lateAnnouncements >= 1)
        try await until("b's lease is over") { await a.announce() }
        b.gate.open()
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func whoJoinsKnowsWhatIsOutstandingAtOthersBeforeItServes() async throws {
        let database = try ClusterDatabase()
        let a = try database.member("a")
        try database.insert(owner: a.id, user: "anna")
        try database.insert(owner: a.id, user: "", legacy: "awaiting-copy", new: "parked")
        let b = try database.member("b")
        #expect(b.heard.foreign.last == ForeignOutstanding(legacy: [nil], new: ["anna"]))
        // And a knows of b: it does not take itself for alone any more.
        #expect(a.cluster.state.members == 2)
        for member in [a, b] { member.cluster.leave() }
    }

    /// The one that is alone asks nobody. Whoever joins must all the same never serve without knowing what that one has told
    /// its clients.
    @Test func whoJoinsNeverMissesWhatSomebodyAloneHasJustAnnounced() async throws {
        let database = try ClusterDatabase()
        let a = try database.member("a")
        let present = Mutex<ClusterMember?>(nil)
        let isOver = Mutex(false)
        let missed = Mutex<[String]>([])
        let url = database.url
        let writer = Thread(name: "writer") {
            guard let database = try? ClusterDatabase(at: url) else { return }
            var number = 0
            while !isOver.withLock({ $0 }) {
                number += 1
                let user = "user \(number)"
                guard (try? database.insert(owner: a.id, user: user, lane: Int64(number))) != nil else { continue }
                let answers = Collector<Bool>()
                a.cluster.announce { answer in
                    // Whoever may serve at this moment.
                    let other = present.withLock { $0 }
                    if answer, let other, other.holdsLease, other.heard.foreign.last?.new.contains(user) != true {
                        missed.withLock { $0.append(user) }
                    }
                    answers.add(answer)
                }
                _ = answers.wait(for: 1)
            }
        }
        for _ in 0..<12 {
            let b = try ClusterMember(database.url, "b") { joining in present.withLock { $0 = joining } }
            try await Task.sleep(nanoseconds: 100_000_000)
            present.withLock { $0 = nil }
            b.cluster.leave()
            // Until a has forgotten of b, and answers by itself again.
            try await until("a is alone") { a.cluster.state.members == 1 }
        }
        isOver.withLock { $0 = true }
        writer.join()
        #expect(missed.withLock { $0 } == [])
        a.cluster.leave()
    }

    @Test func aLookIsToldBeforeItIsAnswered() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        try database.insert(owner: a.id, user: "anna")
        #expect(await b.cluster.refreshForeign())
        #expect(b.heard.foreign.last == ForeignOutstanding(new: ["anna"]))
        for member in [a, b] { member.cluster.leave() }
        #expect(await b.cluster.refreshForeign() == false)
    }

    @Test func withMoreUsersThanAreKeptEverybodyCounts() throws {
        let database = try ClusterDatabase()
        for user in ["a", "b", "c"] { try database.insert(owner: 9, user: user) }
        func rows() throws -> PostgresRows {
            try database.connection.query(
                ClusterQueries.foreign, PostgresParameters().int64(1).int64s([]).int64(1_000))
        }
        #expect(PostgresCluster.foreign(try rows(), limit: 3) == ForeignOutstanding(new: ["a", "b", "c"]))
        #expect(PostgresCluster.foreign(try rows(), limit: 2) == ForeignOutstanding(everybody: .both))
    }

    @Test func aChangeOfTheSharedStateIsHeardByAllEvenWithoutNotifications() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        try await until("the present version is told at the start") {
            a.heard.versions == [0] && b.heard.versions == [0]
        }
        try database.connection.script("SELECT state_changed()")
        try await until("both hear") { a.heard.versions == [0, 1] && b.heard.versions == [0, 1] }
        // Nobody is notified of this one.
        try database.connection.script("UPDATE counter SET value = value + 1 WHERE name = 'version'")
        try await until("both hear") { a.heard.versions == [0, 1, 2] && b.heard.versions == [0, 1, 2] }
        // Nor of this one: those that listen are cut off at the same moment.
        try database.cutSessions()
        try database.connection.script("SELECT state_changed()")
        try await until("both hear") { a.heard.versions == [0, 1, 2, 3] && b.heard.versions == [0, 1, 2, 3] }
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func aVersionIsAcknowledgedWhenEveryGatewayThatLivesKnowsIt() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        a.cluster.acknowledge(5)
        #expect(await a.cluster.isAcknowledged(5, timeoutMilliseconds: 300) == false)
        async let answer = a.cluster.isAcknowledged(5, timeoutMilliseconds: 60_000)
        b.cluster.acknowledge(5)
        #expect(await answer)
        #expect(await b.cluster.isAcknowledged(4, timeoutMilliseconds: 60_000))
        // One that is gone is not waited for.
        a.cluster.acknowledge(6)
        b.cluster.leave()
        #expect(await a.cluster.isAcknowledged(6, timeoutMilliseconds: 60_000))
        a.cluster.leave()
    }

    @Test func aGatewayThatWasFencedHasAcknowledgedWhatItKnewBefore() async throws {
        let database = try ClusterDatabase()
        let a = try database.member("a")
        a.cluster.acknowledge(3)
        #expect(await a.cluster.isAcknowledged(3, timeoutMilliseconds: 60_000))
        try database.connection.script("UPDATE gateway SET ended_at = now()")
        try await until("it joins anew") { a.heard.fenced == 1 && a.holdsLease }
        #expect(await a.cluster.isAcknowledged(3, timeoutMilliseconds: 60_000))
        a.cluster.leave()
    }

    @Test func whatIsWatchedIsToldSideBySideAsItSettles() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let first = try database.insert(owner: b.id, count: 3, legacy: "pending")
        a.cluster.watch(Array(first..<first + 3))
        #expect(a.cluster.state.watched == 3)
        try database.connection.script("UPDATE change SET legacy_state = 'applied' WHERE sequence = \(first)")
        try await until("one side is told") { a.heard.settled == [first: .legacy] }
        try database.connection.script("UPDATE change SET new_state = 'parked' WHERE sequence = \(first)")
        try database.connection.script("DELETE FROM change WHERE sequence = \(first + 1)")
        try await until("the rest is told") { a.heard.settled == [first: .both, first + 1: .both] }
        #expect(a.cluster.state.watched == 1)
        // Whoever settles it in the end.
        b.cluster.leave()
        try await until("a takes over") { a.heard.takenOver == [first + 2] }
        try database.connection.script(
            "UPDATE change SET legacy_state = 'applied', new_state = 'superseded' WHERE sequence = \(first + 2)")
        try await until("the last is told") { a.heard.settled[first + 2] == .both }
        #expect(a.cluster.state.watched == 0)
        a.cluster.leave()
    }

    @Test func cutConnectionsCostNobodyItsLease() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let ids = [a.id, b.id]
        for _ in 0..<5 {
            try database.cutSessions()
            let renewals = (a.heard.renewals, b.heard.renewals)
            try await until("both renew") { a.heard.renewals > renewals.0 && b.heard.renewals > renewals.1 }
        }
        #expect([a.id, b.id] == ids)
        #expect(a.heard.fenced == 0 && b.heard.fenced == 0)
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func aStoreThatWasAwayCostsTheLeaseHereButFencesNobody() async throws {
        let server = PostgresServer()
        let database = try ClusterDatabase(server)
        let (a, b) = (try database.member("a"), try database.member("b"))
        let ids = [a.id, b.id]
        try database.insert(owner: a.id, user: "anna")
        let told = b.heard.foreign.count
        server.stop()
        try await until("both know") { !a.cluster.state.isConnected && !b.cluster.state.isConnected }
        try await until("the leases run out") { !a.holdsLease && !b.holdsLease }
        #expect(await a.announce() == false)
        // Longer than the lease by the store's clock, too.
        try await Task.sleep(nanoseconds: 2_000_000_000)
        server.start()
        try await until("both are back") { a.holdsLease && b.holdsLease }
        #expect(a.cluster.state.isConnected && b.cluster.state.isConnected)
        #expect([a.id, b.id] == ids)
        #expect(a.heard.fenced == 0 && b.heard.fenced == 0)
        // What is outstanding elsewhere was looked up before the lease came back.
        #expect(b.heard.foreign.count > told && b.heard.foreign.last?.new == ["anna"])
        #expect(a.heard.takenOver.isEmpty && b.heard.takenOver.isEmpty)
        for member in [a, b] { member.cluster.leave() }
    }
}

import Glibc
import Journal
import JournalRules
import JournalThreads
import Rollout
import Synchronization
import Testing

@testable import StorePostgres

@Suite struct TwoGatewaysOnOneStore {
    private let database: SharedDatabase
    private let first: PostgresStore
    private let second: PostgresStore

    init() throws {
        database = try SharedDatabase()
        first = try database.gateway("first")
        second = try database.gateway("second")
    }

    @Test func aKeyOfTheOneIsKnownToTheOther() throws {
        #expect(try first.said(submission(key: "k")) == ["accepted 1"])
        #expect(try second.said(submission(key: "k"), submission(key: "k", body: "other")) == ["running", "reused"])
        try first.apply([.accepted(1)], now: 1_100)
        #expect(try second.said(submission(key: "k")) == ["replay 201"])
    }

    @Test func aRevisionOfTheOneIsKnownToTheOther() throws {
        #expect(try first.said(submission([("n", 8)], body: "eight")) == ["accepted 1"])
        #expect(
            try second.said(
                submission([("n", 7)], body: "seven"), submission([("n", 8)], body: "eight"),
                submission([("n", 9)], body: "nine")) == ["stale n:7<8", "running", "accepted 2"])
        try first.apply([.refused(1)], now: 1_100)
        try second.apply([.refused(2)], now: 1_100)
        #expect(try first.said(submission([("n", 7)], body: "seven")) == ["accepted 3"])
    }

    @Test func theSameKeyAtOnceIsAcceptedOnce() throws {
        let said = try atOnce { store, round in try store.said(submission([("n\(round)", nil)], key: "k\(round)")) }
        for round in said { #expect(round.filter { $0.hasPrefix("accepted") }.count == 1 && round.contains("running")) }
    }

    @Test func theSameKeyForDifferentRecordsAtOnceIsAcceptedOnce() throws {
        let owner = first.membership.owner
        let said = try atOnce { store, round in
            let record = store.membership.owner == owner ? "a" : "b"
            return try store.said(submission([(record, nil)], key: "k\(round)", body: record))
        }
        for round in said { #expect(round.filter { $0.hasPrefix("accepted") }.count == 1 && round.contains("reused")) }
    }

    @Test func theSameRevisionAtOnceIsAcceptedOnce() throws {
        let said = try atOnce { store, round in
            try store.said(submission([("n", Int64(round + 1))], body: "\(store.membership.owner ?? 0)"))
        }
        for (round, both) in said.enumerated() {
            #expect(both.filter { $0.hasPrefix("accepted") }.count == 1)
            #expect(both.contains("stale n:\(round + 1)<\(round + 1)"))
        }
    }

    /// Runs 40 rounds in two threads that begin every round together.
    private func atOnce(
        _ write: @escaping @Sendable (PostgresStore, Int) throws -> [String]
    ) throws -> [[String]] {
        let rounds = 40
        let said = Mutex([[String]](repeating: [], count: rounds))
        let arrived = Mutex(0)
        let stores = [first, second].map { UncheckedStore(store: $0) }
        let threads = stores.enumerated().map { index, box in
            Thread(name: "gateway \(index)") {
                for round in 0..<rounds {
                    arrived.withLock { $0 += 1 }
                    while arrived.withLock({ $0 < 2 * (round + 1) }) { sched_yield() }
                    let words = (try? write(box.store, round)) ?? ["failed"]
                    said.withLock { $0[round] += words }
                }
            }
        }
        for thread in threads { thread.join() }
        return said.withLock { $0 }
    }

    @Test func outstandingChangesOfTheOtherInTheSameLaneComeWithAnAcceptedOne() throws {
        _ = try first.said(
            submission([("a", nil)]), submission([("b", nil), ("c", nil), ("d", nil)]),
            submission(user: "bert", [("a", nil)]),
            submission([("e", nil)]), submission([]))
        try first.apply([.accepted(1), .accepted(4, new: .applied)], now: 1_100)
        func foreign(_ writes: Submission...) throws -> [Sequence64] {
            try second.commit(writes, updates: [], now: 1_200).foreign.map(\.sequence)
        }
        let one = try second.commit([submission([("a", nil)])], updates: [], now: 1_200)
        #expect(try one.foreign == first.outstanding(after: 0, limit: 1))
        #expect(one.foreign[0].answeredStatus == 201 && one.foreign[0].legs.legacy.state == .applied)
        #expect(try foreign(submission([("d", nil)]), submission([("c", nil)])) == [2], "each once")
        #expect(try foreign(submission([("e", nil)])) == [], "it is settled")
        #expect(try foreign(submission([("z", nil)])) == [])
        #expect(try foreign(submission([])) == [5], "the lane of the user")
        #expect(try foreign(submission(user: nil, [("a", nil)])) == [], "another lane")
        #expect(try foreign(submission([("a", nil), ("b", nil)])) == [1, 2])
        try first.apply([.accepted(2, new: .applied)], now: 1_300)
        #expect(try foreign(submission([("d", nil)])) == [])
        #expect(try database.integer("SELECT count(*) FROM batch_lane WHERE sequence = 2") == 0)
    }

    @Test func changesOfTheOtherBesideARefusedWriteAreNotTold() throws {
        _ = try first.said(submission([("a", 5)], key: "k"))
        let group = try second.commit([submission([("a", 4)], body: "old")], updates: [], now: 1_000)
        #expect(group.admissions.map(\.summary) == ["stale a:4<5"] && group.foreign.isEmpty)
    }

    @Test func aParkedBatchThatIsPutBackStandsInAllItsLanesAgain() throws {
        _ = try first.said(submission([("a", nil), ("b", nil)]))
        try first.apply([.accepted(1, new: .parked)], now: 1_100)
        #expect(try second.commit([submission([("b", nil)])], updates: [], now: 1_200).foreign.isEmpty)
        try first.apply([.leg(1, .new, LegStatus(.applied))], now: 1_200)
        #expect(try database.integer("SELECT count(*) FROM batch_lane") == 0)
        try first.apply([.leg(1, .new, LegStatus(.pending))], now: 1_300)
        #expect(try second.commit([submission([("b", nil)])], updates: [], now: 1_400).foreign.map(\.sequence) == [1])
    }

    @Test func everyGatewaySeesItsOwnWorkAndAllOfTheJournal() throws {
        _ = try first.said(submission([("a", nil)]), submission([("b", nil)]))
        _ = try second.said(submission([("c", nil)]))
        #expect(try first.outstanding(after: 0, limit: 9).map(\.sequence) == [1, 2])
        #expect(try second.outstandingPlaces(after: 0, limit: 9).map(\.sequence) == [3])
        let page = OutstandingQuery(side: .new, scope: .user("anna"), after: 1, limit: 9)
        #expect(try first.outstanding(page).map(\.sequence) == [2])
        #expect(try first.outstanding(OutstandingQuery(side: .new, scope: .user(nil), limit: 9)).isEmpty)
        #expect(try first.outstanding(OutstandingQuery(side: .legacy, through: 1, limit: 9)).map(\.sequence) == [1])
        #expect(try second.unanswered(after: 0, limit: 9).map(\.sequence) == [3])
        #expect(try second.rows(parkedOnly: false, before: nil, limit: 9).map(\.sequence) == [3, 2, 1])
        #expect(try second.counts().outstandingNew == 3 && second.load(1) != nil)
    }

    @Test func aFactAboutAChangeOfTheOtherIsDropped() throws {
        _ = try first.said(submission())
        try second.apply([.accepted(1), .leg(1, .legacy, LegStatus(.applied))], now: 1_100)
        #expect(try first.load(1)?.legs == Legs(acceptedOn: .legacy, dualWrite: true))
        #expect(try first.said(submission()) == ["accepted 2"])
    }

    @Test func aParkedChangeOfTheOtherCanBeClaimedAndAnOutstandingOneCannot() throws {
        _ = try first.said(submission([("a", nil)]), submission([("b", nil)]))
        try first.apply([.accepted(1, new: .parked)], now: 1_100)
        #expect(try second.claim([1, 2, 7]) == [1])
        try second.apply([.leg(1, .new, LegStatus(.pending)), .leg(2, .new, LegStatus(.applied))], now: 1_200)
        #expect(try second.outstanding(after: 0, limit: 9).map(\.sequence) == [1])
        #expect(try second.load(2)?.legs.new.state == .pending)
    }

    @Test func onlyOneOfThemChangesTheRollout() throws {
        let record = RolloutRecord(
            generation: 1, plan: "p", stage: "s", percentHundredths: 0, state: "running", sinceMilliseconds: 1)
        let event = RolloutEvent(atMilliseconds: 1, actor: "a", action: "b", before: "", after: "", reason: "")
        #expect(try first.sharedVersion() == 0)
        #expect(try first.saveRollout(record, replacing: 0, event: event))
        #expect(try !second.saveRollout(record, replacing: 0, event: event))
        #expect(try second.sharedVersion() == 1)
        try second.setPin(Pin(user: "anna", side: .new, sinceMilliseconds: 1), event: event)
        #expect(try first.removePin(user: "anna", event: event) && !first.removePin(user: "anna", event: event))
        #expect(try first.sharedVersion() == 3)
    }
}

/// Each store is used by one thread at a time.
private struct UncheckedStore: @unchecked Sendable {
    let store: PostgresStore
}

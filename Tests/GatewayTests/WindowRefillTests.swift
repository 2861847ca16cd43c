import Journal
import Rollout
import Synchronization
import Testing

@testable import Gateway

/// A journal that has what it is told to have, and answers a page when it is asked to.
private final class PagingJournal: WriteJournal {
    private struct State {
        var rows: [OutstandingChange] = []
        var failures = 0
        var queries: [OutstandingQuery] = []
    }
    private let state = Mutex(State())

    func have(_ rows: [OutstandingChange], failures: Int = 0) {
        state.withLock {
            $0.rows = rows; $0.failures = failures
        }
    }
    var queries: [OutstandingQuery] { state.withLock { $0.queries } }

    func start(onAdmitted: @escaping @Sendable (AdmittedGroup) -> Void) {}
    func submit(_ submission: Submission, completion: @escaping @Sendable (Admission) -> Void) {}
    func post(_ update: JournalUpdate) {}
    func post(_ update: JournalUpdate, kept: @escaping @Sendable () -> Void) { kept() }
    func load(_ sequence: Sequence64, completion: @escaping @Sendable (Result<StoredChange?, JournalError>) -> Void) {}
    func outstanding(
        _ query: OutstandingQuery, completion: @escaping @Sendable (Result<[OutstandingChange], JournalError>) -> Void
    ) {
        let page: [OutstandingChange]? = state.withLock { state in
            state.queries.append(query)
            guard state.failures == 0 else {
                state.failures -= 1
                return nil
            }
            return Array(
                state.rows.filter { $0.sequence > query.after && $0.sequence <= query.through }.prefix(query.limit))
        }
        completion(page.map { .success($0) } ?? .failure(JournalError(.busy, "not now")))
    }
}

private let small = WindowLimits(windowMax: 4, pageMax: 2, crowded: 4, userMax: 4, refillBelow: 3)

private func write(_ user: String, _ side: Side = .legacy) -> Submission {
    Submission(
        user: user, records: [], idempotencyKey: nil, outgoingKey: "", fingerprint: "", method: "POST", target: "/",
        headerLines: [], conditionalLines: [], body: [], side: side, dualWrite: true)
}

private func row(_ sequence: Sequence64, _ user: String, answered: Int? = 200) -> OutstandingChange {
    OutstandingChange(
        sequence: sequence, acceptedMilliseconds: sequence, user: user, records: [], side: .legacy,
        legs: Legs(legacy: LegStatus(answered == nil ? .pending : .applied), new: LegStatus(.pending)),
        answeredStatus: answered)
}

/// Legs that were handed out, and what waits for a pause to end.
private final class Played: Sendable {
    let delivered = Mutex<[Sequence64]>([])
    let paused = Mutex<[@Sendable () -> Void]>([])

    func refill(_ coordinator: WriteCoordinator) -> WindowRefill {
        WindowRefill(
            coordinator: coordinator,
            deliver: { [self] changes, _ in delivered.withLock { $0 += changes.map(\.sequence) } },
            later: { [self] action in paused.withLock { $0.append(action) } })
    }

    func endPause() {
        let actions = paused.withLock { paused in
            defer { paused = [] }
            return paused
        }
        for action in actions { action() }
    }
}

@Suite struct DeferredLegs {
    private let journal = PagingJournal()
    private let played = Played()

    /// Seven writes of seven users, each told "done" by legacy; new has room for four legs.
    private func coordinator() -> WriteCoordinator {
        let coordinator = WriteCoordinator(journal: journal, limits: small)
        for sequence in Sequence64(1)...7 {
            coordinator.enter(AdmittedGroup(changes: [(sequence, write("user \(sequence)"))]))
            let isHeld = coordinator.conclude(
                sequence, user: "user \(sequence)", .new, acceptedMilliseconds: sequence, status: 200)
            #expect(isHeld == (sequence <= 4))
            coordinator.leave(sequence, .legacy)
            _ = coordinator.post(
                answered: .answered(
                    sequence, servedBy: .legacy, legs: Legs(acceptedOn: .legacy, dualWrite: true), answer: nil,
                    revisionAccepted: true))
        }
        journal.have((1...7).map { row($0, "user \($0)") })
        return coordinator
    }

    private func settle(_ coordinator: WriteCoordinator, _ sequence: Sequence64) {
        coordinator.removeOutstanding(sequence, user: "user \(sequence)", .new)
        coordinator.leave(sequence, .new)
    }

    @Test func legsWithoutRoomAreOnlyCountedAndComeBackInOrder() {
        let coordinator = coordinator()
        played.refill(coordinator).start()
        #expect(coordinator.deferred(.new) == 3 && coordinator.backlog(.new) == (7, 1))
        withUser("user 6") { #expect(coordinator.hasOutstanding($0, .new) && !coordinator.hasOutstanding($0, .legacy)) }
        #expect(journal.queries.isEmpty, "there is no room yet")
        settle(coordinator, 1)
        #expect(journal.queries.isEmpty, "and not enough yet")
        settle(coordinator, 2)
        #expect(journal.queries == [OutstandingQuery(side: .new, after: 4, through: 7, throughTakeover: 0, limit: 2)])
        #expect(played.delivered.withLock { $0 } == [5, 6])
        settle(coordinator, 3)
        settle(coordinator, 4)
        #expect(played.delivered.withLock { $0 } == [5, 6, 7])
        for sequence in Sequence64(5)...7 { settle(coordinator, sequence) }
        #expect(coordinator.backlog(.new) == (0, nil) && !coordinator.mayHaveOutstanding)
        withUser("user 6") { #expect(!coordinator.hasOutstanding($0)) }
        #expect(coordinator.settled(.new) == 7)
    }

    @Test func aPageThatCannotBeReadIsAskedForAgainAfterAPause() {
        let coordinator = coordinator()
        journal.have((1...7).map { row($0, "user \($0)") }, failures: 2)
        played.refill(coordinator).start()
        for sequence in Sequence64(1)...3 { settle(coordinator, sequence) }
        #expect(journal.queries.count == 1, "one page at a time, and none in the pause")
        played.endPause()
        #expect(journal.queries.count == 2 && played.delivered.withLock { $0 }.isEmpty)
        played.endPause()
        #expect(played.delivered.withLock { $0 } == [5, 6])
    }

    @Test func aWriteThatMustNotOvertakeGetsItsTurnWhenTheOlderLegHolds() {
        let coordinator = coordinator()
        played.refill(coordinator).start()
        // User 7 is back on new although a leg to new is deferred: a race that `behind` usually prevents.
        coordinator.enter(AdmittedGroup(changes: [(8, write("user 7", .new))]))
        let called = Record<Sequence64>()
        #expect(!coordinator.whenFirst(8, .new) { called.add(8) })
        var mine = row(8, "user 7", answered: nil)
        mine.side = .new
        journal.have((1...7).map { row($0, "user \($0)") } + [mine])
        for sequence in Sequence64(1)...6 { settle(coordinator, sequence) }
        #expect(played.delivered.withLock { $0 } == [5, 6, 7], "8 is its session's")
        #expect(called.all == [])
        settle(coordinator, 7)
        #expect(called.all == [8])
        #expect(coordinator.deferred(.new) == 0 && coordinator.deferred(.legacy) == 0)
    }

    @Test func aDeferredLegOfARefusedWriteCountsNoMore() {
        let coordinator = coordinator()
        coordinator.enter(AdmittedGroup(changes: [(8, write("user 8"))]))
        #expect(coordinator.deferred(.new) == 4)
        coordinator.post(
            refused: .answered(
                8, servedBy: .legacy, legs: Legs(acceptedOn: .legacy, dualWrite: true), answer: nil,
                revisionAccepted: false))
        #expect(coordinator.deferred(.new) == 3 && coordinator.backlog(.legacy).count == 0)
        withUser("user 8") { #expect(!coordinator.hasOutstanding($0)) }
    }

    @Test func aLegThatComesBackWhileItsClientIsAnsweredIsDeliveredAfterThat() {
        let coordinator = coordinator()
        played.refill(coordinator).start()
        coordinator.enter(AdmittedGroup(changes: [(8, write("user 8"))]))
        #expect(!coordinator.conclude(8, user: "user 8", .new, acceptedMilliseconds: 8, status: 201))
        journal.have((1...7).map { row($0, "user \($0)") } + [row(8, "user 8", answered: nil)])
        for sequence in Sequence64(1)...6 { settle(coordinator, sequence) }
        #expect(played.delivered.withLock { $0 } == [5, 6, 7])
        let legs = Legs(acceptedOn: .legacy, dualWrite: true)
        let returned = coordinator.post(
            answered: .answered(8, servedBy: .legacy, legs: legs, answer: nil, revisionAccepted: true))
        #expect(returned == .new, "else what is told of the leg could be overtaken by what the client was told")
        #expect(coordinator.whenFirst(8, .new) {})
    }

    @Test func aStartCountsWhatIsLeftAndReadsItPageByPage() {
        let coordinator = WriteCoordinator(journal: journal, limits: small)
        let rows = (1...6).map { row($0, "user \($0)") }
        journal.have(rows)
        coordinator.count(
            left: rows.map {
                OutstandingPlace(
                    sequence: $0.sequence, acceptedMilliseconds: $0.sequence, user: $0.user, sides: .new,
                    isAnswered: true)
            })
        #expect(coordinator.backlog(.new) == (6, 1) && coordinator.deferred(.new) == 6)
        withUser("user 5") { #expect(coordinator.hasOutstanding($0, .new)) }
        played.refill(coordinator).start()
        #expect(played.delivered.withLock { $0 } == [1, 2, 3, 4], "as many as there is room for")
        #expect(coordinator.backlog(.new).count == 6 && coordinator.deferred(.new) == 2)
    }
}

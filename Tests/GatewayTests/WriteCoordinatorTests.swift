import Journal
import Rollout
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// A journal that is not asked anything.
final class NoJournal: WriteJournal {
    func start(onAdmitted: @escaping @Sendable (AdmittedGroup) -> Void) {}
    func submit(_ submission: Submission, completion: @escaping @Sendable (Admission) -> Void) {}
    func post(_ update: JournalUpdate) {}
    func post(_ update: JournalUpdate, kept: @escaping @Sendable () -> Void) { kept() }
    func load(_ sequence: Sequence64, completion: @escaping @Sendable (Result<StoredChange?, JournalError>) -> Void) {}
    func outstanding(
        _ query: OutstandingQuery, completion: @escaping @Sendable (Result<[OutstandingChange], JournalError>) -> Void
    ) {}
}

/// A user id as bytes, as a request brings it.
func withUser<Result>(_ bytes: [UInt8], _ body: (UserID) throws -> Result) rethrows -> Result {
    // One byte more, so that there is memory even for nobody.
    try (bytes + [0]).withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("an array with an element has memory") }
        return try body(UserID(base: base, count: bytes.count))
    }
}

func withUser<Result>(_ text: String, _ body: (UserID) throws -> Result) rethrows -> Result {
    try withUser(Array(text.utf8), body)
}

private func submission(user: String?, records: [String], side: Side = .legacy, dualWrite: Bool = true) -> Submission {
    Submission(
        user: user, records: records.map { RecordRevision(record: $0, revision: nil, payloadHash: "") },
        idempotencyKey: nil,
        outgoingKey: "", fingerprint: "", method: "POST", target: "/", headerLines: [], conditionalLines: [], body: [],
        side: side, dualWrite: dualWrite)
}

@Test func aChangeEntersItsLanesOnTheSidesThatItIsWrittenTo() {
    let coordinator = WriteCoordinator(journal: NoJournal())
    coordinator.enter(
        AdmittedGroup(changes: [
            (1, submission(user: "anna", records: ["a"], dualWrite: false)),
            (2, submission(user: "anna", records: ["a"])),
            (3, submission(user: "bert", records: ["a"])),
        ]))
    #expect(coordinator.whenFirst(1, .legacy) {})
    #expect(!coordinator.whenFirst(1, .new) {}, "the stage writes one side only")
    #expect(coordinator.whenFirst(2, .new) {})
    #expect(coordinator.whenFirst(3, .legacy) {}, "another user's record is another lane")
    let called = Record<Int>()
    #expect(!coordinator.whenFirst(2, .legacy) { called.add(2) })
    coordinator.leave(1, .new)
    #expect(called.all == [])
    coordinator.leave(1, .legacy)
    #expect(called.all == [2] && coordinator.whenFirst(2, .legacy) {})
}

@Test func whoeverStopsWaitingIsNotCalled() {
    let coordinator = WriteCoordinator(journal: NoJournal())
    for sequence in 1...3 as ClosedRange<Sequence64> {
        coordinator.enter(sequence, user: "anna", records: [], sides: .both)
    }
    let called = Record<Sequence64>()
    #expect(!coordinator.whenFirst(2, .new) { called.add(2) } && !coordinator.whenFirst(3, .new) { called.add(3) })
    #expect(!coordinator.stopWaiting(2, .legacy), "nobody waits on that side")
    #expect(coordinator.stopWaiting(2, .new))
    #expect(!coordinator.stopWaiting(2, .new))
    coordinator.leave(1, .new)
    coordinator.leave(2, .new)
    #expect(called.all == [3])
}

@Test func turnsComeInOrderOnEachSideWhicheverThreadsWait() {
    let coordinator = WriteCoordinator(journal: NoJournal())
    let count: Sequence64 = 400
    for sequence in 1...count { coordinator.enter(sequence, user: "anna", records: ["r"], sides: .both) }
    let order: [Side: Record<Sequence64>] = [.legacy: Record(), .new: Record()]
    let left = CountDown(Int(count) * 2)
    concurrently(8) { thread in
        let side: Side = thread % 2 == 0 ? .legacy : .new
        for sequence in 1...count where Int(sequence) % 4 == thread / 2 {
            let turn: @Sendable () -> Void = {
                order[side]?.add(sequence)
                left.one()
                coordinator.leave(sequence, side)
            }
            if coordinator.whenFirst(sequence, side, turn) { turn() }
        }
    }
    #expect(left.wait(milliseconds: 60_000))
    #expect(order[.legacy]?.all == Array(1...count) && order[.new]?.all == Array(1...count))
}

@Test func aTurnThatRacesWithGivingUpGoesToExactlyOneOfThem() {
    let coordinator = WriteCoordinator(journal: NoJournal())
    let rounds: Sequence64 = 5000
    let called = Record<Sequence64>()
    let stopped = Record<Sequence64>()
    for round in 0..<rounds {
        coordinator.enter(2 * round + 1, user: "user \(round)", records: [], sides: .both)
        coordinator.enter(2 * round + 2, user: "user \(round)", records: [], sides: .both)
        #expect(!coordinator.whenFirst(2 * round + 2, .new) { called.add(round) })
    }
    concurrently(2) { thread in
        for round in 0..<rounds {
            if thread == 0 {
                coordinator.leave(2 * round + 1, .new)
            } else if coordinator.stopWaiting(2 * round + 2, .new) {
                stopped.add(round)
            }
        }
    }
    #expect((called.all + stopped.all).sorted() == Array(0..<rounds))
}

@Test(arguments: 1...10 as ClosedRange<UInt64>)
func aLegThatIsOutstandingIsNeverOverlooked(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let coordinator = WriteCoordinator(journal: NoJournal())
    // Ids as requests bring them: some share a place in the filter, some are no text.
    var users: [[UInt8]] = (0..<60).map { Array("user \($0)".utf8) }
    users += [Array("caf\u{e9}".utf8), [0x63, 0x61, 0x66, 0xe9], [0xff, 0xfe, 0x80], Array("用户".utf8)]
    var model: [(sequence: Sequence64, user: Int, side: Side)] = []
    for step in 1...600 {
        let isArrival = model.isEmpty || (step < 400 && Int.random(in: 0..<3, using: &random) > 0)
        if isArrival {
            let user = users.indices.randomElement(using: &random) ?? 0
            let side = Side.allCases.randomElement(using: &random) ?? .new
            let text = withUser(users[user]) { $0.text }
            coordinator.addOutstanding(Sequence64(step), user: text, side, acceptedMilliseconds: Int64(step))
            model.append((Sequence64(step), user, side))
        } else {
            let gone = model.remove(at: Int.random(in: model.indices, using: &random))
            let text = withUser(users[gone.user]) { $0.text }
            coordinator.removeOutstanding(gone.sequence, user: text, gone.side)
        }
        for side in Side.allCases {
            let legs = model.filter { $0.side == side }
            #expect(coordinator.mayHaveOutstanding(side) == !legs.isEmpty)
            #expect(coordinator.backlog(side).count == legs.count)
            #expect(coordinator.backlog(side).oldestMilliseconds == legs.map(\.sequence).min())
        }
        let wrong = users.indices.filter { user in
            let sides = Set(model.filter { $0.user == user }.map(\.side))
            return withUser(users[user]) { id in
                coordinator.hasOutstanding(id, .legacy) != sides.contains(.legacy)
                    || coordinator.hasOutstanding(id, .new) != sides.contains(.new)
                    || coordinator.hasOutstanding(id) == sides.isEmpty
            }
        }
        #expect(wrong.isEmpty, "seed \(seed) step \(step)")
        if !wrong.isEmpty { return }
    }
}

@Test func anAnonymousLegCountsAndBelongsToNobody() {
    let coordinator = WriteCoordinator(journal: NoJournal())
    coordinator.addOutstanding(1, user: nil, .new, acceptedMilliseconds: 5)
    #expect(coordinator.mayHaveOutstanding && coordinator.backlog(.new).count == 1)
    withUser("anna") { #expect(!coordinator.hasOutstanding($0)) }
    coordinator.removeOutstanding(1, user: nil, .new)
    #expect(!coordinator.mayHaveOutstanding && coordinator.backlog(.new).oldestMilliseconds == nil)
}

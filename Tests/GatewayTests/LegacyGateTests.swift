import Journal
import Rollout
import Testing

@testable import Gateway

private func submission(_ record: String, user: String? = "anna", side: Side = .new, dualWrite: Bool) -> Submission {
    Submission(
        user: user, records: [RecordRevision(record: record, revision: nil, payloadHash: "")], idempotencyKey: nil,
        outgoingKey: "k", fingerprint: "", method: "PUT", target: "/\(record)", headerLines: [], conditionalLines: [],
        body: [], side: side, dualWrite: dualWrite)
}

private func lanes(_ record: String, user: String? = "anna") -> [LaneKey] {
    LaneKey.lanes(user: user, records: [record])
}

@Test func anOpenGateHoldsNobody() {
    let gate = LegacyGate()
    #expect(!gate.isClosed && gate.missing == 0)
    #expect(!gate.holds(lanes("a")) && !gate.owes(user: "anna"))
    #expect(!gate.holdsPlace(1, submission("a", dualWrite: false), ["a"], isClear: true))
}

@Test func untilItIsCountedEverythingIsMissing() {
    let gate = LegacyGate()
    gate.close()
    #expect(gate.isClosed && gate.holds(lanes("whatever")) && gate.owes(user: "anybody"))
    gate.count(after: 10)
    gate.add(user: "anna", records: ["a"])
    #expect(gate.holds(lanes("b")))
    gate.lift()
    #expect(gate.holds(lanes("a")) && !gate.holds(lanes("b")) && gate.owes(user: "anna") && !gate.owes(user: "bert"))
    #expect(gate.missing == 1)
}

@Test func aLaneIsFreeAsSoonAsEverythingOfItIsPutBack() {
    let gate = LegacyGate()
    gate.close()
    gate.count(after: 10)
    for _ in 0..<2 { gate.add(user: "anna", records: ["a"]) }
    gate.lift()
    gate.putBack(3, user: "anna", records: ["a"])
    #expect(gate.holds(lanes("a")))
    gate.putBack(7, user: "anna", records: ["a"])
    #expect(!gate.holds(lanes("a")) && !gate.owes(user: "anna") && gate.isClosed)
    gate.open()
    #expect(!gate.isClosed)
}

/// Race: the write was decided before legacy came back, and accepted after it.
@Test func aWriteThatDoesNotKnowThatLegacyIsBackKeepsItsPlaceInTheOrder() {
    let gate = LegacyGate()
    gate.close()
    let late = submission("a", dualWrite: false)
    // Before the count it is one of those that are counted.
    #expect(!gate.holdsPlace(9, late, ["a"], isClear: true))
    gate.count(after: 9)
    // While it is counted, nobody knows whether its lane is clear: it is missing, too.
    #expect(!gate.holdsPlace(10, late, ["a"], isClear: true))
    gate.add(user: "anna", records: ["a"])
    gate.lift()
    #expect(!gate.holdsPlace(11, late, ["a"], isClear: true) && gate.missing == 3)
    // Where nothing is missing it holds a place, so that nothing newer gets to legacy before it.
    #expect(gate.holdsPlace(12, submission("b", dualWrite: false), ["b"], isClear: true))
    gate.putBack(12, user: "anna", records: ["b"])
    #expect(gate.missing == 3)
    for sequence in [9, 10, 11] as [Sequence64] {
        #expect(gate.holds(lanes("a")))
        gate.putBack(sequence, user: "anna", records: ["a"])
    }
    #expect(!gate.holds(lanes("a")) && gate.missing == 0)
    #expect(gate.holdsPlace(13, late, ["a"], isClear: true))
}

@Test func whoeverLegacyOwesSomethingHasLegsOutstanding() {
    let coordinator = WriteCoordinator(journal: NoJournal())
    #expect(!coordinator.mayHaveOutstanding)
    coordinator.legacyGate.close()
    #expect(coordinator.mayHaveOutstanding(.legacy) && !coordinator.mayHaveOutstanding(.new))
    coordinator.legacyGate.count(after: 1)
    coordinator.legacyGate.add(user: "anna", records: [])
    coordinator.legacyGate.lift()
    withUser("anna") { #expect(coordinator.hasOutstanding($0, .legacy) && !coordinator.hasOutstanding($0, .new)) }
    withUser("bert") { #expect(!coordinator.hasOutstanding($0)) }
    #expect(
        coordinator.isAwaited(user: "anna") && !coordinator.isAwaited(user: "bert") && !coordinator.isAwaited(user: nil)
    )
}

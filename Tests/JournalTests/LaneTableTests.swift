import Journal
import Rollout
import TestSupport
import Testing

@Suite struct Lanes {
    private let a = LaneKey.record("a", user: "anna")
    private let b = LaneKey.record("b", user: "anna")

    @Test func aLegWaitsForTheOneBeforeItOnItsSide() {
        var lanes = LaneTable()
        lanes.enter(1, keys: [a])
        lanes.enter(2, keys: [a])
        #expect(lanes.isFirst(1, .legacy) && lanes.isFirst(1, .new))
        #expect(!lanes.isFirst(2, .legacy) && !lanes.isFirst(2, .new))
        #expect(lanes.leave(1, .legacy) == [2])
        #expect(lanes.isFirst(2, .legacy))
        #expect(!lanes.isFirst(2, .new))
        #expect(lanes.leave(1, .new) == [2])
        #expect(lanes.leave(2, .new).isEmpty)
        #expect(lanes.leave(2, .legacy).isEmpty)
        #expect(lanes.isEmpty && lanes.laneCount == 0)
    }

    @Test func otherLanesDoNotWait() {
        var lanes = LaneTable()
        lanes.enter(1, keys: [a])
        lanes.enter(2, keys: [b])
        #expect(lanes.isFirst(2, .legacy) && lanes.isFirst(2, .new))
        #expect(LaneKey.record("a", user: "anna") != LaneKey.record("a", user: "bert"))
        #expect(LaneKey.record("a", user: nil) != LaneKey.record("a", user: ""))
        #expect(LaneKey.record("a", user: "x") != LaneKey.user("x"))
    }

    @Test func aBatchWaitsForAllItsLanes() {
        var lanes = LaneTable()
        lanes.enter(1, keys: [a])
        lanes.enter(2, keys: [b])
        lanes.enter(3, keys: [a, b, a])
        lanes.enter(4, keys: [b])
        #expect(lanes.leave(1, .new).isEmpty)
        #expect(!lanes.isFirst(3, .new))
        #expect(lanes.leave(2, .new) == [3])
        #expect(!lanes.isFirst(4, .new))
        #expect(lanes.leave(3, .new) == [4])
    }

    @Test func aLegMayLeaveBeforeItsTurn() {
        var lanes = LaneTable()
        lanes.enter(1, keys: [a])
        lanes.enter(2, keys: [a, b])
        lanes.enter(3, keys: [a])
        #expect(lanes.leave(2, .new).isEmpty)
        #expect(!lanes.isFirst(3, .new))
        #expect(lanes.leave(1, .new) == [3])
        #expect(lanes.leave(2, .new).isEmpty, "leaving twice changes nothing")
    }

    @Test func onlyTheLegsThatEnteredAreThere() {
        var lanes = LaneTable()
        lanes.enter(1, keys: [a], sides: .new)
        lanes.enter(2, keys: [a])
        #expect(lanes.isFirst(2, .legacy))
        #expect(!lanes.isFirst(2, .new))
        #expect(!lanes.isFirst(1, .legacy))
        #expect(lanes.leave(1, .legacy).isEmpty)
        #expect(lanes.leave(1, .new) == [2])
    }

    @Test func aLegThatComesBackQueuesAtTheTail() {
        var lanes = LaneTable()
        lanes.enter(1, keys: [a])
        #expect(lanes.leave(1, .new).isEmpty)
        lanes.enter(2, keys: [a])
        lanes.enter(1, keys: [a], atTail: true)
        #expect(lanes.isFirst(2, .new) && !lanes.isFirst(1, .new))
        #expect(lanes.isFirst(1, .legacy) && !lanes.isFirst(2, .legacy))
        #expect(lanes.leave(2, .new) == [1])
        #expect(lanes.contains(1, .new))
    }

    @Test func whatWasAcceptedEarlierComesBeforeWhatIsThereAlready() {
        var lanes = LaneTable()
        lanes.enter(10, keys: [a])
        lanes.enter(30, keys: [a, b])
        lanes.enter(20, keys: [a])
        lanes.enter(5, keys: [b])
        #expect(lanes.isFirst(10, .legacy) && lanes.isFirst(5, .legacy))
        #expect(lanes.leave(10, .legacy) == [20])
        #expect(lanes.leave(20, .legacy).isEmpty, "5 is before 30 in its other lane")
        #expect(lanes.leave(5, .legacy) == [30])
        lanes.enter(1, keys: [a], sides: .new)
        #expect(!lanes.isFirst(10, .new) && lanes.isFirst(1, .new), "the head has one before it now")
        #expect(lanes.leave(1, .new) == [10])
    }

    @Test func aChangeThatLeftAsAWholeMayComeBackBehindAnother() {
        var lanes = LaneTable()
        lanes.enter(1, keys: [a])
        lanes.enter(2, keys: [a, b])
        #expect(lanes.leave(2, .legacy).isEmpty && lanes.leave(2, .new).isEmpty)
        lanes.enter(2, keys: [a, b], sides: .new)
        #expect(!lanes.isFirst(2, .new))
        #expect(lanes.leave(1, .new) == [2])
        #expect(lanes.leave(2, .new).isEmpty && lanes.leave(1, .legacy).isEmpty)
        #expect(lanes.isEmpty && lanes.laneCount == 0)
    }

    @Test func writesWithoutARecordShareTheLaneOfTheirUser() {
        #expect(LaneKey.lanes(user: "anna", records: []) == [.user("anna")])
        #expect(LaneKey.lanes(user: nil, records: []) == [.anonymous])
        #expect(LaneKey.lanes(user: "anna", records: ["a", "b"]) == [a, b])
    }

    /// Random changes over few records, with batches; legs are settled in random order, as long as they are first, and now
    /// and then out of turn. Checked against plain queues.
    @Test(arguments: 1...24 as ClosedRange<UInt64>)
    func everyLaneKeepsItsOrderAndNothingEverStops(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var lanes = LaneTable()
        var queues: [Side: [Int: [Sequence64]]] = [.legacy: [:], .new: [:]]
        var touched: [Sequence64: [Int]] = [:]
        var waiting: [Side: Set<Sequence64>] = [.legacy: [], .new: []]
        var next: Sequence64 = 1

        func ready(_ side: Side) -> [Sequence64] {
            waiting[side, default: []].filter { change in
                touched[change, default: []].allSatisfy { queues[side]?[$0]?.first == change }
            }.sorted()
        }
        func settle(_ change: Sequence64, _ side: Side) {
            let before = Set(ready(side))
            for record in touched[change, default: []] { queues[side]?[record]?.removeAll { $0 == change } }
            waiting[side]?.remove(change)
            let released = lanes.leave(change, side)
            let expected = Set(ready(side)).subtracting(before)
            if released.count != expected.count || Set(released) != expected {
                Issue.record("seed \(seed): leaving \(change) released \(released), not \(expected)")
            }
        }

        for _ in 0..<300 {
            if Int.random(in: 0..<3, using: &random) > 0 {
                let count = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 2...6, using: &random) : 1
                let records = Set((0..<count).map { _ in Int.random(in: 0..<8, using: &random) }).sorted()
                lanes.enter(next, keys: records.map { .record("r\($0)", user: "u") })
                touched[next] = records
                for side in Side.allCases {
                    for record in records { queues[side]?[record, default: []].append(next) }
                    waiting[side]?.insert(next)
                }
                next += 1
            }
            for side in Side.allCases {
                let first = ready(side)
                let said = waiting[side, default: []].filter { lanes.isFirst($0, side) }.sorted()
                if said != first { Issue.record("seed \(seed): first on \(side) are \(first), not \(said)") }
                if Int.random(in: 0..<10, using: &random) == 0,
                    let any = waiting[side, default: []].sorted().randomElement(using: &random)
                {
                    settle(any, side)
                } else if Bool.random(using: &random), let first = ready(side).randomElement(using: &random) {
                    settle(first, side)
                }
            }
            if waiting[.new, default: []].count > 40 { break }
        }
        while let side = Side.allCases.first(where: { !waiting[$0, default: []].isEmpty }) {
            guard let first = ready(side).randomElement(using: &random) else {
                Issue.record("seed \(seed): legs wait and none is first")
                return
            }
            settle(first, side)
        }
        #expect(lanes.isEmpty && lanes.laneCount == 0)
    }

    @Test func aHundredThousandOutstandingChangesComeAndGo() {
        var lanes = LaneTable()
        for sequence in 1...100_000 as ClosedRange<Sequence64> {
            lanes.enter(sequence, keys: [.record("r\(sequence % 1_000)", user: "u\(sequence % 50)")])
        }
        #expect(lanes.count == 100_000)
        var (first, released) = (0, 0)
        for sequence in 1...100_000 as ClosedRange<Sequence64> {
            first += lanes.isFirst(sequence, .new) ? 1 : 0
            released += lanes.leave(sequence, .new).count
            released += lanes.leave(sequence, .legacy).count
        }
        #expect(first == 100_000)
        #expect(released == 2 * 99_000)
        #expect(lanes.isEmpty && lanes.laneCount == 0)
    }
}

import Journal
import Rollout
import TestSupport
import Testing

@Suite struct OutstandingLegs {
    @Test func theyAreCountedPerUserAndSide() {
        var outstanding = Outstanding()
        outstanding.add(1, user: "anna", .new, acceptedMilliseconds: 100)
        outstanding.add(2, user: "anna", .new, acceptedMilliseconds: 200)
        outstanding.add(2, user: "anna", .legacy, acceptedMilliseconds: 200)
        outstanding.add(3, user: nil, .new, acceptedMilliseconds: 300)
        #expect(outstanding.count(user: "anna", .new) == 2)
        #expect(outstanding.count(user: "anna", .legacy) == 1)
        #expect(outstanding.count(user: nil, .new) == 1)
        #expect(outstanding.count(user: "bert", .new) == 0)
        #expect(outstanding.total(.new) == 3)
        outstanding.remove(1, user: "anna", .new)
        #expect(outstanding.count(user: "anna", .new) == 1)
        #expect(outstanding.total(.new) == 2)
    }

    @Test func addingAndRemovingTwiceChangesNothing() {
        var outstanding = Outstanding()
        outstanding.add(1, user: "anna", .new, acceptedMilliseconds: 100)
        outstanding.add(1, user: "anna", .new, acceptedMilliseconds: 100)
        #expect(outstanding.count(user: "anna", .new) == 1)
        outstanding.remove(1, user: "anna", .new)
        outstanding.remove(1, user: "anna", .new)
        outstanding.remove(9, user: "anna", .new)
        #expect(outstanding.count(user: "anna", .new) == 0)
        #expect(outstanding.total(.new) == 0)
    }

    @Test func theOldestIsKnownWhateverLeavesFirst() {
        var outstanding = Outstanding()
        #expect(outstanding.oldestAcceptedMilliseconds(.new) == nil)
        for sequence in 1...4 as ClosedRange<Sequence64> {
            outstanding.add(sequence, user: "u\(sequence)", .new, acceptedMilliseconds: sequence * 100)
        }
        outstanding.remove(2, user: "u2", .new)
        #expect(outstanding.oldestAcceptedMilliseconds(.new) == 100)
        outstanding.remove(1, user: "u1", .new)
        #expect(outstanding.oldestAcceptedMilliseconds(.new) == 300)
        #expect(outstanding.oldestAcceptedMilliseconds(.legacy) == nil)
        outstanding.add(1, user: "u1", .new, acceptedMilliseconds: 100)
        #expect(outstanding.oldestAcceptedMilliseconds(.new) == 100)
        for sequence in [1, 3, 4] as [Sequence64] { outstanding.remove(sequence, user: "u\(sequence)", .new) }
        #expect(outstanding.oldestAcceptedMilliseconds(.new) == nil)
    }

    @Test func itAgreesWithAPlainListOnEverySeed() {
        for seed in 1...6 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            var outstanding = Outstanding()
            var plain: [Sequence64: Int64] = [:]
            for sequence in 1...300 as ClosedRange<Sequence64> {
                outstanding.add(sequence, user: "u\(sequence % 7)", .new, acceptedMilliseconds: sequence)
                plain[sequence] = sequence
                while plain.count > 1, Bool.random(using: &random),
                    let gone = plain.keys.sorted().randomElement(using: &random)
                {
                    outstanding.remove(gone, user: "u\(gone % 7)", .new)
                    plain[gone] = nil
                    if Int.random(in: 0..<10, using: &random) == 0 {
                        outstanding.add(gone, user: "u\(gone % 7)", .new, acceptedMilliseconds: gone)
                        plain[gone] = gone
                    }
                }
                guard outstanding.oldestAcceptedMilliseconds(.new) == plain.values.min(),
                    outstanding.total(.new) == plain.count
                else {
                    Issue.record("seed \(seed): differs after \(sequence)")
                    return
                }
            }
        }
    }
}

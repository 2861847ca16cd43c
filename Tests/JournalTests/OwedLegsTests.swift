import TestSupport
import Testing

@testable import Journal

@Test(arguments: 1...5 as ClosedRange<UInt64>)
func whatIsOwedIsNeverTakenForClear(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var owed = OwedLegs()
    var list: [(user: String?, records: [String])] = []
    func keys(_ change: (user: String?, records: [String])) -> [LaneKey] {
        LaneKey.lanes(user: change.user, records: change.records)
    }
    for _ in 0..<2000 {
        if Int.random(in: 0..<5, using: &random) < 3 {
            let user = Bool.random(using: &random) ? "u\(Int.random(in: 0..<20, using: &random))" : nil
            let records = (0..<Int.random(in: 0..<3, using: &random)).map { _ in
                "r\(Int.random(in: 0..<9, using: &random))"
            }
            list.append((user, records))
            owed.add(keys: keys((user, records)), user: user)
        } else if let index = list.indices.randomElement(using: &random) {
            let change = list.remove(at: index)
            owed.remove(keys: keys(change), user: change.user)
        }
        #expect(owed.total == list.count)
        for change in list {
            #expect(owed.isOwed(keys: keys(change)))
            if let user = change.user { #expect(owed.isOwed(user: user)) }
        }
    }
    for change in list { owed.remove(keys: keys(change), user: change.user) }
    // All counters are back at 0, whatever shared them.
    #expect(owed.total == 0)
    for number in 0..<20 {
        #expect(!owed.isOwed(user: "u\(number)") && !owed.isOwed(keys: [.user("u\(number)"), .anonymous]))
    }
}

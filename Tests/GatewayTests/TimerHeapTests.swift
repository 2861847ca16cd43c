import TestSupport
import Testing

@testable import Gateway

@Test(arguments: 1...20 as ClosedRange<UInt64>)
func timersComeUpByTimeAndThenInTheOrderOfTheirMaking(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var heap = TimerHeap()
    var waiting: [(due: UInt64, number: Int)] = []
    var last = -1
    var now: UInt64 = 0
    for number in 0..<600 {
        let due = now + UInt64.random(in: 0...50, using: &random)
        heap.add(due: due) { last = number }
        waiting.append((due, number))
        guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
        now += UInt64.random(in: 0...30, using: &random)
        while let action = heap.popDue(now) {
            action()
            let expected = waiting.min { ($0.due, $0.number) < ($1.due, $1.number) }
            #expect(last == expected?.number && (expected?.due ?? .max) <= now, "seed \(seed)")
            waiting.removeAll { $0.number == last }
        }
        #expect(!waiting.contains { $0.due <= now }, "seed \(seed)")
        #expect(heap.count == waiting.count && heap.earliest == waiting.map(\.due).min(), "seed \(seed)")
    }
}

@Test func aTimerIsNotHandedOutBeforeItsTime() {
    var heap = TimerHeap()
    heap.add(due: 10) {}
    #expect(heap.popDue(9) == nil && heap.earliest == 10)
    #expect(heap.popDue(10) != nil && heap.earliest == nil && heap.popDue(.max) == nil)
}

import TestSupport
import Testing

@testable import Gateway

/// A loop without sockets and with a played clock: it uses the wheel as `EventLoop` does, and checks it against a list.
private struct PlayedLoop {
    struct Item {
        var deadline: UInt64 = 0
        var wheelTick: UInt64 = 0
        var generation: UInt32 = 0
    }
    var now: UInt64
    var wheel: DeadlineWheel
    var items: [Item]
    /// Item and deadline of what came up in the last `advance`.
    var fired: [(item: Int, deadline: UInt64)] = []

    init(now: UInt64, count: Int) {
        self.now = now
        wheel = DeadlineWheel(now: now)
        items = Array(repeating: Item(), count: count)
    }

    mutating func setDeadline(_ index: Int, after milliseconds: UInt64) {
        items[index].deadline = now + milliseconds
        let tick = DeadlineWheel.tick(of: items[index].deadline)
        if items[index].wheelTick == 0 || tick < items[index].wheelTick {
            let entry = DeadlineWheel.Entry(slot: index, generation: items[index].generation)
            items[index].wheelTick = wheel.insert(entry, tick: tick)
        }
    }

    mutating func clear(_ index: Int) { items[index].deadline = 0 }

    /// The channel is closed and its slot given to another.
    mutating func replace(_ index: Int) { items[index] = Item(generation: items[index].generation + 1) }

    mutating func advance(to time: UInt64) {
        now = time
        fired = []
        // Copies, because the closure may not touch `self` while the wheel moves.
        var (items, fired) = (items, fired)
        wheel.advance(to: now) { entry, tick, wheel in
            guard items[entry.slot].generation == entry.generation, items[entry.slot].wheelTick == tick else { return }
            items[entry.slot].wheelTick = 0
            let deadline = items[entry.slot].deadline
            if deadline == 0 { return }
            if deadline <= time {
                items[entry.slot].deadline = 0
                fired.append((entry.slot, deadline))
            } else {
                items[entry.slot].wheelTick = wheel.insert(entry, tick: DeadlineWheel.tick(of: deadline))
            }
        }
        (self.items, self.fired) = (items, fired)
    }
}

private let tickMilliseconds = UInt64(1) << DeadlineWheel.tickShift

/// A distance in time, of the kinds that a gateway has: soon, seconds, near the wheel's horizon, and beyond it.
private func distance(using random: inout SeededGenerator) -> UInt64 {
    let ranges: [ClosedRange<UInt64>] = [
        0...100, 1...2000, 5000...15_000, 32_000...34_000, 50_000...75_000, 1...600_000,
    ]
    return UInt64.random(in: ranges.randomElement(using: &random) ?? 1...1, using: &random)
}

/// How far the clock moves between two turns: busy, idle, a stall, a suspended machine.
private func step(using random: inout SeededGenerator) -> UInt64 {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<60: UInt64.random(in: 0...40, using: &random)
    case 60..<90: UInt64.random(in: 40...3000, using: &random)
    case 90..<97: UInt64.random(in: 3000...40_000, using: &random)
    default: UInt64.random(in: 40_000...2_000_000, using: &random)
    }
}

/// What is wrong after a turn, in words; nil when nothing is. Whatever came up is no longer wanted.
private func fault(_ loop: PlayedLoop, _ wanted: inout [UInt64]) -> String? {
    for (item, deadline) in loop.fired {
        if deadline != wanted[item] { return "\(deadline) came up for \(wanted[item])" }
        if deadline > loop.now { return "\(deadline) came up early" }
        wanted[item] = 0
    }
    if let late = wanted.first(where: { $0 != 0 && $0 + 2 * tickMilliseconds <= loop.now }) {
        return "\(late) is overdue"
    }
    guard let next = wanted.filter({ $0 != 0 }).min() else { return nil }
    guard let wait = loop.wheel.wait(from: loop.now) else { return "\(next) is waited for by nobody" }
    return loop.now + wait > next + 2 * tickMilliseconds ? "\(next) would be slept through" : nil
}

@Test(arguments: 1...30 as ClosedRange<UInt64>)
func everyDeadlineComesUpNeitherEarlyNorMoreThanTwoTicksLate(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var loop = PlayedLoop(now: UInt64.random(in: 0...1_000_000, using: &random), count: 40)
    // What the wheel knows, as a naive list.
    var wanted = [UInt64](repeating: 0, count: 40)
    for turn in 1...1000 {
        loop.fired = []
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let index = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                loop.clear(index)
                wanted[index] = 0
            case 1:
                loop.replace(index)
                wanted[index] = 0
            default:
                let far = distance(using: &random)
                loop.setDeadline(index, after: far)
                wanted[index] = loop.now + far
            }
        }
        var found = fault(loop, &wanted)
        loop.advance(to: loop.now + step(using: &random))
        found = found ?? fault(loop, &wanted)
        if let found {
            Issue.record("seed \(seed) turn \(turn) at \(loop.now): \(found)")
            return
        }
    }
}

@Test func aDeadlineBeyondTheHorizonSurvivesATurnThatCameLate() {
    // The entry that comes up first goes to the horizon, into the bucket of a tick that is still to be visited.
    var loop = PlayedLoop(now: 0, count: 1)
    loop.setDeadline(0, after: 40)
    loop.setDeadline(0, after: 60_000)
    loop.advance(to: 4 * tickMilliseconds)
    #expect(loop.fired.isEmpty)
    loop.advance(to: 60_000 + 2 * tickMilliseconds)
    #expect(loop.fired.map(\.deadline) == [60_000])
}

@Test func anEmptyWheelNeverAsksToBeWoken() {
    var loop = PlayedLoop(now: 12_345, count: 1)
    #expect(loop.wheel.wait(from: loop.now) == nil)
    loop.setDeadline(0, after: 10)
    loop.clear(0)
    loop.advance(to: 13_000)
    #expect(loop.fired.isEmpty && loop.wheel.wait(from: loop.now) == nil)
}

import Telemetry
import TestSupport
import Testing

@Test func figuresForgetWhatIsOlderThanTheWindow() {
    let block = LoopMetrics()
    var window = SlidingWindow(window: 60 * second, now: 0, cumulative: snapshot(block))
    for _ in 0..<10 { block.read(.new, failed: true) }
    let counted = snapshot(block)
    for now in 1...59 { window.push(now: UInt64(now) * second, cumulative: counted) }
    #expect(window.figures(now: 59 * second, cumulative: counted).readErrorRatio.new.samples == 10)
    for now in 60...61 { window.push(now: UInt64(now) * second, cumulative: counted) }
    let after = window.figures(now: 61 * second, cumulative: snapshot(block))
    #expect(after.readErrorRatio.new == .none)
    #expect(after.windowFull)
}

/// Compares with the counts kept second by second, over many times the window, at a seeded traffic.
@Test(arguments: [21, 22, 23])
func figuresAgreeWithARecountOverManyTurnsOfTheRing(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let block = LoopMetrics()
    var window = SlidingWindow(window: 60 * second, now: 0, cumulative: snapshot(block))
    var reads: [(ok: UInt64, failed: UInt64)] = []
    for now in 1...500 {
        let ok = UInt64.random(in: 0...5, using: &generator)
        let failed = UInt64.random(in: 0...2, using: &generator)
        for _ in 0..<ok { block.read(.legacy, failed: false) }
        for _ in 0..<failed { block.read(.legacy, failed: true) }
        reads.append((ok, failed))
        window.push(now: UInt64(now) * second, cumulative: snapshot(block))
        let recent = reads.suffix(60)
        let bad = recent.reduce(0) { $0 + $1.failed }
        let all = recent.reduce(bad) { $0 + $1.ok }
        let figures = window.figures(now: UInt64(now) * second, cumulative: snapshot(block))
        #expect(figures.readErrorRatio.legacy == .ratio(bad, of: all))
        #expect(figures.windowFull == (now >= 60))
        #expect(figures.coveredSeconds == Double(min(now, 60)))
    }
    #expect(window.slotCount <= SlidingWindow.slotLimit + 2)
}

@Test(arguments: [1, 5, 300, 7200, 86_400] as [UInt64])
func aWindowOfAnyLengthHoldsFewSlots(seconds: UInt64) {
    let empty = MetricsSnapshot()
    var window = SlidingWindow(window: seconds * second, now: 0, cumulative: empty)
    var most = 0
    for now in stride(from: 0, to: 3 * seconds, by: Int(max(1, seconds / 300))) {
        window.push(now: now * second, cumulative: empty)
        most = max(most, window.slotCount)
        let covered = window.figures(now: now * second, cumulative: empty).coveredSeconds
        #expect(covered <= Double(seconds) * 1.03 + 1)
    }
    #expect(most <= SlidingWindow.slotLimit + 2)
}

@Test func theWindowWarmsUpAfterAStartAndARestart() {
    let block = LoopMetrics()
    var window = SlidingWindow(window: 10 * second, now: 100 * second, cumulative: snapshot(block))
    #expect(!window.figures(now: 109 * second, cumulative: snapshot(block)).windowFull)
    #expect(window.figures(now: 110 * second, cumulative: snapshot(block)).windowFull)
    block.writeReceived()
    window.restart(now: 120 * second, cumulative: snapshot(block))
    let restarted = window.figures(now: 121 * second, cumulative: snapshot(block))
    #expect(!restarted.windowFull)
    #expect(restarted.coveredSeconds == 1)
    #expect(restarted.conflictRatio == .none)
}

@Test func aStalledPusherWidensTheSpanInsteadOfLosingCounts() {
    let block = LoopMetrics()
    var window = SlidingWindow(window: 10 * second, now: 0, cumulative: snapshot(block))
    window.push(now: 5 * second, cumulative: snapshot(block))
    for _ in 0..<4 { block.writeReceived() }
    let late = window.figures(now: 60 * second, cumulative: snapshot(block))
    #expect(late.conflictRatio == Figure(value: 0, samples: 4))
    #expect(late.coveredSeconds == 55)
}

@Test func aClockThatStandsStillOrGoesBackAddsNoSlot() {
    var window = SlidingWindow(window: 10 * second, now: 5 * second, cumulative: MetricsSnapshot())
    window.push(now: 5 * second, cumulative: MetricsSnapshot())
    window.push(now: 1, cumulative: MetricsSnapshot())
    #expect(window.slotCount == 1)
    #expect(window.figures(now: 1, cumulative: MetricsSnapshot()).coveredSeconds == 0)
}

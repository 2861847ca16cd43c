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

@Test func figuresSinceAMarkHoldNothingFromBeforeIt() {
    let block = LoopMetrics()
    var window = SlidingWindow(window: 600 * second, now: 0, cumulative: snapshot(block))
    for now in 1...100 {
        block.read(.new, failed: true)
        window.push(now: UInt64(now) * second, cumulative: snapshot(block))
    }
    // Slots are 5 s apart here: the mark lies between two of them.
    window.mark(now: 102 * second, cumulative: snapshot(block))
    for _ in 0..<3 { block.read(.new, failed: false) }
    let stage = window.evidence(now: 103 * second, cumulative: snapshot(block), since: 102 * second)
    #expect(stage.counts.reads.new == Proportion(0, of: 3))
    #expect(stage.coveredSeconds == 1 && !stage.windowFull)
    #expect(window.figures(now: 103 * second, cumulative: snapshot(block)).readErrorRatio.new.samples == 103)
}

@Test func aSpanWithoutAMarkBeginsAtTheNextSlotAndNeverEarlier() {
    let block = LoopMetrics()
    var window = SlidingWindow(window: 600 * second, now: 0, cumulative: snapshot(block))
    block.writeReceived()
    let early = window.evidence(now: 2 * second, cumulative: snapshot(block), since: second)
    #expect(early == FigureEvidence())
    window.push(now: 5 * second, cumulative: snapshot(block))
    block.writeReceived()
    let later = window.evidence(now: 9 * second, cumulative: snapshot(block), since: second)
    #expect(later.counts.conflicted == Proportion(0, of: 1) && later.coveredSeconds == 4)
}

@Test func aSpanLongerThanTheWindowIsTheWindow() {
    let block = LoopMetrics()
    var window = SlidingWindow(window: 10 * second, now: 0, cumulative: snapshot(block))
    window.mark(now: second, cumulative: snapshot(block))
    block.writeReceived()
    for now in 2...30 { window.push(now: UInt64(now) * second, cumulative: snapshot(block)) }
    let told = window.evidence(now: 30 * second, cumulative: snapshot(block), since: second)
    #expect(told.counts.conflicted == Proportion() && told.windowFull && told.coveredSeconds == 10)
    let full = window.evidence(now: 30 * second, cumulative: snapshot(block), since: 20 * second)
    #expect(full.windowFull)
    #expect(!window.evidence(now: 30 * second, cumulative: snapshot(block), since: 21 * second).windowFull)
}

/// Operators may change the stage as often as they like: the window neither grows nor loses its past.
@Test func marksWithoutEndHoldFewSlotsAndLoseNoCount() {
    let block = LoopMetrics()
    var window = SlidingWindow(window: 30 * second, now: 0, cumulative: snapshot(block))
    var most = 0
    for tenth in 1...1000 {
        let now = UInt64(tenth) * second / 10
        block.writeReceived()
        let cumulative = snapshot(block)
        if tenth % 10 == 0 { window.push(now: now, cumulative: cumulative) }
        window.mark(now: now, cumulative: cumulative)
        let since = window.evidence(now: now + second / 20, cumulative: cumulative, since: now)
        #expect(since.coveredSeconds == 0.05 && since.counts.conflicted.whole == 0)
        most = max(most, window.slotCount)
        guard tenth > 350 else { continue }
        let told = window.evidence(now: now, cumulative: cumulative)
        #expect(told.coveredSeconds >= 30 && told.coveredSeconds < 30.75)
        #expect(told.counts.conflicted.whole == UInt64((told.coveredSeconds * 10).rounded()))
    }
    #expect(most <= SlidingWindow.slotLimit + 2)
}

import Telemetry
import Testing

private let oneSecond: UInt64 = 1_000_000_000

/// A window that was told `readings` (settled, outstanding), one a second.
private func window(_ readings: [(Int, Int)]) -> CatchUpWindow {
    var window = CatchUpWindow()
    for (index, reading) in readings.enumerated() {
        window.push(now: UInt64(index) * oneSecond, settled: reading.0, outstanding: reading.1)
    }
    return window
}

@Suite struct CatchingUp {
    @Test func nothingOutstandingIsDone() {
        #expect(CatchUpWindow().catchUp(now: 0, settled: 0, outstanding: 0) == CatchUp())
        let idle = window([(0, 0), (0, 0)]).catchUp(now: 2 * oneSecond, settled: 0, outstanding: 0)
        #expect(idle == CatchUp(legsPerSecond: 0, secondsLeft: 0))
    }

    @Test func theTimeLeftIsWhatTheBacklogShrinksBy() {
        // 100 a second are settled, 40 a second arrive.
        let told = window([(0, 6_000), (100, 5_940)]).catchUp(now: 2 * oneSecond, settled: 200, outstanding: 5_880)
        #expect(told == CatchUp(legsPerSecond: 100, secondsLeft: 98))
    }

    @Test func aBacklogThatDoesNotShrinkHasNoEnd() {
        let stalled = window([(0, 500), (0, 500)]).catchUp(now: 2 * oneSecond, settled: 0, outstanding: 500)
        #expect(stalled == CatchUp(legsPerSecond: 0, secondsLeft: nil))
        let growing = window([(0, 500), (10, 600)]).catchUp(now: 2 * oneSecond, settled: 20, outstanding: 700)
        #expect(growing == CatchUp(legsPerSecond: 10, secondsLeft: nil))
        #expect(CatchUpWindow().catchUp(now: 0, settled: 0, outstanding: 1).secondsLeft == nil, "nothing is known yet")
    }

    @Test func theLegsThatAreAlwaysUnderWayAreNoBacklog() {
        let busy = window([(0, 3), (1_000, 4)]).catchUp(now: 2 * oneSecond, settled: 2_000, outstanding: 5)
        #expect(busy == CatchUp(legsPerSecond: 1_000, secondsLeft: 0.005))
    }

    @Test func whatIsOlderThanHalfAMinuteCountsNoMore() {
        var readings = [(0, 100_000)]
        for index in 1...60 { readings.append((index <= 30 ? 0 : (index - 30) * 50, 100_000)) }
        let told = window(readings).catchUp(now: 60 * oneSecond, settled: 1_500, outstanding: 100_000)
        #expect(told.legsPerSecond == 50)
    }

    @Test func readingsThatComeTooOftenAreNotKept() {
        var window = CatchUpWindow()
        for tick in 0..<1_000 {
            window.push(now: UInt64(tick) * 1_000_000, settled: tick == 0 ? 0 : 999, outstanding: 1)
        }
        #expect(window.catchUp(now: oneSecond, settled: 999, outstanding: 0).legsPerSecond == 999)
    }
}

import Configuration
import Synchronization
import Testing

@testable import Gateway

private func breaker(
    ratio: Double = 0.5, window: Int64 = 10_000, minRequests: Int = 20, openFor: Int64 = 5000
) -> Breaker {
    var settings = BreakerSettings()
    settings.errorRatio = ratio
    settings.windowMilliseconds = window
    settings.minRequests = minRequests
    settings.openForMilliseconds = openFor
    return Breaker(settings)
}

extension Breaker {
    fileprivate func record(ok: Int = 0, failed: Int = 0, now: UInt64) {
        for _ in 0..<ok { record(failed: false, now: now) }
        for _ in 0..<failed { record(failed: true, now: now) }
    }
}

@Test func aBreakerStaysClosedBelowTheMinimumOfRequests() {
    let breaker = breaker()
    breaker.record(failed: 19, now: 1_000_000)
    #expect(!breaker.isOpen && breaker.admits(now: 1_000_000))
    breaker.record(failed: 1, now: 1_000_000)
    #expect(breaker.isOpen && !breaker.admits(now: 1_000_000))
}

@Test func anOpeningIsToldOnceToWhoCausedIt() {
    let breaker = breaker()
    let told = (0..<40).map { _ in breaker.record(failed: true, now: 1000) }
    #expect(told.indices.filter { told[$0] } == [19])
    #expect(breaker.admits(now: 6000), "the probe")
    #expect(!breaker.record(failed: true, now: 6001), "still open is no opening")
    #expect(!breaker.record(failed: false, now: 6002))
}

@Test(arguments: [
    (0.5, 30, 29, false), (0.5, 30, 30, true), (0.1, 90, 9, false), (0.1, 90, 10, true), (1, 1, 99, false),
])
func aBreakerOpensAtItsShareOfErrors(ratio: Double, ok: Int, failed: Int, opens: Bool) {
    let breaker = breaker(ratio: ratio)
    breaker.record(ok: ok, now: 50_000)
    breaker.record(failed: failed, now: 50_000)
    #expect(breaker.isOpen == opens)
}

@Test func whatIsOlderThanTheWindowDoesNotCount() {
    let breaker = breaker()
    breaker.record(failed: 19, now: 100_000)
    breaker.record(failed: 1, now: 110_000)
    #expect(!breaker.isOpen)
    breaker.record(failed: 18, now: 119_000)
    #expect(!breaker.isOpen)
    breaker.record(failed: 1, now: 119_999)
    #expect(breaker.isOpen)
}

@Test func whileOpenOneProbeAPeriodGoesOutAndASuccessCloses() {
    let breaker = breaker()
    breaker.record(failed: 20, now: 1000)
    #expect(breaker.nextProbe == 6000)
    #expect((1000..<6000).allSatisfy { !breaker.admits(now: $0) })
    #expect(breaker.admits(now: 6000), "the probe")
    #expect((6000..<11_000).allSatisfy { !breaker.admits(now: $0) })
    breaker.record(failed: true, now: 6100)
    #expect(breaker.isOpen && !breaker.admits(now: 6200))
    #expect(breaker.admits(now: 11_000), "the next probe")
    breaker.record(failed: false, now: 11_050)
    #expect(!breaker.isOpen && breaker.nextProbe == 0)
    #expect((11_050..<11_100).allSatisfy { breaker.admits(now: $0) })
}

@Test func anAnswerThatWasOnItsWayWhenTheBreakerOpenedDoesNotCloseIt() {
    let breaker = breaker()
    breaker.record(ok: 30, failed: 30, now: 1000)
    #expect(breaker.isOpen)
    breaker.record(ok: 10, now: 1001)
    breaker.record(ok: 10, now: 5999)
    #expect(breaker.isOpen && !breaker.admits(now: 5999))
    #expect(breaker.admits(now: 6000), "the probe")
    breaker.record(ok: 1, now: 6001)
    #expect(!breaker.isOpen)
    // The next opening starts without a probe.
    breaker.record(failed: 20, now: 7000)
    breaker.record(ok: 1, now: 7001)
    #expect(breaker.isOpen)
}

@Test func whereNobodyAsksForLeaveASuccessAfterTheTimeCloses() {
    let breaker = breaker()
    breaker.record(failed: 20, now: 1000)
    breaker.record(ok: 1, now: 6000)
    #expect(!breaker.isOpen)
}

@Test func aBreakerThatHasClosedStartsToCountAnew() {
    let breaker = breaker()
    breaker.record(failed: 20, now: 1000)
    #expect(breaker.admits(now: 6000))
    breaker.record(failed: false, now: 6001)
    breaker.record(failed: 18, now: 6002)
    #expect(!breaker.isOpen)
    breaker.record(failed: 2, now: 6002)
    #expect(breaker.isOpen)
}

@Test func manyThreadsGetOneProbeAPeriodBetweenThem() {
    let breaker = breaker(openFor: 100)
    breaker.record(failed: 20, now: 0)
    let probes = Atomic<Int>(0)
    let admitted = Record<UInt64>()
    concurrently(8) { _ in
        for now in 0..<20_000 as Range<UInt64> where breaker.admits(now: now / 10) {
            probes.wrappingAdd(1, ordering: .relaxed)
            admitted.add(now / 10)
        }
    }
    // A thread may be behind the others: its clock then finds the period taken.
    #expect(probes.load(ordering: .relaxed) <= 19 && probes.load(ordering: .relaxed) >= 1)
    let times = admitted.all.sorted()
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 100 }, "\(times)")
}

@Test func manyThreadsCountTogether() {
    let breaker = breaker(ratio: 0.5, minRequests: 8000)
    concurrently(8) { _ in
        for _ in 0..<500 { breaker.record(failed: false, now: 70_000) }
    }
    concurrently(8) { _ in
        for _ in 0..<499 { breaker.record(failed: true, now: 70_001) }
    }
    #expect(!breaker.isOpen)
    breaker.record(failed: 8, now: 70_002)
    #expect(breaker.isOpen)
}

import Telemetry
import TestSupport
import Testing

/// What `events` counts in one window, after `before` had been counted.
private func evidence(before: (LoopMetrics) -> Void = { _ in }, _ events: (LoopMetrics) -> Void) -> FigureEvidence {
    let block = LoopMetrics()
    before(block)
    let window = SlidingWindow(window: 60 * second, now: 0, cumulative: snapshot(block))
    events(block)
    return window.evidence(now: second, cumulative: snapshot(block))
}

@Test func evidenceIsCountedByBackend() {
    let counts = evidence(before: { $0.read(.new, failed: true) }) {
        $0.read(.new, failed: true)
        $0.read(.new, failed: false)
        $0.read(.legacy, failed: false)
        $0.writeReceived()
        $0.conflictedWrite()
        $0.requestOfNewUser()
        $0.requestOfNewUser()
        $0.fallback(.write, reason: .timeout)
        $0.shadow(.match)
        $0.shadow(.mismatch)
    }.counts
    #expect(counts.reads == ByBackend(legacy: Proportion(0, of: 1), new: Proportion(1, of: 2)))
    #expect(counts.conflicted == Proportion(1, of: 1))
    #expect(counts.fallbacks == Proportion(1, of: 2))
    #expect(counts.mismatched == Proportion(1, of: 2))
}

@Test func whatIsTakenAsideOfTheFiguresIsCountedWithinTheWindowToo() {
    func events(_ block: LoopMetrics) {
        block.fallback(.read, reason: .breakerOpen)
        block.fallback(.write, reason: .breakerOpen)
        block.fallback(.read, reason: .timeout)
        for _ in 0..<2 { block.requestWhileBehind() }
        block.readWhileBehindBroken()
        for _ in 0..<3 { block.shadowFailure() }
        for _ in 0..<4 { block.shadowKeptAway() }
        for _ in 0..<5 { block.shadow(.dropped) }
        for _ in 0..<6 { block.shadow(.error) }
    }
    let aside = evidence(before: events, events).counts.aside
    #expect(aside.readsKeptAway == 2, "writes are judged by their wait")
    #expect(aside.requestsWhileBehind == 2)
    #expect(aside.shadowFailures == 3 && aside.shadowKeptAway == 4)
    #expect(aside.shadowDropped == 5 && aside.shadowErrors == 6)
}

/// A fallback is counted when legacy answers, its request when the answer is out: a window may begin in between.
@Test func aPartIsNeverMoreThanItsWhole() {
    let counts = evidence {
        $0.requestOfNewUser()
        $0.fallback(.read, reason: .connect)
        $0.fallback(.read, reason: .connect)
    }.counts
    #expect(counts.fallbacks == Proportion(1, of: 1))
    #expect(counts.fallbacksByReason[.connect] == 2)
}

@Test func whatClientsSawIsToldByTheSideThatWasMeant() {
    let figures = evidence {
        for _ in 0..<3 { $0.clientAnswer(.read, meantFor: .new, failed: false) }
        $0.clientAnswer(.read, meantFor: .new, failed: true)
        $0.clientAnswer(.read, meantFor: .legacy, failed: false)
        $0.clientAnswer(.write, meantFor: .legacy, failed: true)
    }.figures
    #expect(figures.clientReadErrorRatio.new == Figure(value: 0.25, samples: 4))
    #expect(figures.clientReadErrorRatio.legacy == Figure(value: 0, samples: 1))
    #expect(figures.allClientReadErrorRatio == Figure(value: 0.2, samples: 5))
    #expect(figures.clientWriteErrorRatio == ByBackend(legacy: Figure(value: 1, samples: 1), new: .none))
}

@Test func conflictsAndFallbacksAreToldByEveryWordOfTheirLabels() {
    let figures = evidence(before: { $0.conflict(.new) }) {
        $0.conflict(.gateway)
        $0.conflict(.gateway)
        $0.conflict(.legacy)
        $0.fallback(.read, reason: .serverError)
        $0.fallback(.write, reason: .serverError)
        $0.fallback(.read, reason: .notFound)
    }.figures
    #expect(figures.conflictsBySource == [.gateway: 2, .legacy: 1, .new: 0])
    #expect(figures.fallbacksByReason.filter { $0.value > 0 } == [.serverError: 2, .notFound: 1])
    #expect(Set(figures.fallbacksByReason.keys) == Set(FallbackReason.allCases))
    #expect(figures.fallbacksByKind == [.read: 2, .write: 1])
    #expect(Set(FourFigures().conflictsBySource.keys) == Set(ConflictSource.allCases))
}

@Test func theP95OfTheLegAloneLeavesWaitingAndTheOtherLegOut() throws {
    let figures = evidence {
        for milliseconds in 1...100 as ClosedRange<UInt64> {
            $0.write(.new, leg: .authoritative, result: .ok, nanoseconds: milliseconds * 1_000_000)
            $0.write(.legacy, leg: .secondary, result: .ok, nanoseconds: 9 * second)
            $0.clientWrite(.new, nanoseconds: milliseconds * 3_000_000)
            $0.clientWrite(.legacy, nanoseconds: milliseconds * 1_000_000)
        }
    }.figures
    let leg = try #require(figures.legP95Seconds.new.value)
    #expect(abs(leg - 0.095) <= 0.095 / 32 && figures.legP95Seconds.legacy == .none)
    let total = try #require(figures.allWritesP95Seconds.value)
    // Ranks 191 to 200 are the ten longest of new, so rank 190 is its ninetieth.
    #expect(abs(total - 0.27) <= 0.27 / 32 && figures.allWritesP95Seconds.samples == 200)
}

@Test func whatMayNotHaveBeenLongerIsNotCountedAsLonger() {
    var histogram = Histogram()
    for nanoseconds in [299_999_999, 300_000_000, 300_000_001, 2_000_000_000] as [UInt64] {
        histogram.record(nanoseconds: nanoseconds)
    }
    #expect(histogram.countAbove(seconds: 0.3) == 2)
    #expect(histogram.countAbove(seconds: 0) == 4)
    #expect(histogram.countAbove(seconds: 2) == 0)
    #expect(histogram.countAbove(seconds: .infinity) == 0)
}

@Test(arguments: [5, 6, 7])
func theCountAboveIsConservativeAndNearlyExact(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var (histogram, all) = (Histogram(), [UInt64]())
    for _ in 0..<2000 {
        let duration = generator.duration()
        all.append(duration)
        histogram.record(nanoseconds: duration)
    }
    for _ in 0..<200 {
        let limit = generator.duration()
        let told = histogram.countAbove(seconds: Double(limit) / 1e9)
        #expect(told <= UInt64(all.count { $0 > limit }))
        #expect(told >= UInt64(all.count { Double($0) > Double(limit) * (1 + 1 / 32) + 1024 }))
    }
}

@Test func histogramsOfBothBackendsAddUp() {
    var (first, second) = (Histogram(), Histogram())
    first.record(nanoseconds: 5_000)
    second.record(nanoseconds: 7_000_000)
    let both = first.adding(second)
    #expect(both.count == 2 && both.sumNanoseconds == 7_005_000 && both.quantile(0.1) == first.quantile(1))
}

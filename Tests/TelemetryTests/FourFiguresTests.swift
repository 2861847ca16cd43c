import Telemetry
import Testing

/// The figures of what `events` counts in one window.
private func figures(_ events: (LoopMetrics) -> Void) -> FourFigures {
    let block = LoopMetrics()
    let window = SlidingWindow(window: 60 * second, now: 0, cumulative: snapshot(block))
    events(block)
    return window.figures(now: second, cumulative: snapshot(block))
}

@Test func withoutSamplesThereIsNoFigure() {
    let none = figures { _ in }
    #expect(none.readErrorRatio == ByBackend(legacy: .none, new: .none))
    #expect(none.writeP95Seconds == ByBackend(legacy: .none, new: .none))
    #expect([none.conflictRatio, none.fallbackRatio, none.mismatchRatio] == [.none, .none, .none])
}

@Test func readErrorsAreToldByBackend() {
    let told = figures {
        for _ in 0..<3 { $0.read(.legacy, failed: false) }
        $0.read(.new, failed: false)
        $0.read(.new, failed: true)
    }
    #expect(told.readErrorRatio == ByBackend(legacy: Figure(value: 0, samples: 3), new: Figure(value: 0.5, samples: 2)))
}

@Test func shadowReadsAreNotReads() {
    let told = figures { $0.shadow(.error) }
    #expect(told.readErrorRatio == ByBackend(legacy: .none, new: .none))
    #expect(told.mismatchRatio == .none)
}

@Test func aWriteCountsAsOneConflictHoweverManyNoticed() {
    let told = figures {
        for _ in 0..<4 { $0.writeReceived() }
        $0.conflict(.gateway)
        $0.conflict(.legacy)
        $0.conflict(.new)
        $0.conflictedWrite()
    }
    #expect(told.conflictRatio == Figure(value: 0.25, samples: 4))
}

@Test func fallbacksAreMeasuredAgainstRequestsOfUsersOnNew() {
    let told = figures {
        for _ in 0..<100 { $0.read(.legacy, failed: false) }
        for _ in 0..<8 { $0.requestOfNewUser() }
        $0.fallback(.read, reason: .notFound)
        $0.fallback(.write, reason: .timeout)
    }
    #expect(told.fallbackRatio == Figure(value: 0.25, samples: 8))
}

@Test func transientDifferencesAreComparedButNoMismatch() {
    let told = figures {
        $0.shadow(.match)
        $0.shadow(.match)
        $0.shadow(.transient)
        $0.shadow(.mismatch)
        for unseen in [ShadowResult.dropped, .error, .skipped] { $0.shadow(unseen) }
    }
    #expect(told.mismatchRatio == Figure(value: 0.25, samples: 4))
}

@Test func theWriteP95ComesFromWhatClientsWaitedNotFromLegs() throws {
    let told = figures {
        for milliseconds in 1...100 { $0.clientWrite(.new, nanoseconds: UInt64(milliseconds) * 1_000_000) }
        $0.write(.new, leg: .secondary, result: .ok, nanoseconds: 50 * second)
    }
    let p95 = try #require(told.writeP95Seconds.new.value)
    #expect(abs(p95 - 0.095) <= 0.095 / 32)
    #expect(told.writeP95Seconds.new.samples == 100)
    #expect(told.writeP95Seconds.legacy == .none)
}

@Test func aRatioIsNeverAboveOne() {
    #expect(Figure.ratio(3, of: 2).value == 1)
    #expect(Figure.ratio(1, of: 0) == .none)
}

@Test func aGateLooksAtNewOnceNewHasEnoughSamples() {
    let few = ByBackend(legacy: Figure(value: 0.1, samples: 900), new: Figure(value: 0.9, samples: 199))
    #expect(FourFigures.watched(few, minSamples: 200).backend == .legacy)
    let enough = ByBackend(legacy: Figure(value: 0.1, samples: 900), new: Figure(value: 0.9, samples: 200))
    #expect(FourFigures.watched(enough, minSamples: 200).figure.value == 0.9)
    #expect(FourFigures.watched(ByBackend(legacy: .none, new: .none), minSamples: 0).backend == .legacy)
}

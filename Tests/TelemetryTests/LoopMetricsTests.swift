import Telemetry
import Testing

@Test func readersSeeOneWritersCountsGrowAndLoseNothing() async {
    let block = LoopMetrics()
    let rounds: UInt64 = 20_000
    await withTaskGroup(of: Bool.self) { group in
        group.addTask {
            for round in 0..<rounds {
                block.read(.new, failed: round % 4 == 0)
                block.clientWrite(.legacy, nanoseconds: round * 1000)
            }
            return true
        }
        for _ in 0..<2 {
            group.addTask {
                var grew = true
                var last: UInt64 = 0
                while last < rounds {
                    let errors = block.value(Cells.reads + 3)
                    let reads = block.value(Cells.reads + 2) + errors
                    grew = grew && reads >= last && errors <= rounds / 4
                    last = reads
                    await Task.yield()
                }
                return grew
            }
        }
        for await outcome in group { #expect(outcome) }
    }
    let end = snapshot(block)
    #expect(end.reads(.new, failed: true) == rounds / 4)
    #expect(end.reads(.new, failed: false) == rounds - rounds / 4)
    #expect(end.histogram(Cells.clientWriteDuration).count == rounds)
    #expect(end.histogram(Cells.clientWriteDuration).sumNanoseconds == (rounds - 1) * rounds / 2 * 1000)
}

/// Every call of the counting API with every combination of labels.
private func everyEvent() -> [(LoopMetrics) -> Void] {
    var events: [(LoopMetrics) -> Void] = [
        { $0.writeReceived() }, { $0.conflictedWrite() }, { $0.requestOfNewUser() }, { $0.staleRead() },
        { $0.clientAbort() }, { $0.malformedRequest() }, { $0.idempotentReplay() }, { $0.requestsInFlight(by: 1) },
        { $0.shadowInFlight(by: 1) }, { $0.tunnelBytes(toClient: false, 1) }, { $0.tunnelBytes(toClient: true, 1) },
    ]
    for backend in Backend.allCases {
        for failed in [false, true] {
            events.append { $0.read(backend, failed: failed) }
            events.append { $0.upstreamConnect(backend, failed: failed) }
        }
        for leg in WriteLeg.allCases {
            for result in WriteResult.allCases {
                events.append { $0.write(backend, leg: leg, result: result, nanoseconds: 1) }
            }
        }
        for state in ConnectionState.allCases { events.append { $0.upstreamEntered(backend, state) } }
        events.append { $0.legRetry(backend) }
        events.append { $0.legParked(backend) }
        events.append { $0.upstreamResend(backend) }
        events.append { $0.malformedResponse(backend) }
        events.append { $0.breakerOpened(backend) }
    }
    for source in ConflictSource.allCases { events.append { $0.conflict(source) } }
    for kind in ClientKind.allCases {
        for side in Backend.allCases {
            for failed in [false, true] { events.append { $0.clientAnswer(kind, meantFor: side, failed: failed) } }
        }
        for reason in FallbackReason.allCases { events.append { $0.fallback(kind, reason: reason) } }
    }
    for result in ShadowResult.allCases { events.append { $0.shadow(result) } }
    for limit in Limit.allCases { events.append { $0.limitHit(limit) } }
    for trigger in RollbackTrigger.allCases { events.append { $0.rollback(trigger) } }
    for kind in RequestKind.allCases {
        for status in [0, 100, 200, 599] { events.append { $0.request(kind: kind, status: status, nanoseconds: 1) } }
    }
    return events
}

@Test func everyEventHasACellOfItsOwn() {
    let all = LoopMetrics()
    for event in everyEvent() {
        let alone = LoopMetrics()
        event(alone)
        #expect(touched(alone).count == 1)
        event(all)
    }
    #expect(touched(all).values.allSatisfy { $0 == 1 })
    #expect(touched(all).count == everyEvent().count)
}

@Test func everyHistogramHasCellsOfItsOwn() {
    let block = LoopMetrics()
    for histogram in 0..<Cells.histogramCount {
        block.observe(histogram, nanoseconds: 0)
        block.observe(histogram, nanoseconds: .max)
    }
    for histogram in 0..<Cells.histogramCount {
        let read = snapshot(block).histogram(histogram)
        #expect(read.count == 2)
        #expect(read.counts.first == 1)
        #expect(read.counts.last == 1)
    }
    #expect(HistogramLayout.count < Cells.histogramSum)
    #expect(Cells.codes + RequestKind.allCases.count * Cells.codesPerKind <= Cells.histograms)
    #expect(
        Cells.limits + Limit.allCases.count <= Cells.clientAnswers && Cells.clientAnswers + 8 <= Cells.writesReceived)
}

@Test func indexesOfLabelsFollowTheirOrder() {
    #expect(Backend.allCases.map(\.index) == Backend.allCases.map(\.rawValue))
    #expect([Backend(index: 0), Backend(index: 1)] == [.legacy, .new])
    #expect(Limit.allCases.map(\.index) == Array(0..<Limit.allCases.count))
    #expect(ShadowResult.allCases.map(\.index) == Array(0..<ShadowResult.allCases.count))
    #expect(FallbackReason.allCases.map(\.index) == Array(0..<FallbackReason.allCases.count))
    #expect(RequestKind.allCases.map(\.index) == Array(0..<RequestKind.allCases.count))
}

@Test func aConnectionMovesBetweenStatesAndLoops() {
    let first = LoopMetrics()
    let second = LoopMetrics()
    first.upstreamEntered(.new, .connecting)
    first.upstreamLeft(.new, .connecting)
    first.upstreamEntered(.new, .active)
    second.upstreamEntered(.new, .active)
    first.clientAccepted()
    first.clientAccepted()
    first.clientClosed()
    let both = MetricsSnapshot(of: [first, second])
    #expect(both.upstreamConnections(.new, .connecting) == 0)
    #expect(both.upstreamConnections(.new, .active) == 2)
    #expect(both.upstreamConnections(.legacy, .active) == 0)
    #expect(both.gauge(Cells.clientConnections) == 1)
    #expect(both.counter(Cells.clientConnectionsAccepted) == 2)
}

@Test func aGaugeTakenDownByAnotherLoopIsSummedAndNeverPrintedNegative() {
    let opener = LoopMetrics()
    let closer = LoopMetrics()
    opener.shadowInFlight(by: 1)
    closer.shadowInFlight(by: -1)
    #expect(MetricsSnapshot(of: [opener, closer]).gauge(Cells.shadowInFlight) == 0)
    #expect(MetricsSnapshot(of: [closer]).gauge(Cells.shadowInFlight) == 0)
}

@Test func aDifferenceSubtractsCountersAndKeepsGauges() {
    let block = LoopMetrics()
    block.staleRead()
    block.clientAccepted()
    let before = snapshot(block)
    block.staleRead()
    block.staleRead()
    block.clientAccepted()
    block.request(kind: .read, status: 200, nanoseconds: second)
    let difference = snapshot(block).subtracting(before)
    #expect(difference.counter(Cells.staleReads) == 2)
    #expect(difference.gauge(Cells.clientConnections) == 2)
    #expect(difference.requests(.read, status: 200) == 1)
    #expect(difference.histogram(Cells.requestDuration).count == 1)
    #expect(before.subtracting(snapshot(block)).counter(Cells.staleReads) == 0)
}

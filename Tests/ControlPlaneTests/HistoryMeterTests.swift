import Journal
import Telemetry
import TestSupport
import Testing

@testable import ControlPlane

/// A meter with counters of its own and clocks that the test moves.
private struct Bench {
    let metrics = LoopMetrics()
    var wall: Int64
    var monotonic: Int64 = 5_000
    var gauges = HistoryGauges()
    var meter: HistoryMeter
    var rows: [HistoryRow] = []

    init(wall: Int64 = 1_764_500_000_000) {
        self.wall = wall
        meter = HistoryMeter(instance: "a", wall: wall, monotonic: 5_000, counts: HistoryCounts(MetricsSnapshot()))
    }

    var counts: HistoryCounts { HistoryCounts(MetricsSnapshot(of: [metrics])) }

    /// Time passes, by both clocks unless the wall clock is said to do something else.
    mutating func pass(_ milliseconds: Int64 = 1_000, wall jump: Int64? = nil) {
        monotonic += milliseconds
        wall += jump ?? milliseconds
        let row = meter.read(wall: wall, monotonic: monotonic, counts: counts, gauges: gauges)
        if let row { rows.append(row) }
    }

    mutating func finish() { if let row = meter.finish(gauges) { rows.append(row) } }

    func request() { metrics.request(kind: .read, status: 200, nanoseconds: 1_000) }
}

@Suite struct TheMeter {
    @Test func aSpanHasWhatWasCountedInIt() {
        var bench = Bench()
        for _ in 0..<3 { bench.metrics.read(.legacy, failed: false) }
        bench.metrics.read(.new, failed: true)
        bench.metrics.request(kind: .read, status: 503, nanoseconds: 1)
        bench.metrics.clientAnswer(.read, meantFor: .new, failed: true)
        bench.metrics.clientAnswer(.write, meantFor: .new, failed: true)
        bench.metrics.clientWrite(.new, nanoseconds: 20_000_000)
        bench.metrics.writeReceived()
        bench.metrics.conflictedWrite()
        bench.metrics.requestOfNewUser()
        bench.metrics.fallback(.read, reason: .timeout)
        for result in [ShadowResult.match, .mismatch, .transient, .dropped] { bench.metrics.shadow(result) }
        bench.gauges.stage = "canary"
        bench.gauges.pending.new = 4
        for _ in 0..<10 { bench.pass() }
        let row = bench.rows.first
        #expect(bench.rows.count == 1 && row?.atMilliseconds == 1_764_500_000_000 && row?.resolution == .tenSeconds)
        #expect(row?.reads == .init(legacy: 3, new: 1) && row?.readErrors == .init(legacy: 0, new: 1))
        #expect(row?.clientErrors == 1, "reads only")
        #expect(row?.writes == .init(legacy: 0, new: 1) && row?.writeP95Legacy == nil)
        #expect((19_000...21_000).contains(row?.writeP95New ?? 0))
        #expect(row?.writesReceived == 1 && row?.conflicts == 1 && row?.newRequests == 1 && row?.fallbacks == 1)
        #expect(row?.compared == 3 && row?.mismatched == 1)
        #expect(row?.stage == "canary" && row?.pending.new == 4)
        #expect(row?.coveredMilliseconds == 10_000)
        for _ in 0..<10 { bench.pass() }
        #expect(bench.rows.last?.reads == .init() && bench.rows.last?.writeP95New == nil, "counted once")
    }

    @Test func onlySecondsWithRequestsAreUnderLoad() {
        var bench = Bench()
        for second in 0..<20 {
            if second == 3 || second == 4 || second == 15 { bench.request() }
            bench.pass()
        }
        bench.metrics.request(kind: .none, status: 400, nanoseconds: 1)
        for _ in 0..<10 { bench.pass() }
        #expect(bench.rows.map(\.loadMilliseconds) == [2_000, 1_000, 0])
        #expect(bench.meter.loadMilliseconds == 3_000)
    }

    @Test func aSecondAcrossTwoSpansIsShared() {
        var bench = Bench(wall: 1_764_500_000_300)
        for _ in 0..<20 {
            bench.request()
            bench.pass()
        }
        bench.finish()
        #expect(bench.rows.map(\.coveredMilliseconds) == [9_700, 10_000, 300])
        #expect(bench.rows.map(\.loadMilliseconds) == [9_700, 10_000, 300])
    }

    @Test func whatAStoppedProcessDidNotSeeIsAGap() {
        var bench = Bench()
        bench.pass(3_000)
        bench.request()
        bench.pass(3_600_000)
        for _ in 0..<10 { bench.pass() }
        #expect(bench.rows.map(\.coveredMilliseconds).first == 4_000, "two seconds a reading at most")
        #expect(bench.rows.map(\.loadMilliseconds) == [2_000, 0])
        #expect(bench.rows.map(\.atMilliseconds) == [1_764_500_000_000, 1_764_503_600_000])
    }

    @Test func anUnfinishedSpanIsKeptAtTheEndAndNotTwice() {
        var bench = Bench()
        bench.finish()
        #expect(bench.rows.isEmpty, "nothing was seen of it")
        bench.metrics.read(.legacy, failed: false)
        bench.pass(4_000)
        bench.finish()
        bench.finish()
        #expect(bench.rows.map(\.reads.legacy) == [1])
    }

    /// Both clocks and the traffic are random; the wall clock jumps by hours.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func nothingIsLostOrDoubledWhateverTheClockDoes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bench = Bench(wall: 1_764_500_000_000 + Int64.random(in: 0..<10_000, using: &random))
        var (reads, errors, writes, longest) = (0, 0, 0, Int64(0))
        let begin = bench.monotonic
        for _ in 0..<300 {
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let failed = Bool.random(using: &random)
                bench.metrics.read(.new, failed: failed)
                (reads, errors) = (reads + 1, errors + (failed ? 1 : 0))
                bench.request()
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                let nanoseconds = UInt64.random(in: 1_000...2_000_000_000, using: &random)
                longest = max(longest, Int64(nanoseconds / 1_000))
                bench.metrics.clientWrite(.legacy, nanoseconds: nanoseconds)
                writes += 1
            }
            let jump: Int64? =
                Int.random(in: 0..<50, using: &random) == 0
                ? .random(in: -7_200_000...7_200_000, using: &random) : nil
            bench.pass(.random(in: 900...1_400, using: &random), wall: jump)
        }
        bench.finish()
        #expect(bench.rows.map(\.reads.new).reduce(0, +) == Int64(reads), "seed \(seed)")
        #expect(bench.rows.map(\.readErrors.new).reduce(0, +) == Int64(errors))
        #expect(bench.rows.map(\.writes.legacy).reduce(0, +) == Int64(writes))
        #expect(bench.rows.map(\.coveredMilliseconds).reduce(0, +) == bench.monotonic - begin)
        #expect(bench.rows.map(\.loadMilliseconds).reduce(0, +) == bench.meter.loadMilliseconds)
        #expect(
            bench.rows.allSatisfy { $0.atMilliseconds % 10_000 == 0 && $0.loadMilliseconds <= $0.coveredMilliseconds })
        // A histogram's cell is at most 1/32 wide.
        let worst = bench.rows.compactMap(\.writeP95Legacy).max() ?? 0
        #expect(worst <= longest + longest / 32 + 2 && worst > longest / 2)
    }
}

import Rollout
import Telemetry
import Testing

/// The page of a block, as a scraper sees it.
private func page(
    _ block: LoopMetrics = LoopMetrics(), figures: FourFigures = FourFigures(), gauges: ControlGauges = ControlGauges()
) -> Exposition {
    Exposition(String(decoding: renderMetrics(snapshot(block), figures: figures, gauges: gauges), as: UTF8.self))
}

/// All combinations of labels: `combine([("a", ["1", "2"])])`.
private func combine(_ labels: [(String, [String])]) -> [[String: String]] {
    labels.reduce([[:]]) { sofar, label in
        sofar.flatMap { one in label.1.map { one.merging([label.0: $0]) { $1 } } }
    }
}

private let backends = ("backend", ["legacy", "new"])
private let legs = ("leg", ["authoritative", "secondary"])
private let kinds = ("kind", ["read", "write", "legacy", "new", "split", "none"])
private let gates = [
    "read_error_rate", "write_p95", "conflict_rate", "fallback_rate", "mismatch_rate", "journal_lag",
]

/// The counters and gauges of contract §10 that are 0 at the first scrape, with the labels that it names.
private let atZero: [(String, [(String, [String])])] = [
    ("cutover_reads_total", [backends, ("result", ["ok", "error"])]),
    ("cutover_writes_total", [backends, legs, ("result", ["ok", "refused", "error"])]),
    ("cutover_conflicts_total", [("source", ["gateway", "legacy", "new"])]),
    ("cutover_fallbacks_total", [("kind", ["read", "write"]), ("reason", ["connect", "timeout", "5xx", "404"])]),
    (
        "cutover_client_answers_total",
        [("kind", ["read", "write"]), ("side", ["legacy", "new"]), ("result", ["ok", "error"])]
    ),
    ("cutover_rollbacks_total", [("trigger", ["operator", "gate"])]),
    ("cutover_shadow_reads_total", [("result", ["match", "mismatch", "transient", "dropped", "error", "skipped"])]),
    ("cutover_journal_pending", [backends]), ("cutover_journal_oldest_pending_seconds", [backends]),
    ("cutover_journal_deferred", [backends]), ("cutover_journal_catchup_legs_per_second", [backends]),
    ("cutover_journal_catchup_seconds", [backends]),
    ("cutover_journal_groups_total", []), ("cutover_journal_group_writes_total", []),
    ("cutover_journal_parked", []), ("cutover_rollout_percent", []), ("cutover_stale_reads_total", []),
    (
        "cutover_requests_total",
        [kinds, ("code", ["200", "201", "204", "304", "400", "404", "409", "502", "503", "504"])]
    ),
    ("cutover_upstream_connections", [backends, ("state", ["idle", "active", "connecting"])]),
    ("cutover_limit_hits_total", [("limit", Limit.allCases.map(\.rawValue))]),
    ("cutover_leg_retries_total", [backends]), ("process_cpu_seconds_total", []),
    ("process_resident_memory_bytes", []), ("process_virtual_memory_bytes", []), ("process_open_fds", []),
    ("process_max_fds", []), ("process_start_time_seconds", []),
]

@Test func everySeriesIsThereAtZeroFromTheFirstScrape() {
    let first = page()
    for (name, labels) in atZero {
        for combination in combine(labels) {
            #expect(first.value(name, combination) == 0, "\(name) \(combination)")
        }
    }
    for (name, labels) in [
        ("cutover_write_duration_seconds", [backends, legs]), ("cutover_request_duration_seconds", [kinds]),
    ] {
        for combination in combine(labels) {
            #expect(first.value(name + "_count", combination) == 0)
            #expect(first.value(name + "_sum", combination) == 0)
            for bound in HistogramLayout.boundLabels + ["+Inf"] {
                #expect(first.value(name + "_bucket", combination.merging(["le": bound]) { $1 }) == 0)
            }
        }
    }
}

@Test func theFourAreNotANumberWithoutSamples() {
    let first = page()
    for name in ["cutover_read_error_ratio", "cutover_write_p95_seconds"] {
        for backend in ["legacy", "new"] { #expect(first.value(name, ["backend": backend])?.isNaN == true) }
    }
    #expect(first.value("cutover_conflict_ratio")?.isNaN == true)
    #expect(first.value("cutover_fallback_ratio")?.isNaN == true)
}

@Test func aGateHasExactlyOneVerdict() {
    var gauges = ControlGauges()
    gauges.verdicts = [.writeP95: .fail, .journalLag: .pass]
    let told = page(gauges: gauges)
    for gate in gates {
        let set = ["pass", "fail", "insufficient", "warming_up"].filter {
            told.value("cutover_gate_verdict", ["gate": gate, "verdict": $0]) == 1
        }
        #expect(set == [gate == "write_p95" ? "fail" : gate == "journal_lag" ? "pass" : "warming_up"])
    }
}

@Test func thePageIsAStrictExposition() {
    var gauges = ControlGauges()
    gauges.version = "1.0 \"quoted\" \\ and\nbroken"
    let told = page(gauges: gauges)
    #expect(told.faults == [])
    #expect(told.value("cutover_build_info", ["version": gauges.version]) == 1)
    for (name, kind) in told.kinds { #expect((kind == "counter") == name.hasSuffix("_total"), "\(name)") }
}

@Test func theOrderOfThePageDoesNotDependOnItsValues() {
    let busy = LoopMetrics()
    busy.request(kind: .read, status: 200, nanoseconds: 5)
    busy.staleRead()
    #expect(page().order == page(busy).order)
    #expect(page().samples.map(\.labels) == page(busy).samples.map(\.labels))
}

@Test func aCodeAppearsWhenItIsFirstSeen() {
    let block = LoopMetrics()
    #expect(page(block).value("cutover_requests_total", ["kind": "split", "code": "418"]) == nil)
    block.request(kind: .split, status: 418, nanoseconds: 1)
    block.request(kind: .split, status: 777, nanoseconds: 1)
    let told = page(block)
    #expect(told.value("cutover_requests_total", ["kind": "split", "code": "418"]) == 1)
    #expect(told.value("cutover_requests_total", ["kind": "split", "code": "other"]) == 1)
    #expect(told.faults == [])
}

@Test func countsOfSeveralLoopsAreSummed() {
    let loops = [LoopMetrics(), LoopMetrics(), LoopMetrics()]
    for loop in loops {
        loop.write(.legacy, leg: .secondary, result: .refused, nanoseconds: 2_000_000)
        loop.breakerOpened(.new)
    }
    let text = String(
        decoding: renderMetrics(MetricsSnapshot(of: loops), figures: FourFigures(), gauges: ControlGauges()),
        as: UTF8.self)
    let told = Exposition(text)
    let leg = ["backend": "legacy", "leg": "secondary"]
    #expect(told.value("cutover_writes_total", leg.merging(["result": "refused"]) { $1 }) == 3)
    #expect(told.value("cutover_write_duration_seconds_bucket", leg.merging(["le": "0.001"]) { $1 }) == 0)
    #expect(told.value("cutover_write_duration_seconds_bucket", leg.merging(["le": "0.0025"]) { $1 }) == 3)
    #expect(told.value("cutover_write_duration_seconds_sum", leg) == 0.006)
    #expect(told.value("cutover_breaker_openings_total", ["backend": "new"]) == 3)
}

@Test func figuresAndGaugesArePrintedAsGiven() {
    var figures = FourFigures()
    figures.readErrorRatio.new = Figure(value: 0.005, samples: 400)
    figures.fallbackRatio = Figure(value: 0, samples: 12)
    var gauges = ControlGauges()
    gauges.journalPending.new = 7
    gauges.journalOldestPendingSeconds.new = 1.5
    gauges.journalDeferred.new = 4
    gauges.journalGroups = 3
    gauges.journalGroupWrites = 60
    gauges.journalCatchUp.new = CatchUp(legsPerSecond: 2.5, secondsLeft: nil)
    gauges.journalCatchUp.legacy = CatchUp(legsPerSecond: 3, secondsLeft: 9)
    gauges.rolloutPercent = 12.5
    gauges.thresholds = [.writeP95: 0.3]
    let told = page(figures: figures, gauges: gauges)
    #expect(told.value("cutover_read_error_ratio", ["backend": "new"]) == 0.005)
    #expect(told.value("cutover_figure_samples", ["figure": "read_error_ratio", "backend": "new"]) == 400)
    #expect(told.value("cutover_figure_samples", ["figure": "fallback_ratio", "backend": "all"]) == 12)
    #expect(told.value("cutover_fallback_ratio") == 0)
    #expect(told.value("cutover_journal_pending", ["backend": "new"]) == 7)
    #expect(told.value("cutover_journal_oldest_pending_seconds", ["backend": "new"]) == 1.5)
    #expect(told.value("cutover_journal_deferred", ["backend": "new"]) == 4)
    #expect(told.value("cutover_journal_groups_total") == 3)
    #expect(told.value("cutover_journal_group_writes_total") == 60)
    #expect(told.value("cutover_journal_catchup_legs_per_second", ["backend": "new"]) == 2.5)
    #expect(told.value("cutover_journal_catchup_seconds", ["backend": "new"])?.isNaN == true)
    #expect(told.value("cutover_journal_catchup_seconds", ["backend": "legacy"]) == 9)
    #expect(told.value("cutover_rollout_percent") == 12.5)
    #expect(told.value("cutover_gate_threshold", ["gate": "write_p95"]) == 0.3)
    #expect(told.value("cutover_gate_threshold", ["gate": "journal_lag"])?.isNaN == true)
}

@Test func numbersAreWrittenAsTheFormatWants() {
    #expect(PrometheusText.number(.nan) == "NaN")
    #expect(PrometheusText.number(.infinity) == "+Inf")
    #expect(PrometheusText.number(-.infinity) == "-Inf")
    #expect(PrometheusText.number(3) == "3")
    #expect(PrometheusText.number(-0.25) == "-0.25")
    #expect(Double(PrometheusText.number(1e300)) == 1e300)
    #expect(Double(PrometheusText.number(0.00001)) == 0.00001)
}

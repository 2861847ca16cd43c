import ControlPlane

/// The figures that an operator decides by, with their gates, and what is behind them.
struct FigureTable {
    let report: StatusReport
    let console: Console

    private static let main = ["read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate"]

    var lines: [String] { tableLines + spanLines + detailLines }

    private var tableLines: [String] {
        let metrics = report.metrics ?? [:]
        let gates = (report.gates ?? []).filter { $0.metric.map { metrics[$0] == nil } ?? false }
        let hasBoth = metrics.values.contains { $0.byBackend != nil }
        var table = Table(
            [("metric", .left), ("value", .right)] + (hasBoth ? [("legacy", .right), ("new", .right)] : [])
                + [("gate", .right), ("samples", .right), ("verdict", .left)])
        func row(_ title: String, _ figures: [String], _ samples: Int?, _ verdict: Cell) {
            table.rows.append(
                [Cell(title)] + figures.map { Cell($0) } + [Cell(samples.map(grouped) ?? noValue), verdict])
        }
        for name in Self.main + metrics.keys.filter({ !Self.main.contains($0) }).sorted() {
            let metric = metrics[name]
            func figure(_ value: Double?) -> String { value.map { text($0, of: name) } ?? noValue }
            let backends = ["legacy", "new"].map { figure(metric?.byBackend?[$0]?.value) }
            let gate = limit(metric?.threshold, metric?.overLegacy, of: name)
            // Without a limit there is nothing to pass or to fail.
            row(
                title(name), [figure(metric?.value)] + (hasBoth ? backends : []) + [gate], metric?.samples,
                verdict(gate == noValue ? nil : metric?.verdict))
            if let client = metric?.client {
                let none = hasBoth ? [noValue, noValue, noValue] : [noValue]
                row("client errors", [figure(client.value)] + none, client.samples, Cell(noValue))
            }
        }
        for gate in gates {
            let name = gate.metric ?? noValue
            let value = gate.value.map { text($0, of: name) } ?? noValue
            let limit = limit(gate.threshold, gate.overLegacy, of: name)
            // How old the oldest write is rests on nothing that could be counted.
            row(
                title(name), [value] + (hasBoth ? [noValue, noValue] : []) + [limit],
                name == "journal_lag" ? nil : gate.samples, verdict(gate.verdict))
        }
        return table.lines(console)
    }

    /// While the figures are younger than their window.
    private var spanLines: [String] {
        guard let window = report.windowSeconds, let covered = report.coveredSeconds, covered < window else {
            return []
        }
        return ["since \(durationText(covered)) only, of a window of \(durationText(window))"]
    }

    /// Who noticed conflicts, and what new did wrong. Said when it happened.
    private var detailLines: [String] {
        func list(_ name: String, _ counts: [String: Int]?, _ joint: String) -> String? {
            let seen = (counts ?? [:]).filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            guard !seen.isEmpty else { return nil }
            return "\(name): "
                + seen.map { "\(grouped($0.value)) \(joint) \(printable($0.key))" }.joined(separator: ", ")
        }
        let parts = [
            list("conflicts", report.metrics?["conflict_rate"]?.bySource, "by"),
            list("fallbacks", report.metrics?["fallback_rate"]?.byReason, "for"),
        ].compactMap(\.self)
        return parts.isEmpty ? [] : [parts.joined(separator: "; ")]
    }

    private func title(_ name: String) -> String {
        let base = name.hasSuffix("_seconds") ? String(name.dropLast("_seconds".count)) : name
        return base.split(separator: "_").joined(separator: " ")
    }

    private func isDuration(_ name: String) -> Bool { name.hasSuffix("_seconds") || name == "journal_lag" }

    private func text(_ value: Double, of name: String) -> String {
        isDuration(name) ? durationText(value) : ratioText(value)
    }

    /// `0.5 %`, with how far new may be above legacy: `0.5 %, +0.2 %` or `300 ms, 1.5×`.
    private func limit(_ threshold: Double?, _ overLegacy: Double?, of name: String) -> String {
        let over = overLegacy.map { isDuration(name) ? "\(decimal($0, places: 2))×" : "+\(ratioText($0))" }
        let parts = [threshold.map { text($0, of: name) }, over].compactMap(\.self)
        return parts.isEmpty ? noValue : parts.joined(separator: ", ")
    }

    private func verdict(_ verdict: String?) -> Cell {
        switch verdict {
        case "pass": Cell("pass", .green)
        case "fail": Cell("fail", .red)
        case "warming_up": Cell("warming up", .yellow)
        case let other?: Cell(other, .yellow)
        case nil: Cell(noValue)
        }
    }
}

import ControlPlane
import Values

/// The figures that an operator decides by, with their gates, and what is behind them.
struct FigureTable {
    let report: StatusReport
    let now: Int64
    let console: Console
    /// Characters of a line of the terminal; nil where nobody knows.
    let columns: Int?

    private static let main = ["read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate"]

    var blocks: [Block] {
        let further: [(worth: Block.Worth, lines: [String])] = [
            (.essential, formerLines), (.essential, fewLines), (.detail, spanLines), (.detail, detailLines),
        ]
        let width = columns.map { min(80, $0) } ?? .max
        return tableBlocks
            + further.map { part in Block(part.worth, part.lines.flatMap { wrapped($0, width: width, lines: 3) }) }
    }

    private var tableBlocks: [Block] {
        let metrics = report.metrics ?? [:]
        let gates = (report.gates ?? []).filter { $0.metric.map { metrics[$0] == nil } ?? false }
        let hasBoth = metrics.values.contains { $0.byBackend != nil }
        var table = Table(
            [("metric", .left), ("value", .right)] + (hasBoth ? [("legacy", .right), ("new", .right)] : [])
                + [("gate", .right), ("samples", .right), ("verdict", .left)])
        table.dispensable = ["samples", "legacy", "gate", "new"]
        var worths = [Block.Worth.essential]
        let isFormer = formerSince != nil
        func row(_ title: String, _ figures: [Cell], _ samples: Int?, _ verdict: Cell, _ worth: Block.Worth) {
            table.rows.append([Cell(title)] + figures + [Cell(samples.map(grouped) ?? noValue), verdict])
            worths.append(worth)
        }
        for name in Self.main + metrics.keys.filter({ !Self.main.contains($0) }).sorted() {
            let metric = metrics[name]
            func figure(_ value: Double?) -> String { value.map { text($0, of: name) } ?? noValue }
            let backends = ["legacy", "new"].map { figure(metric?.byBackend?[$0]?.value) }
            let gate = limit(metric?.threshold, metric?.overLegacy, of: name)
            // Without a limit there is nothing to pass or to fail.
            let isOfNew = name == "fallback_rate" || metric?.value == metric?.byBackend?["new"]?.value
            let value = Cell(figure(metric?.value), isFormer && isOfNew ? .dim : nil)
            let both = [Cell(backends[0]), Cell(backends[1], isFormer ? .dim : nil)]
            row(
                title(name), [value] + (hasBoth ? both : []) + [Cell(gate)], metric?.samples,
                verdict(gate == noValue ? nil : metric?.verdict), .essential)
            if let client = metric?.client {
                let none = Array(repeating: Cell(noValue), count: hasBoth ? 3 : 1)
                row("client errors", [Cell(figure(client.value))] + none, client.samples, Cell(noValue), .quiet)
            }
        }
        for gate in gates {
            let name = gate.metric ?? noValue
            let value = gate.value.map { text($0, of: name) } ?? noValue
            let limit = limit(gate.threshold, gate.overLegacy, of: name)
            // How old the oldest write is rests on nothing that could be counted.
            let none = Array(repeating: Cell(noValue), count: hasBoth ? 2 : 0)
            row(
                title(name), [Cell(value)] + none + [Cell(limit)], name == "journal_lag" ? nil : gate.samples,
                verdict(gate.verdict), gate.verdict == "pass" ? .quiet : .essential)
        }
        return zip(worths, table.lines(console, width: columns)).map { Block($0, [$1]) }
    }

    // MARK: What the figures do not say by themselves

    /// Since when nobody is on new after a rollback, as long as the window still holds what new did before it. What is good leaves the
    /// window together with what is bad, so these figures may still rise.
    private var formerSince: Instant? {
        guard let rollout = report.rollout, rollout.state == "rolled_back", rollout.percent == 0,
            let since = (rollout.stateSince ?? rollout.since).flatMap({ Instant($0) }),
            Double(now - since.seconds) <= report.windowSeconds ?? 0
        else { return nil }
        let samples = (report.metrics ?? [:]).map { name, metric in
            (name == "fallback_rate" ? metric.samples : metric.byBackend?["new"]?.samples) ?? 0
        }
        return samples.contains { $0 > 0 } ? since : nil
    }

    private var formerLines: [String] {
        formerSince.map { ["new's figures are of before the rollback at \($0.shown(now: now)): nobody is on new"] }
            ?? []
    }

    /// Where users are on new and its samples are too few: the gate looks at legacy, and its value is not what new does.
    private var fewLines: [String] {
        guard (report.rollout?.percent ?? 0) > 0 else { return [] }
        return [("read_error_rate", "reads"), ("write_p95_seconds", "writes")].compactMap { name, noun in
            guard let metric = report.metrics?[name], metric.backend == "legacy",
                let new = metric.byBackend?["new"], let samples = new.samples, samples > 0,
                metric.value == metric.byBackend?["legacy"]?.value
            else { return nil }
            let figure = new.value.map { text($0, of: name) } ?? noValue
            return "\(title(name)) of new: \(figure) of \(grouped(samples)) \(noun) so far; the value is legacy's"
        }
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

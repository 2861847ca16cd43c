import ControlPlane

/// The dashboard that `cutover status` prints, made of a report and nothing else.
struct StatusText {
    let report: StatusReport
    /// Where the report came from.
    let url: String
    let now: Int64
    let console: Console

    var lines: [String] {
        var lines = [heading, ""]
        lines += rolloutLines
        lines += [""] + metricLines
        lines += [""] + backendLines
        if let parked = report.journal?.parked, parked > 0 {
            let text =
                "\(grouped(parked)) parked \(parked == 1 ? "leg waits" : "legs wait") for you: cutover journal --parked"
            lines += ["", console.coloured(text, .red)]
        }
        return lines
    }

    private var heading: String {
        let state = report.rollout?.state ?? noValue
        let colour: Colour =
            switch state {
            case "running", "complete": .green
            case "paused": .yellow
            default: .red
            }
        let shown = state.split(separator: "_").joined(separator: " ")
        let generation = report.rollout?.generation.map { "  generation \($0)" } ?? ""
        return console.coloured("Cutover", .bold) + " \(url)  " + console.coloured(printable(shown), colour)
            + generation
    }

    private var rolloutLines: [String] {
        let rollout = report.rollout
        let percent = rollout?.percent ?? 0
        let hasPlan = rollout?.stage != nil || rollout?.plan != nil
        var stage = hasPlan ? printable(rollout?.stage ?? noValue) : "none (there is no plan)"
        if let plan = rollout?.plan { stage += " of plan \(printable(plan))" }
        if let since = rollout?.since.flatMap({ Instant($0) }) {
            stage += ", since \(since.shown(now: now))"
            if now > since.seconds { stage += " (\(durationText(Double(now - since.seconds))))" }
        }
        return [
            label("stage") + stage,
            label("percent") + bar(percent) + " \(percentText(percent)) % of users on new",
            label("writes") + writesText,
            label("shadow") + shadowText,
        ] + catchUpLines
    }

    private var writesText: String {
        let rollout = report.rollout
        func shown(_ instant: String?) -> String? { instant.flatMap { Instant($0) }?.shown(now: now) }
        if rollout?.legacyWrites == false {
            let since = shown(rollout?.legacyUnwrittenSince).map { " since \($0)" } ?? ""
            return console.coloured("to new only: legacy is not written\(since)", .yellow)
        }
        let end = shown(rollout?.keepEndsAt).map { ", legacy until \($0)" } ?? ""
        return (rollout?.dualWrite ?? true) ? "to both backends" + end : "to the user's side only"
    }

    /// After a rollback, and while legacy is given what it lacks.
    private var catchUpLines: [String] {
        if let missing = report.journal?.missing?["legacy"], missing > 0 {
            return [
                label("legacy")
                    + console.coloured("lacks \(changesText(missing)): cutover reverse-sync follows", .yellow)
            ]
        }
        if let at = (report.journal?.caughtUpAt?["legacy"] ?? nil).flatMap({ Instant($0) }) {
            return [label("legacy") + "is caught up since \(at.shown(now: now))"]
        }
        return []
    }

    private var shadowText: String {
        let share = report.rollout?.shadowPercent.map { "\(percentText($0)) % of users" } ?? noValue
        guard let shadow = report.shadow else { return share }
        let mismatched = shadow.mismatched ?? 0
        let difference = "\(grouped(mismatched)) mismatched"
        return share + ": \(grouped(shadow.compared ?? 0)) compared, \(grouped(shadow.matched ?? 0)) matched, "
            + (mismatched > 0 ? console.coloured(difference, .red) : difference)
            + ", \(grouped(shadow.transient ?? 0)) transient, \(grouped(shadow.dropped ?? 0)) dropped"
    }

    private func label(_ name: String) -> String { console.coloured(padded(name, to: 9), .dim) }

    private func bar(_ percent: Double) -> String {
        let width = 20
        // Whoever is on new shows, and the bar is full only when everybody is.
        var filled = Int(percent / 100 * Double(width))
        if percent > 0 { filled = max(1, filled) }
        filled = min(max(0, filled), width)
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    private static let mainMetrics = ["read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate"]

    private var metricLines: [String] {
        let metrics = report.metrics ?? [:]
        let others = metrics.keys.filter { !Self.mainMetrics.contains($0) }.sorted()
        let names = Self.mainMetrics + others
        let hasBoth = metrics.values.contains { $0.byBackend != nil }
        var table = Table(
            [("metric", .left), ("value", .right)] + (hasBoth ? [("legacy", .right), ("new", .right)] : [])
                + [("gate", .right), ("samples", .right), ("verdict", .left)])
        for name in names {
            let metric = metrics[name]
            func figure(_ value: Double?) -> Cell { Cell(value.map { text($0, of: name) } ?? noValue) }
            var row = [Cell(title(name)), figure(metric?.value)]
            if hasBoth {
                row += [figure(metric?.byBackend?["legacy"]?.value), figure(metric?.byBackend?["new"]?.value)]
            }
            row += [figure(metric?.threshold), Cell(metric?.samples.map(grouped) ?? noValue)]
            // Without a threshold there is nothing to pass or to fail.
            row.append(verdict(metric?.threshold == nil ? nil : metric?.verdict))
            table.rows.append(row)
        }
        return table.lines(console)
    }

    private func title(_ name: String) -> String {
        let base = name.hasSuffix("_seconds") ? String(name.dropLast("_seconds".count)) : name
        return base.split(separator: "_").joined(separator: " ")
    }

    private func text(_ value: Double, of name: String) -> String {
        name.hasSuffix("_seconds") || name == "journal_lag" ? durationText(value) : ratioText(value)
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

    private var backendLines: [String] {
        var table = Table([("backend", .left), ("health", .left), ("writes pending", .right), ("oldest", .right)])
        for side in ["legacy", "new"] {
            let healthy = report.backends?[side]?.healthy
            let pending = report.journal?.pending?[side]
            let oldest = report.journal?.oldestPendingSeconds?[side]
            table.rows.append([
                Cell(side), healthy.map { $0 ? Cell("up", .green) : Cell("down", .red) } ?? Cell(noValue),
                Cell(pending.map(grouped) ?? noValue),
                Cell(pending == 0 ? noValue : oldest.map(durationText) ?? noValue),
            ])
        }
        return table.lines(console) + ["legacy", "new"].compactMap(catchUpLine)
    }

    /// Said only where something is outstanding.
    private func catchUpLine(_ side: String) -> String? {
        guard let pending = report.journal?.pending?[side], pending > 0, let catchUp = report.journal?.catchUp?[side]
        else { return nil }
        let rate = catchUp.rate.map { "\(grouped(Int($0.rounded()))) writes a second" } ?? noValue
        let rest = catchUp.seconds.map { "done in about \(durationText($0))" } ?? "not becoming fewer"
        return "\(side) catches up: \(rate), \(rest)"
    }
}

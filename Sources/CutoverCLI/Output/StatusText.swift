import ControlPlane

/// The dashboard that `cutover status` prints, made of a report and nothing else. What a person decides by comes first: 24 lines of
/// 80 columns hold it.
struct StatusText {
    let report: StatusReport
    /// Where the report came from.
    let url: String
    let now: Int64
    let console: Console

    /// The longest line of sentences.
    private static let width = 80
    private static let labelWidth = 9

    var lines: [String] {
        var lines = [heading, ""]
        lines += rolloutLines + nextLines + attentionLines
        lines += [""] + FigureTable(report: report, console: console).lines
        lines += [""] + backendLines
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

    // MARK: Where the rollout is

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
        let why = rollout?.stateReason.map { sentence("why", $0, .red) } ?? []
        return [label("stage") + stage] + why + [
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
        // What is rare is said when it happens.
        let rare = [("transient", shadow.transient ?? 0), ("dropped", shadow.dropped ?? 0)].filter { $0.1 > 0 }
        return share + ": \(grouped(shadow.compared ?? 0)) compared, "
            + (mismatched > 0 ? console.coloured(difference, .red) : difference)
            + rare.map { ", \(grouped($0.1)) \($0.0)" }.joined()
    }

    // MARK: What comes next

    private var nextLines: [String] {
        guard let next = report.next, let stage = next.stage else { return [] }
        var text = printable(stage) + (next.percent.map { " (\(percentText($0)) %)" } ?? "")
        text += next.mode == "automatic" ? ", by itself" : ", by `cutover promote`"
        if let hold = next.holdSeconds, hold > 0 {
            // What is left of the hold is not rounded up to all of it.
            text += "; held \(durationText(min(next.heldSeconds ?? 0, hold))) of \(durationText(hold))"
            if let idle = next.idleSeconds, idle >= 60 { text += ", \(durationText(idle)) without traffic not counted" }
        }
        if next.ready == true {
            let waiting = next.waitingSeconds.flatMap { $0 >= 1 ? " for \(durationText($0))" : nil } ?? ""
            let ready = next.mode == "automatic" ? "ready" : "ready\(waiting)"
            return sentence("next", "\(ready): \(text)", .green)
        }
        return sentence("next", text, nil) + blockers(next.blockedBy ?? [])
    }

    /// The first ones, a line or two each: who mends those sees the others.
    private func blockers(_ reasons: [String]) -> [String] {
        let shown = reasons.prefix(3).flatMap { sentence("", "waits: \($0)", .yellow) }
        let more = reasons.count - 3
        return shown + (more > 0 ? sentence("", "and \(more) more", .yellow) : [])
    }

    // MARK: What wants somebody

    private var attentionLines: [String] {
        var lines: [String] = []
        let blockers = (report.next?.blockedBy ?? []).joined()
        for gate in report.gates ?? [] where gate.verdict == "fail" {
            let name = printable(gate.name ?? noValue)
            // Said once: among what holds the next step, or here.
            if blockers.contains(name) { continue }
            lines += sentence("gate", "\(name) fails" + (gate.reason.map { ": \($0)" } ?? ""), .red)
        }
        for reason in (report.rollout?.keepWaits ?? []).prefix(3) {
            lines += sentence("keep", "has ended, legacy is still written: \(reason)", .yellow)
        }
        if let parked = report.journal?.parked, parked > 0 {
            let text =
                "\(grouped(parked)) parked \(parked == 1 ? "leg waits" : "legs wait") for you: cutover journal --parked"
            lines += sentence("journal", text, .red)
        }
        if let waiting = report.alerts?.waiting, waiting > 0 {
            let text =
                "\(grouped(waiting)) \(waiting == 1 ? "waits" : "wait") for \(report.alerts?.receiver ?? noValue)"
            lines += sentence("alerts", text, .yellow)
        }
        return lines
    }

    // MARK: Pieces

    private func label(_ name: String) -> String { console.coloured(padded(name, to: Self.labelWidth), .dim) }

    /// A sentence behind its label, on as many lines as it needs, two at most.
    private func sentence(_ name: String, _ text: String, _ colour: Colour?) -> [String] {
        wrapped(printable(text), width: Self.width - Self.labelWidth, lines: 2).enumerated().map { index, line in
            label(index == 0 ? name : "") + (colour.map { console.coloured(line, $0) } ?? line)
        }
    }

    private func bar(_ percent: Double) -> String {
        let width = 20
        // Whoever is on new shows, and the bar is full only when everybody is.
        var filled = Int(percent / 100 * Double(width))
        if percent > 0 { filled = max(1, filled) }
        filled = min(max(0, filled), width)
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
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

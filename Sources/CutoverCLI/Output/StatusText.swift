import ControlPlane
import Values

/// The dashboard that `cutover status` prints, made of a report and nothing else. What a person decides by comes first: 24 lines of
/// 80 columns hold it, and the backends.
struct StatusText {
    let report: StatusReport
    /// Where the report came from.
    let url: String
    let now: Int64
    let console: Console
    /// Characters of a line of the terminal; nil where nobody knows.
    let columns: Int?
    /// The longest line of sentences.
    private let width: Int

    init(report: StatusReport, url: String, now: Int64, console: Console) {
        self.report = report
        self.url = url
        self.now = now
        self.console = console
        columns = console.columns()
        // Narrower than this no sentence can be read in any case.
        width = max(Self.labelWidth + 16, min(80, columns ?? 80))
    }

    private static let labelWidth = 9

    /// - Parameter limit: lines that fit; nil is all of them.
    func lines(limit: Int? = nil) -> [String] { fittingLines(blocks, limit: limit) }

    private var blocks: [Block] {
        let figures = FigureTable(report: report, now: now, console: console, columns: columns)
        let gap = Block(.ornament, [""])
        return [Block(.essential, [heading]), gap] + rolloutBlocks + nextBlocks + attentionBlocks + [gap]
            + figures.blocks + [gap] + backendBlocks
    }

    private var heading: String {
        let state = report.rollout?.state ?? noValue
        let colour: Colour =
            switch state {
            case "running", "complete": .green
            case "paused": .yellow
            default: .red
            }
        let shown = printable(state.split(separator: "_").joined(separator: " "))
        let generation = report.rollout?.generation.map { "  generation \($0)" } ?? ""
        let fits = "Cutover \(url)  \(shown)\(generation)".count <= columns ?? .max
        return console.coloured("Cutover", .bold) + (fits ? " \(url)" : "") + "  " + console.coloured(shown, colour)
            + generation
    }

    // MARK: Where the rollout is

    private var rolloutBlocks: [Block] {
        let rollout = report.rollout
        let percent = rollout?.percent ?? 0
        var stage = hasPlan ? rollout?.stage ?? noValue : "none (there is no plan)"
        if let plan = rollout?.plan { stage += " of plan \(plan)" }
        if let since = rollout?.since.flatMap({ Instant($0) }) {
            stage += ", since \(since.shown(now: now))"
            if now > since.seconds { stage += " (\(durationText(Double(now - since.seconds))))" }
        }
        let share = "\(percentText(percent)) % of users on new"
        let barred = bar(percent) + " " + share
        let fits = Self.labelWidth + barred.count <= columns ?? .max
        return [
            Block(.essential, sentence("stage", stage, nil)), Block(.essential, whyLines),
            Block(percent == 0 ? .ornament : .essential, [label("percent") + (fits ? barred : share)]),
            writesBlock, shadowBlock,
        ] + catchUpBlocks
    }

    private var hasPlan: Bool { report.rollout?.stage != nil || report.rollout?.plan != nil }

    /// Why it is not running, and since when: not since when its stage is in force, which may be days before.
    private var whyLines: [String] {
        let rollout = report.rollout
        let since = rollout?.stateSince.flatMap { Instant($0) }?.shown(now: now)
        guard let reason = rollout?.stateReason else {
            guard let since, ["paused", "rolled_back"].contains(rollout?.state ?? "") else { return [] }
            return [label("since") + since]
        }
        return sentence("why", (since.map { "at \($0): " } ?? "") + reason, .red)
    }

    private var writesBlock: Block {
        let rollout = report.rollout
        func shown(_ instant: String?) -> String? { instant.flatMap { Instant($0) }?.shown(now: now) }
        if rollout?.legacyWrites == false {
            let since = shown(rollout?.legacyUnwrittenSince).map { " since \($0)" } ?? ""
            return Block(.essential, sentence("writes", "to new only: legacy is not written\(since)", .yellow))
        }
        let end = shown(rollout?.keepEndsAt).map { ", legacy until \($0)" } ?? ""
        return (rollout?.dualWrite ?? true)
            ? Block(.usual, sentence("writes", "to both backends" + end, nil))
            : Block(.essential, sentence("writes", "to the user's side only", nil))
    }

    /// After a rollback, and while legacy is given what it lacks.
    private var catchUpBlocks: [Block] {
        if let missing = report.journal?.missing?["legacy"], missing > 0 {
            let text = "lacks \(changesText(missing)): cutover reverse-sync follows"
            return [Block(.essential, sentence("legacy", text, .yellow))]
        }
        if let at = (report.journal?.caughtUpAt?["legacy"] ?? nil).flatMap({ Instant($0) }) {
            return [Block(.usual, sentence("legacy", "is caught up since \(at.shown(now: now))", nil))]
        }
        return []
    }

    private var shadowBlock: Block {
        let share = report.rollout?.shadowPercent.map { "\(percentText($0)) % of users" } ?? noValue
        guard let shadow = report.shadow else { return Block(.usual, sentence("shadow", share, nil)) }
        // What is rare is said when it happens.
        let rare = [
            ("failed on new", shadow.errors ?? 0), ("transient", shadow.transient ?? 0),
            ("dropped", shadow.dropped ?? 0),
        ].filter { $0.1 > 0 }
        let begin = share + ": \(grouped(shadow.compared ?? 0)) compared, "
        let difference = "\(grouped(shadow.mismatched ?? 0)) mismatched"
        let end = rare.map { ", \(grouped($0.1)) \($0.0)" }.joined()
        let isBad = (shadow.mismatched ?? 0) > 0 || (shadow.errors ?? 0) > 0
        let isIdle = report.rollout?.shadowPercent == 0 && !isBad
        guard Self.labelWidth + (begin + difference + end).count <= width else {
            return Block(.essential, sentence("shadow", begin + difference + end, isBad ? .red : nil))
        }
        let coloured = (shadow.mismatched ?? 0) > 0 ? console.coloured(difference, .red) : difference
        return Block(isIdle ? .ornament : .essential, [label("shadow") + begin + coloured + end])
    }

    // MARK: What comes next

    private var nextBlocks: [Block] {
        guard let next = report.next, let stage = next.stage else { return [] }
        let isRolledBack = report.rollout?.state == "rolled_back"
        var text = stage + (next.percent.map { " (\(percentText($0)) %)" } ?? "")
        text += howItComes(next)
        // After a rollback a hold says nothing: whoever starts again does not wait for it.
        if let hold = next.holdSeconds, hold > 0, !isRolledBack {
            // What is left of the hold is not rounded up to all of it.
            text += "; held \(durationText(min(next.heldSeconds ?? 0, hold))) of \(durationText(hold))"
            if let idle = next.idleSeconds, idle >= 60 { text += ", \(durationText(idle)) without traffic not counted" }
        }
        if next.ready == true {
            let waiting = next.waitingSeconds.flatMap { $0 >= 1 ? " for \(durationText($0))" : nil } ?? ""
            let ready = next.mode == "automatic" ? "ready" : "ready\(waiting)"
            return [Block(.essential, sentence("next", "\(ready): \(text)", .green))]
        }
        let reasons = next.blockedBy ?? []
        return [Block(.essential, sentence("next", text, nil))]
            + blockers(isRolledBack ? reasons.filter { !$0.contains("cannot say yet") } : reasons)
    }

    /// By whom the step is made: what is asked first at night.
    private func howItComes(_ next: NextReport) -> String {
        let isAutomatic = next.mode == "automatic"
        return switch report.rollout?.state {
        case "paused": isAutomatic ? ", not by itself while paused" : ", by `cutover promote`"
        case "rolled_back": ", by `cutover promote`"
        default: isAutomatic ? ", by itself" : ", by `cutover promote`"
        }
    }

    /// The first ones, a line or two each: who mends those sees the others.
    private func blockers(_ reasons: [String]) -> [Block] {
        let shown = reasons.prefix(3).enumerated().map { index, reason in
            Block(index == 0 ? .essential : .further, sentence("", "waits: \(reason)", .yellow))
        }
        let more = reasons.count - 3
        return shown + (more > 0 ? [Block(.further, sentence("", "and \(more) more", .yellow))] : [])
    }

    // MARK: What wants somebody

    private var attentionBlocks: [Block] {
        var lines: [[String]] = []
        let blockers = (report.next?.blockedBy ?? []).joined()
        for gate in report.gates ?? [] where gate.verdict == "fail" {
            let name = gate.name ?? noValue
            // Said once: among what holds the next step, or here.
            if blockers.contains(name) { continue }
            lines.append(sentence("gate", "\(name) fails" + (gate.reason.map { ": \($0)" } ?? ""), .red))
        }
        for reason in (report.rollout?.keepWaits ?? []).prefix(3) {
            lines.append(sentence("keep", "has ended, legacy is still written: \(reason)", .yellow))
        }
        if let parked = report.journal?.parked, parked > 0 {
            let text =
                "\(grouped(parked)) parked \(parked == 1 ? "leg waits" : "legs wait") for you: cutover journal --parked"
            lines.append(sentence("journal", text, .red))
        }
        if let waiting = report.alerts?.waiting, waiting > 0 {
            let text =
                "\(grouped(waiting)) \(waiting == 1 ? "waits" : "wait") for \(report.alerts?.receiver ?? noValue)"
            lines.append(sentence("alerts", text, .yellow))
        }
        return lines.map { Block(.essential, $0) }
    }

    // MARK: Pieces

    private func label(_ name: String) -> String { console.coloured(padded(name, to: Self.labelWidth), .dim) }

    /// A sentence behind its label, on as many lines as it needs: two at most, on a narrow terminal more.
    private func sentence(_ name: String, _ text: String, _ colour: Colour?) -> [String] {
        let limit = width < 60 ? 4 : 2
        return wrapped(printable(text), width: width - Self.labelWidth, lines: limit).enumerated().map { index, line in
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

    private var backendBlocks: [Block] {
        var table = Table([("backend", .left), ("health", .left), ("writes pending", .right), ("oldest", .right)])
        table.dispensable = ["oldest"]
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
        return [Block(.backend, table.lines(console, width: columns))]
            + ["legacy", "new"].compactMap(catchUpLine).map { Block(.detail, wrapped($0, width: width, lines: 2)) }
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

import Gateway
import Values

extension Narrator {
    func opening(_ scenery: Scenery, users: Int, records: Int, rate: Int, windowSeconds: Int) {
        line(coloured("A service moves from its legacy backend to a new one.", .bold))
        line()
        line("  legacy   \(scenery.legacy.url)  \(grouped(records)) records on SQLite")
        line("  new      \(scenery.new.url)  the same records, as a backfill would leave them")
        line("  gateway  \(scenery.gatewayURL)  one journal for both, in \(scenery.directory)/data")
        line("  admin    \(scenery.adminURL)")
        line(
            "  clients  \(grouped(users)) users, \(counted(Traffic.threads, "connection")), up to \(grouped(rate)) requests a second:"
        )
        line("           reads, lists, writes, deletes; every read is held against what was acknowledged before")
        line()
        line("An operator decides by four figures: read error rate, write p95, conflict rate, fallback rate.")
        line("They are those of the last \(counted(windowSeconds, "second")) of each stage; compared are shadow reads.")
        line()
        heading()
    }

    func refused(_ stage: StageReport) {
        if stage.refusals.isEmpty { return }
        remark(["The gates held the step to \(stage.name) back for \(duration(stage.waitedSeconds)):"] + stage.refusals)
    }

    func secondDevice(_ report: SecondDeviceReport) {
        let refreshed = report.refreshedRevision.map { String($0) } ?? noValue
        func member(_ value: Int64?) -> String { value.map { String($0) } ?? "null" }
        remark([
            "The phone of \(report.user) wrote revision \(report.acknowledgedRevision); the tablet, which had not heard of it,"
                + " wrote \(report.sentRevision). The gateway answered",
            "\(report.status) {\"current_revision\":\(member(report.currentRevision)),"
                + "\"received_revision\":\(member(report.receivedRevision)),\"action\":\(report.action.map(jsonString) ?? "null")}.",
            "The tablet refreshed (revision \(refreshed)), wrote revision \(report.retriedRevision), and was answered"
                + " \(report.retriedStatus).",
        ])
    }

    func outage(_ report: OutageReport) {
        remark([
            "New was stopped for \(duration(report.seconds)) under load: \(counted(report.requests, "request")), "
                + counted(report.clientErrors, "client error") + ".",
            "The read errors are new's: \(counted(report.fallbacks, "request")) fell back to legacy, and the breaker kept"
                + " \(grouped(report.breakerOpen)) more away from new.",
            "At most \(counted(report.pendingPeak, "write")) waited in the journal for new;"
                + " \(duration(report.drainSeconds)) after it was back it had them all.",
        ])
    }

    func rollback(_ report: RollbackReport) {
        let after =
            report.answersByNew == 0
            ? "new answered nothing after it."
            : "new answered \(counted(report.answersByNew, "request")) after it (under way, or still ahead of legacy)."
        remark([
            "One command went back from \(percent(report.fromPercent)) to \(percent(report.toPercent)) in"
                + " \(duration(report.seconds)); \(after)",
            "Both backends were written all the time, so nothing has to be copied back.",
        ])
    }

    func closing(_ report: DemoReport) {
        line()
        if let comparison = report.comparison {
            result(
                "\(counted(comparison.records, "record")) compared, \(grouped(comparison.different)) differ",
                "on both backends, \(counted(comparison.tombstones, "tombstone")) among them", comparison.different == 0
            )
            for example in comparison.examples { line("    \(example)") }
            result(
                "acknowledged records lost: \(grouped(comparison.lost))",
                "\(counted(report.writes, "write")), \(grouped(report.replayedAnswers)) of them repeats that the journal"
                    + " answered", comparison.lost == 0)
        }
        result(
            "client errors: \(grouped(report.clientErrors))",
            "\(counted(report.requests, "request")) in \(duration(report.seconds)); reads older than acknowledged:"
                + " \(grouped(report.staleReads))", report.clientErrors == 0)
        for complaint in report.complaints { line("    \(complaint)") }
        result("parked legs: \(grouped(report.parkedLegs))", "writes that wait for an operator", report.parkedLegs == 0)
        line()
        if report.isAsPromised {
            line(coloured("Everything was as promised.", .green))
        } else {
            line(coloured("Not everything was as promised.", .red))
        }
    }

    private func result(_ finding: String, _ detail: String, _ isGood: Bool) {
        let mark = isGood ? coloured("✓", .green) : coloured("✗", .red)
        let gap = String(repeating: " ", count: max(0, 34 - finding.count))
        line("  \(mark) \(finding)\(gap)  \(coloured(detail, .dim))")
    }

    func whereNext(_ scenery: Scenery, stays: Bool) {
        line()
        if stays {
            line("Everything goes on until you press Ctrl-C. Where to look:")
            line("  overview         \(scenery.adminURL)/")
            line("  metrics          \(scenery.adminURL)/metrics")
            line("  command line     cutover status --admin \(scenery.adminURL)")
            line("                   cutover explain \(SecondDevice.user) --admin \(scenery.adminURL)")
            line(
                "                   cutover set-percent 25 --admin \(scenery.adminURL) --data \(scenery.directory)/data"
            )
        } else {
            line("Where to look next:")
            line("  cutover demo --stay    keeps all of it running, with its overview at \(scenery.adminURL)/")
            line("  cutover serve --help   the gateway in front of your own backends")
            line("  docs/configuration.md  every key of the configuration and the plan")
            line("  rollout/staged.yaml    the plan to start from")
        }
    }
}

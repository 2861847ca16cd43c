import ControlPlane

/// Follows a run of a reverse sync to its end, and says what came of it.
struct ReverseSyncFollower {
    let client: ControlClient
    let invocation: Invocation
    private var progress: ProgressText
    /// The last answer, for `--json`.
    private var answer = ""

    init(client: ControlClient, invocation: Invocation) {
        self.client = client
        self.invocation = invocation
        progress = ProgressText(console: invocation.console)
    }

    /// Shows how far the run is until it ends.
    mutating func follow(run: Int?) throws -> SyncReport {
        while true {
            let answer = try client.get("reverse-sync")
            let report = try answer.decode(SyncReport.self)
            self.answer = answer.text
            // Another number is another run: the gateway was started anew, and knows nothing of this one.
            guard report.run == run, report.phase != "idle" else {
                throw CommandFailure("the gateway has started anew meanwhile; run reverse-sync again, it does the rest")
            }
            guard report.isRunning else { return report }
            if !invocation.wantsJSON { progress.show(line(report)) }
            guard invocation.surroundings.pause(invocation.followMilliseconds), !invocation.console.outputFailed else {
                throw CommandFailure("it goes on without you; run reverse-sync again to follow it")
            }
        }
    }

    private func line(_ report: SyncReport) -> String {
        let (done, total) = (report.done ?? 0, report.total ?? 0)
        switch report.phase {
        case "counting": return "counting what legacy lacks"
        case "verifying":
            let found = report.verification
            let different = found?.different ?? 0
            return "comparing: \(grouped(found?.records ?? 0)) records, \(grouped(found?.equal ?? 0)) equal"
                + (different > 0 ? ", \(grouped(different)) different" : "")
        default:
            let share = total > 0 ? " (\(done * 100 / total) %)" : ""
            let left = report.secondsLeft.map { ", \(durationText($0)) left" } ?? ""
            return "sending \(grouped(done)) of \(changesText(total))\(share), "
                + "\(grouped(Int(report.rate ?? 0))) a second\(done < total ? left : "")"
        }
    }

    /// Prints what came of a run, and says how the command ends.
    func finish(_ report: SyncReport) throws -> Int32 {
        if let failure = report.failure {
            throw CommandFailure("the reverse sync did not come to its end: \(printable(failure))", json: answer)
        }
        let console = invocation.console
        guard !invocation.wantsJSON else {
            console.print(answer)
            return report.clean == false ? ExitStatus.refused : ExitStatus.done
        }
        let (done, rate) = (report.done ?? 0, report.rate ?? 0)
        let time = rate > 0 ? " in \(durationText(Double(done) / rate))" : ""
        console.print(done == 0 ? "legacy lacked nothing" : "\(changesText(done)) brought to legacy\(time)")
        if let parked = report.parked, parked > 0 {
            let seqs = (report.parkedSeqs ?? []).prefix(10).map(String.init).joined(separator: ", ")
            let more = parked > 10 ? ", …" : ""
            console.print(
                console.coloured(
                    "legacy refused \(changesText(parked)): \(seqs)\(more) (cutover journal --parked)", .red))
        }
        if let found = report.verification {
            let records = found.records ?? 0
            console.print(
                "\(records == 1 ? "1 record" : "\(grouped(records)) records") compared: "
                    + "\(grouped(found.equal ?? 0)) equal, \(grouped(found.different ?? 0)) different, "
                    + "\(grouped(found.unverifiable ?? 0)) unverifiable"
                    + ((found.inFlight ?? 0) > 0 ? ", \(grouped(found.inFlight ?? 0)) in flight" : ""))
        }
        if let differences = report.differences, !differences.isEmpty {
            var table = Table([
                ("seq", .right), ("legacy", .right), ("new", .right), ("target", .left), ("paths", .left),
            ])
            for difference in differences {
                table.rows.append([
                    Cell(difference.seq.map(String.init) ?? noValue),
                    Cell(difference.legacy?.status.map(String.init) ?? noValue),
                    Cell(difference.new?.status.map(String.init) ?? noValue),
                    Cell(printable(difference.target ?? noValue)),
                    Cell(
                        (difference.paths ?? []).map { $0.isEmpty ? "(whole)" : printable($0) }.joined(separator: " ")),
                ])
            }
            console.print(table.lines(console).joined(separator: "\n"))
        }
        return report.clean == false ? ExitStatus.refused : ExitStatus.done
    }
}

internal import CLinux
internal import Synchronization

/// The story of a migration, from shadow reads to the way back. Runs on one thread; clients and servers have their own.
final class Story {
    private let options: DemoOptions
    private let narrator: Narrator
    private let scenery: Scenery
    private let operations: Operator
    private let tally = Tally()
    private let run: String
    private let rate: Int
    private var users: [SampleUser]
    private var traffic: Traffic?
    private var report = DemoReport()

    /// Starts both backends and the gateway.
    init(options: DemoOptions, directory: String, narrator: Narrator) throws(DemoFailure) {
        self.options = options
        self.narrator = narrator
        run = String(UInt64(clinux_wall_milliseconds()), radix: 36)
        rate = options.rate ?? options.users
        var random = SeededGenerator(seed: 1)
        let histories = SampleData.users(options.users).map { ($0, SampleData.history(of: $0, &random)) }
        users = histories.map { SampleUser(id: $0.0, history: $0.1) }
        let history = histories.flatMap(\.1) + [SecondDevice.history()]
        narrator.progress("starting backends and gateway")
        scenery = try Scenery(directory: directory, history: history, windowSeconds: options.windowSeconds)
        operations = try Operator(url: scenery.adminURL, token: scenery.adminToken)
        report.users = options.users
        report.adminURL = scenery.adminURL
        narrator.opening(
            scenery, users: options.users, records: history.count, rate: rate, windowSeconds: options.windowSeconds)
    }

    /// Ends everything.
    func finish() {
        _ = traffic?.stop()
        narrator.progress("stopping")
        scenery.stop()
        narrator.clearProgress()
    }

    // MARK: The story

    func tell() throws(DemoFailure) -> DemoReport {
        let started = clinux_monotonic_nanoseconds()
        traffic = try startTraffic(seed: 1)
        try watch("shadow")
        try watch("canary")
        try watch("early") { () throws(DemoFailure) in
            report.secondDevice = try SecondDevice.play(SyncClient(url: scenery.gatewayURL), run: run)
        }
        report.secondDevice.map(narrator.secondDevice)
        try watch("half")
        try outage()
        try watch("full")
        try rollBack()
        try settle()
        report.seconds = seconds(since: started)
        narrator.closing(report)
        return report
    }

    /// Goes on with quiet traffic until Ctrl-C.
    func stay() throws(DemoFailure) {
        narrator.whereNext(scenery, stays: options.stays)
        guard options.stays else { return }
        traffic = try startTraffic(seed: 2)
        while !Interruption.isWanted {
            usleep(500_000)
            let counts = tally.counts
            narrator.progress("\(grouped(counts.requests)) requests, \(counted(counts.errors, "client error"))")
        }
        narrator.clearProgress()
    }

    private func startTraffic(seed: UInt64) throws(DemoFailure) -> Traffic {
        try Traffic(
            users: users, gateway: scenery.gatewayURL, tally: tally, rate: rate, run: "\(run)\(seed)", seed: seed)
    }

    /// Steps to a stage and looks at it for a while; `event` happens half-way.
    private func watch(_ name: String, event: () throws(DemoFailure) -> Void = {}) throws(DemoFailure) {
        let (refusals, waited) = try step(to: name)
        let mark = try mark()
        try wait(options.stageSeconds / 2, name)
        try event()
        try wait(options.stageSeconds / 2, name)
        var stage = try row(name, since: mark)
        stage.refusals = refusals
        stage.waitedSeconds = waited
        report.stages.append(stage)
        narrator.refused(stage)
        narrator.stage(stage, users: report.users)
    }

    /// Where the counters stand when a stage begins.
    private func mark() throws(DemoFailure) -> (counts: Counts, status: Status) {
        tally.forgetUsers()
        return (tally.counts, try operations.status())
    }

    /// What a stage came to.
    private func row(_ name: String, since mark: (counts: Counts, status: Status)) throws(DemoFailure) -> StageReport {
        let status = try operations.status()
        return StageReport(
            name: name, percent: status.percent, usersOnNew: tally.usersOnNew,
            requests: tally.counts.since(mark.counts).requests, figures: status.figures,
            compared: status.compared - mark.status.compared, mismatched: status.mismatched - mark.status.mismatched)
    }

    /// Asks for a stage until the gates let it pass.
    private func step(to name: String) throws(DemoFailure) -> (refusals: [String], waited: Double) {
        let started = clinux_monotonic_nanoseconds()
        var refusals: [String] = []
        while let reasons = try operations.promote(to: name) {
            if refusals.isEmpty { refusals = reasons }
            if seconds(since: started) > 60 {
                throw DemoFailure(
                    "the step to \(name) is still refused after a minute: \(reasons.joined(separator: "; "))")
            }
            try wait(0.5, "the gates hold the step to \(name) back")
        }
        return (refusals, refusals.isEmpty ? 0 : seconds(since: started))
    }

    private func outage() throws(DemoFailure) {
        let mark = try mark()
        let stopped = clinux_monotonic_nanoseconds()
        scenery.new.stop()
        var peak = 0
        while seconds(since: stopped) < options.outageSeconds {
            try wait(0.2, "new is stopped")
            peak = max(peak, try operations.status().pending.new)
        }
        let row = try row("outage", since: mark)
        report.stages.append(row)
        narrator.stage(row, users: report.users)
        try scenery.new.start()
        let back = clinux_monotonic_nanoseconds()
        let away = Double(back - stopped) / 1e9
        // Under load there is always some leg under way: what counts is that none is older than new's return.
        var status = try operations.status()
        while status.pending.new > 0, status.oldestPendingSeconds.new > seconds(since: back) {
            if seconds(since: back) > 60 { throw DemoFailure("new has been back for a minute and still misses writes") }
            try wait(0.05, "new is back and catches up")
            status = try operations.status()
        }
        let drained = seconds(since: back)
        let seen = tally.counts.since(mark.counts)
        let outage = OutageReport(
            seconds: away, requests: seen.requests, clientErrors: seen.errors, fallbacks: seen.fallbacks,
            breakerOpen: seen.reasons["breaker-open"] ?? 0, pendingPeak: peak, drainSeconds: drained)
        report.outage = outage
        narrator.outage(outage)
    }

    private func rollBack() throws(DemoFailure) {
        let before = try operations.status().percent
        let started = clinux_monotonic_nanoseconds()
        try operations.rollBack()
        let took = seconds(since: started)
        let mark = try mark()
        try wait(options.stageSeconds, "rolled back")
        let row = try row("rollback", since: mark)
        let seen = tally.counts.since(mark.counts)
        let rollback = RollbackReport(
            seconds: took, fromPercent: before, toPercent: row.percent, answersByNew: seen.byNew)
        report.stages.append(row)
        report.rollback = rollback
        narrator.stage(row, users: report.users)
        narrator.rollback(rollback)
    }

    /// Ends the traffic, waits until both backends have everything, and compares them.
    private func settle() throws(DemoFailure) {
        users = traffic?.stop() ?? users
        traffic = nil
        let started = clinux_monotonic_nanoseconds()
        var status = try operations.status()
        while status.pending.legacy + status.pending.new > 0 {
            if seconds(since: started) > 60 {
                throw DemoFailure("a minute after the last write \(status.pending) legs are still pending")
            }
            try wait(0.1, "the last writes reach the other backend")
            status = try operations.status()
        }
        narrator.progress("comparing both backends record by record")
        var comparison = try RecordComparison(legacy: scenery.legacy.url, new: scenery.new.url)
        for user in users { try comparison.compare(user.id, known: user.records) }
        try comparison.compare(SecondDevice.user, known: [])
        report.comparison = comparison.report
        report.parkedLegs = status.parked
        let counts = tally.counts
        report.requests = counts.requests
        report.writes = counts.writes
        report.replayedAnswers = counts.replays
        report.clientErrors = counts.errors
        report.staleReads = counts.staleReads
        report.complaints = tally.complaints
    }

    // MARK: Time

    /// Waits, and shows how the clients fare meanwhile.
    private func wait(_ duration: Double, _ what: String) throws(DemoFailure) {
        let started = clinux_monotonic_nanoseconds()
        while true {
            if Interruption.isWanted { throw DemoFailure("interrupted") }
            let left = duration - seconds(since: started)
            if left <= 0 { return }
            let counts = tally.counts
            narrator.progress(
                "\(what)  \(grouped(counts.requests)) requests, \(counted(counts.errors, "client error"))"
                    + (duration > 1 ? ", \(fixed(left, places: 0)) s to go" : ""))
            usleep(UInt32(min(left, 0.1) * 1_000_000))
        }
    }

    private func seconds(since start: UInt64) -> Double { Double(clinux_monotonic_nanoseconds() - start) / 1e9 }
}

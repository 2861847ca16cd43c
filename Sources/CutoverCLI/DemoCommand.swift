import ControlPlane
import Demo
import Values

/// The flags of `cutover demo`.
let demoFlags: [Flag] = [
    .value("users", "N", "Users of the sample service (default 300)"),
    .value("rate", "N", "Requests a second of all clients together (default one a user)"),
    .toggle("fast", "Shorter stages: half a minute instead of more than one"),
    .toggle("keep", "Leave the data directory and the backends' files behind"),
    .toggle("stay", "Keep everything running afterwards, until you press Ctrl-C"),
]

/// `cutover demo`: two sample backends, the gateway and traffic, through a whole rollout.
///
/// Ends with 1 when anything was not as promised: a client error, a record that differs, a lost write.
func demo(_ invocation: Invocation) throws -> Int32 {
    var options = DemoOptions()
    options.users = try invocation.integer("users", in: 10...5000) ?? options.users
    options.rate = try invocation.integer("rate", in: 10...100_000)
    options.isFast = invocation.isSet("fast")
    options.keepsFiles = invocation.isSet("keep")
    options.stays = invocation.isSet("stay")
    let console = invocation.console
    let isSilent = invocation.wantsJSON
    let output = DemoOutput(isTerminal: console.isTerminal && !isSilent, hasColour: console.hasColour) { text in
        if !isSilent { console.write(text) }
    }
    do throws(DemoFailure) {
        let report = try runDemo(options, output: output)
        if invocation.wantsJSON { console.print(reportJSON(report).text) }
        return report.isAsPromised ? ExitStatus.done : ExitStatus.refused
    } catch {
        throw CommandFailure(error.message)
    }
}

private func reportJSON(_ report: DemoReport) -> JSONValue {
    .object([
        ("as_promised", .bool(report.isAsPromised)), ("users", integer(report.users)),
        ("stages", .array(report.stages.map(stageJSON))),
        ("second_device", report.secondDevice.map(secondDeviceJSON) ?? .null),
        ("outage", report.outage.map(outageJSON) ?? .null),
        ("rollback", report.rollback.map(rollbackJSON) ?? .null),
        ("comparison", report.comparison.map(comparisonJSON) ?? .null),
        ("requests", integer(report.requests)), ("writes", integer(report.writes)),
        ("replayed_answers", integer(report.replayedAnswers)), ("client_errors", integer(report.clientErrors)),
        ("stale_reads", integer(report.staleReads)), ("complaints", .array(report.complaints.map { .string($0) })),
        ("parked_legs", integer(report.parkedLegs)), ("duration_seconds", number(report.seconds)),
    ])
}

private func stageJSON(_ stage: StageReport) -> JSONValue {
    .object([
        ("stage", .string(stage.name)), ("percent", number(stage.percent)), ("users_on_new", integer(stage.usersOnNew)),
        ("requests", integer(stage.requests)), ("read_error_rate", number(stage.figures.readErrorRate)),
        ("write_p95_seconds", number(stage.figures.writeP95Seconds)),
        ("conflict_rate", number(stage.figures.conflictRate)), ("fallback_rate", number(stage.figures.fallbackRate)),
        ("shadow_compared", integer(stage.compared)), ("shadow_mismatched", integer(stage.mismatched)),
        ("refusals", .array(stage.refusals.map { .string($0) })), ("waited_seconds", number(stage.waitedSeconds)),
    ])
}

private func secondDeviceJSON(_ report: SecondDeviceReport) -> JSONValue {
    .object([
        ("user", .string(report.user)), ("acknowledged_revision", integer(report.acknowledgedRevision)),
        ("sent_revision", integer(report.sentRevision)), ("status", integer(report.status)),
        ("current_revision", integer(report.currentRevision)), ("received_revision", integer(report.receivedRevision)),
        ("action", report.action.map { .string($0) } ?? .null),
        ("refreshed_revision", integer(report.refreshedRevision)),
        ("retried_revision", integer(report.retriedRevision)), ("retried_status", integer(report.retriedStatus)),
    ])
}

private func outageJSON(_ report: OutageReport) -> JSONValue {
    .object([
        ("duration_seconds", number(report.seconds)), ("requests", integer(report.requests)),
        ("client_errors", integer(report.clientErrors)), ("fallbacks", integer(report.fallbacks)),
        ("breaker_open", integer(report.breakerOpen)), ("pending_peak", integer(report.pendingPeak)),
        ("drain_seconds", number(report.drainSeconds)),
    ])
}

private func rollbackJSON(_ report: RollbackReport) -> JSONValue {
    .object([
        ("duration_seconds", number(report.seconds)), ("from_percent", number(report.fromPercent)),
        ("to_percent", number(report.toPercent)), ("answers_by_new", integer(report.answersByNew)),
    ])
}

private func comparisonJSON(_ report: ComparisonReport) -> JSONValue {
    .object([
        ("records", integer(report.records)), ("tombstones", integer(report.tombstones)),
        ("different", integer(report.different)), ("lost", integer(report.lost)),
        ("examples", .array(report.examples.map { .string($0) })),
    ])
}

private func integer(_ value: (some BinaryInteger)?) -> JSONValue { value.map { .number("\($0)") } ?? .null }

private func number(_ value: Double?) -> JSONValue {
    // JSON has no word for what is no number.
    value.flatMap { $0.isFinite ? .number("\($0)") : nil } ?? .null
}

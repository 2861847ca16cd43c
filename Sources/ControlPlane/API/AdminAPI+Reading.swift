import CLinux
import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry

extension AdminAPI {
    // MARK: Status

    func status() async -> ServiceResponse {
        await controller.lookForCatchUp(now: clinux_wall_milliseconds())
        let picture = await controller.picture
        let caughtUp = await controller.caughtUp
        let keepEnds = await controller.keepEndsMilliseconds
        let (figures, totals) = board.figures()
        let lag = oldestPendingSeconds()
        let gates = readGates(figures, plan: picture.settings.plan, lagSeconds: max(lag.legacy, lag.new))
        let parked = await parkedLegs()
        let pending = ByBackend(
            legacy: dataPlane.shared.coordinator.backlog(.legacy).count,
            new: dataPlane.shared.coordinator.backlog(.new).count)
        return json(
            .object([
                ("rollout", rolloutJSON(picture.state, keepEndsMilliseconds: keepEnds)),
                ("metrics", .object(figuresJSON(figures, gates))),
                ("shadow", shadowJSON(totals)),
                (
                    "journal",
                    .object([
                        (
                            "pending",
                            .object([("legacy", .number("\(pending.legacy)")), ("new", .number("\(pending.new)"))])
                        ),
                        (
                            "oldest_pending_seconds",
                            .object([("legacy", number(lag.legacy)), ("new", number(lag.new))])
                        ),
                        ("parked", .number(String(parked))),
                        // What legacy lacks because it was not written, and has not been put back yet.
                        (
                            "missing",
                            .object([("legacy", .number("\(dataPlane.shared.coordinator.legacyGate.missing)"))])
                        ),
                        // After a rollback: when legacy had everything, and how many legs that took.
                        ("caught_up_at", .object([("legacy", instant(caughtUp.atMilliseconds))])),
                        ("caught_up_legs", .object([("legacy", .number("\(caughtUp.legs)"))])),
                        ("catching_up", .object([("legacy", .bool(caughtUp.isAwaited))])),
                        ("catch_up", catchUpJSON()),
                    ])
                ),
                ("store", storeJSON()),
                (
                    "backends",
                    .object(
                        Side.allCases.map { ("\($0.name)", .object([("healthy", .bool(dataPlane.isHealthy($0)))])) })
                ),
            ]))
    }

    /// The store, and how this gateway stands with the others of it. `stale`: what it shows of the shared state may be old.
    private func storeJSON() -> JSONValue {
        guard let state = storage.cluster?.state else { return .object([("kind", .string(storage.kind))]) }
        return .object([
            ("kind", .string(storage.kind)), ("connected", .bool(state.isConnected)),
            ("stale", .bool(!state.isConnected)),
            ("last_contact", .string(Instant(milliseconds: state.lastContactMilliseconds).text)),
            ("members", .number(String(state.members))),
            ("may_deliver", .bool(dataPlane.shared.coordinator.standing.mayDeliver)),
        ])
    }

    /// By backend: legs settled per second, and the seconds until none is outstanding; null while they do not become fewer.
    private func catchUpJSON() -> JSONValue {
        let catchUp = board.catchUp()
        return .object(
            Backend.allCases.map { backend in
                (
                    backend.label,
                    .object([
                        ("rate", number(catchUp[backend].legsPerSecond)),
                        ("seconds", number(catchUp[backend].secondsLeft)),
                    ])
                )
            })
    }

    private func figuresJSON(_ figures: FourFigures, _ gates: [GateReading]) -> [(String, JSONValue)] {
        gates.filter { $0.name != .mismatchRate && $0.name != .journalLag }.map { gate in
            var members: [(String, JSONValue)] = [
                ("value", number(gate.figure.value)), ("samples", .number(String(gate.figure.samples))),
                ("threshold", number(gate.threshold)), ("verdict", .string(gate.verdict.rawValue)),
            ]
            let both: ByBackend<Figure>? =
                switch gate.name {
                case .readErrorRate: figures.readErrorRatio
                case .writeP95: figures.writeP95Seconds
                default: nil
                }
            if let both {
                members.append(
                    (
                        "by_backend",
                        .object(
                            Backend.allCases.map { backend in
                                (
                                    backend.label,
                                    .object([
                                        ("value", number(both[backend].value)),
                                        ("samples", .number(String(both[backend].samples))),
                                    ])
                                )
                            })
                    ))
            }
            return (gate.name == .writeP95 ? "write_p95_seconds" : gate.name.rawValue, .object(members))
        }
    }

    private func instant(_ milliseconds: Int64?) -> JSONValue {
        milliseconds.map { .string(Instant(milliseconds: $0).text) } ?? .null
    }

    private func shadowJSON(_ totals: MetricsSnapshot) -> JSONValue {
        .object([
            ("compared", .number(String(totals.compared))),
            ("matched", .number(String(totals.shadow(.match)))),
            ("mismatched", .number(String(totals.shadow(.mismatch)))),
            ("transient", .number(String(totals.shadow(.transient)))),
            ("dropped", .number(String(totals.shadow(.dropped)))),
        ])
    }

    /// Facts wait a few milliseconds for company before they are durable; whoever asks wants to see them.
    private func settleJournal() { _ = journal.flush(timeoutMilliseconds: 200) }

    private func parkedLegs() async -> Int {
        // While a shared store is away, nobody who asks for status waits for it.
        if let cluster = storage.cluster, !cluster.state.isConnected { return lastParked.load(ordering: .relaxed) }
        settleJournal()
        let journal = journal
        let found = await within(milliseconds: 1_000) {
            try? await journal.read { reader throws(JournalError) in try reader.counts() }
        }
        guard let counts = found else { return lastParked.load(ordering: .relaxed) }
        lastParked.store(counts.parkedLegacy + counts.parkedNew, ordering: .relaxed)
        return counts.parkedLegacy + counts.parkedNew
    }

    func rollout() async -> ServiceResponse {
        let picture = await controller.picture
        let keepEnds = await controller.keepEndsMilliseconds
        guard case .object(var members) = rolloutJSON(picture.state, keepEndsMilliseconds: keepEnds) else {
            return problem(503, "no state")
        }
        let stages = (picture.settings.plan?.stages ?? []).map { stage in
            JSONValue.object([
                ("name", .string(stage.name)), ("percent", .number(Percent.text(hundredths: stage.percentHundredths))),
                ("shadow_percent", .number(Percent.text(hundredths: stage.shadowHundredths))),
                ("dual_write", .bool(stage.dualWrite)), ("hold_seconds", .number(String(stage.holdSeconds))),
            ])
        }
        members.append(("stages", .array(stages)))
        var response = json(.object(members))
        response.headers.append(("ETag", "\"\(picture.state.generation)\""))
        return response
    }

    // MARK: Users

    func user(_ user: String) async -> ServiceResponse {
        let snapshot = await controller.snapshot
        let picture = await controller.picture
        let pin = await controller.pin(of: user)
        let found = dataPlane.explain(user, in: snapshot)
        let since = max(pin?.sinceMilliseconds ?? 0, picture.state.sinceMilliseconds)
        return json(
            .object([
                ("user", .string(user)),
                ("bucket", found.position.map { .number(String($0.bucket)) } ?? .null),
                (
                    "percent_needed",
                    found.position.map { .number(Percent.text(hundredths: $0.percentNeededHundredths)) } ?? .null
                ),
                ("side", .string("\(found.decision.side.name)")),
                ("reason", .string("\(found.decision.reason.name)")),
                ("pin", pin.map { .string("\($0.side.name)") } ?? .null),
                ("since", .string(Instant(milliseconds: since).text)),
            ]))
    }

    // MARK: Lists

    private func page(_ request: ServiceRequest) throws(BadCall) -> (limit: Int, cursor: Int64?) {
        func number(_ name: String) throws(BadCall) -> Int64? {
            guard let text = queryValue(request.query, name), !text.isEmpty else { return nil }
            guard let number = Int64(text), number > 0 else {
                throw BadCall(text: "\(name): \"\(text)\" is no whole number above 0")
            }
            return number
        }
        return (Int(min(try number("limit") ?? 50, 1000)), try number("cursor"))
    }

    private func list(_ items: [JSONValue], next: Int64?) -> ServiceResponse {
        json(.object([("items", .array(items)), ("next", next.map { .string(String($0)) } ?? .null)]))
    }

    func mismatches(_ request: ServiceRequest) -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        do throws(BadCall) { (limit, cursor) = try page(request) } catch { return problem(400, error.text) }
        let found = dataPlane.shared.mismatches.page(before: cursor, limit: limit + 1)
        let items = found.prefix(limit).map { mismatch in
            var members: [(String, JSONValue)] = [
                ("seq", .number(String(mismatch.sequence))),
                ("at", .string(Instant(milliseconds: mismatch.atMilliseconds).text)),
                ("kind", .string(mismatch.kind)), ("method", .string(mismatch.method)),
                ("target", .string(mismatch.target)),
                ("paths", .array(mismatch.paths.map { .string($0) })),
                ("legacy", answer(mismatch.legacy)), ("new", answer(mismatch.new)),
            ]
            if !mismatch.values.isEmpty {
                members.append(
                    (
                        "values",
                        .array(
                            mismatch.values.map { .object([("legacy", .string($0.legacy)), ("new", .string($0.new))]) })
                    ))
            }
            return JSONValue.object(members)
        }
        return list(items, next: found.count > limit ? found[limit - 1].sequence : nil)
    }

    private func answer(_ answer: Mismatch.Answer) -> JSONValue {
        .object([("status", .number(String(answer.status))), ("hash", .string(answer.hash))])
    }

    func journalRows(_ request: ServiceRequest) async -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        do throws(BadCall) { (limit, cursor) = try page(request) } catch { return problem(400, error.text) }
        let parked = ["true", "1"].contains(queryValue(request.query, "parked") ?? "")
        settleJournal()
        let rows: [JournalRow]
        do throws(JournalError) {
            rows = try await journal.read { reader throws(JournalError) in
                try reader.rows(parkedOnly: parked, before: cursor, limit: limit + 1)
            }
        } catch {
            return problem(503, error.message)
        }
        return list(rows.prefix(limit).map(rowJSON), next: rows.count > limit ? rows[limit - 1].sequence : nil)
    }

    private func rowJSON(_ row: JournalRow) -> JSONValue {
        func leg(_ leg: LegStatus) -> JSONValue {
            .object([
                ("state", .string(leg.state.rawValue)), ("attempts", .number(String(leg.attempts))),
                ("last_status", leg.lastStatus.map { .number(String($0)) } ?? .null),
                (
                    "next_attempt_at",
                    leg.nextAttemptMilliseconds.map { .string(Instant(milliseconds: $0).text) } ?? .null
                ),
            ])
        }
        return .object([
            ("seq", .number(String(row.sequence))),
            ("at", .string(Instant(milliseconds: row.acceptedMilliseconds).text)),
            ("user", row.user.map { .string($0) } ?? .null), ("record", row.record.map { .string($0) } ?? .null),
            ("revision", row.revision.map { .number(String($0)) } ?? .null),
            ("records", .number(String(row.recordCount))), ("method", .string(row.method)),
            ("target", .string(row.target)),
            ("legs", .object([("legacy", leg(row.legs.legacy)), ("new", leg(row.legs.new))])),
        ])
    }

    func events(_ request: ServiceRequest) async -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        do throws(BadCall) { (limit, cursor) = try page(request) } catch { return problem(400, error.text) }
        let events: [RolloutEvent]
        do throws(JournalError) {
            events = try await journal.read { reader throws(JournalError) in
                try reader.events(before: cursor, limit: limit + 1)
            }
        } catch {
            return problem(503, error.message)
        }
        let items = events.prefix(limit).map { event in
            JSONValue.object([
                ("seq", .number(String(event.sequence))),
                ("at", .string(Instant(milliseconds: event.atMilliseconds).text)),
                ("actor", .string(event.actor)), ("action", .string(event.action)),
                ("before", storedJSON(event.before)), ("after", storedJSON(event.after)),
                ("reason", .string(event.reason)),
            ])
        }
        return list(items, next: events.count > limit ? events[limit - 1].sequence : nil)
    }

    // MARK: Metrics

    func metricsPage() async -> ServiceResponse {
        let picture = await controller.picture
        let (figures, totals) = board.figures()
        let lag = oldestPendingSeconds()
        let gates = readGates(figures, plan: picture.settings.plan, lagSeconds: max(lag.legacy, lag.new))
        let parked = await parkedLegs()
        let journalFigures = journal.writer.figures
        var gauges = ControlGauges()
        gauges.journalPending = ByBackend(
            legacy: UInt64(dataPlane.shared.coordinator.backlog(.legacy).count),
            new: UInt64(dataPlane.shared.coordinator.backlog(.new).count))
        gauges.journalOldestPendingSeconds = lag
        gauges.journalDeferred = ByBackend(
            legacy: UInt64(dataPlane.shared.coordinator.deferred(.legacy)),
            new: UInt64(dataPlane.shared.coordinator.deferred(.new)))
        gauges.journalCatchUp = board.catchUp()
        gauges.journalParked = UInt64(parked)
        gauges.legacyWritten = picture.state.legacyWrites
        gauges.legacyMissing = UInt64(dataPlane.shared.coordinator.legacyGate.missing)
        gauges.journalQueue = UInt64(journalFigures.queueDepth)
        gauges.journalGroups = journalFigures.groups
        gauges.journalGroupWrites = journalFigures.submissions
        gauges.journalWritable = health.isWritable.load(ordering: .relaxed)
        gauges.rolloutPercent = Double(picture.state.percentHundredths) / 100
        gauges.shadowPercent = Double(picture.state.shadowHundredths) / 100
        gauges.rolloutGeneration = UInt64(max(0, picture.state.generation))
        gauges.backendHealthy = ByBackend(legacy: dataPlane.isHealthy(.legacy), new: dataPlane.isHealthy(.new))
        for gate in gates {
            gauges.verdicts[gate.name] = gate.verdict
            if let threshold = gate.threshold { gauges.thresholds[gate.name] = threshold }
        }
        gauges.windowSeconds = Double(picture.settings.plan?.windowSeconds ?? 300)
        if let state = storage.cluster?.state {
            gauges.cluster = ClusterGauges(
                members: UInt64(state.members), isConnected: state.isConnected,
                mayDeliver: dataPlane.shared.coordinator.standing.mayDeliver, takenOver: state.takenOver,
                fenced: state.fenced, announcements: state.announcements, lateAnnouncements: state.lateAnnouncements,
                watched: UInt64(state.watched),
                lastContactSeconds: Double(state.lastContactMilliseconds) / 1000)
        }
        gauges.process = readProcessFigures()
        gauges.workers = UInt64(dataPlane.metrics.count)
        gauges.version = productVersion
        return ServiceResponse(
            status: 200, headers: [("Content-Type", PrometheusText.contentType)],
            body: renderMetrics(totals, figures: figures, gauges: gauges))
    }

    /// How long the oldest outstanding leg of each backend has waited.
    func oldestPendingSeconds() -> ByBackend<Double> {
        let now = clinux_wall_milliseconds()
        func age(_ side: Side) -> Double {
            guard let oldest = dataPlane.shared.coordinator.backlog(side).oldestMilliseconds else { return 0 }
            return Double(max(0, now - oldest)) / 1000
        }
        return ByBackend(legacy: age(.legacy), new: age(.new))
    }
}

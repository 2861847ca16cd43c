import CLinux
import Configuration
import Gateway
import Journal
import Rollout
import Telemetry
import Values

extension AdminAPI {
    func status() async -> ServiceResponse {
        await controller.lookForCatchUp(now: clinux_wall_milliseconds())
        let picture = await controller.picture
        let caughtUp = await controller.caughtUp
        let keep = await controller.keep
        let (figures, totals) = board.figures()
        let lag = dataPlane.oldestPendingSeconds()
        let (findings, next) = await pilot.reading()
        let gates = gateReadings(figures, plan: picture.settings.plan, findings)
        let parked = await parkedLegs()
        let pending = ByBackend(
            legacy: dataPlane.shared.coordinator.backlog(.legacy).count,
            new: dataPlane.shared.coordinator.backlog(.new).count)
        return json(
            .object([
                ("rollout", stateJSON(picture.state, keep)),
                ("metrics", .object(explained(figuresJSON(figures, gates), by: findings))),
                ("gates", gatesJSON(findings)),
                ("next", nextJSON(next)),
                ("window_seconds", .number(String(picture.settings.plan?.windowSeconds ?? 300))),
                ("covered_seconds", number(figures.coveredSeconds)),
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
                ("alerts", alerts.json),
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
            ("errors", .number(String(totals.shadowFailures))),
        ])
    }

    func rollout() async -> ServiceResponse {
        let picture = await controller.picture
        let keep = await controller.keep
        let (findings, next) = await pilot.reading()
        guard case .object(var members) = stateJSON(picture.state, keep) else { return problem(503, "no state") }
        let stages = (picture.settings.plan?.stages ?? []).map { stage in
            JSONValue.object([
                ("name", .string(stage.name)), ("percent", .number(Percent.text(hundredths: stage.percentHundredths))),
                ("shadow_percent", .number(Percent.text(hundredths: stage.shadowHundredths))),
                ("dual_write", .bool(stage.dualWrite)), ("hold_seconds", .number(String(stage.holdSeconds))),
            ])
        }
        members += [("stages", .array(stages)), ("gates", gatesJSON(findings)), ("next", nextJSON(next))]
        var response = json(.object(members))
        response.headers.append(("ETag", "\"\(picture.state.generation)\""))
        return response
    }
}

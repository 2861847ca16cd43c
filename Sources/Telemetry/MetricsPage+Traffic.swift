/// Codes that are there from the first scrape; any other appears when it is first seen.
let usualCodes = [
    200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 414, 422, 429, 431, 499,
    500,
    501, 502, 503, 504,
]

extension PrometheusText {
    /// What clients saw.
    mutating func requests(_ snapshot: MetricsSnapshot) {
        begin(
            "cutover_requests_total", .counter,
            "Requests answered, by kind of route and status code; 499 is a client that went away."
        )
        for kind in RequestKind.allCases {
            for status in 100...599 {
                let count = snapshot.requests(kind, status: status)
                guard count > 0 || usualCodes.contains(status) else { continue }
                sample([("kind", kind.rawValue), ("code", String(status))], count)
            }
            let other = snapshot.requests(kind, status: 0)
            if other > 0 { sample([("kind", kind.rawValue), ("code", "other")], other) }
        }
        begin(
            "cutover_request_duration_seconds", .histogram,
            "What clients waited, from the first byte of the head to the last of the answer.")
        for kind in RequestKind.allCases {
            histogram([("kind", kind.rawValue)], snapshot.histogram(Cells.requestDuration + kind.index))
        }
        begin(
            "cutover_client_answers_total", .counter,
            "Reads and writes by the side that they were meant for; error: the client saw a 5xx or a broken answer.")
        for kind in ClientKind.allCases {
            for side in Backend.allCases {
                let answers = snapshot.clientAnswers(kind, meantFor: side)
                let labels = [("kind", kind.rawValue), ("side", side.label)]
                sample(labels + [("result", "ok")], answers.whole - answers.part)
                sample(labels + [("result", "error")], answers.part)
            }
        }
        begin("cutover_requests_of_new_users_total", .counter, "Reads and writes of users on new by percent or pin.")
        sample([], snapshot.requestsOfNewUsers)
        begin("cutover_requests_in_flight", .gauge, "Requests under way.")
        sample([], snapshot.gauge(Cells.requestsInFlight))
        begin("cutover_tunnels", .gauge, "Open tunnels (WebSocket), by the backend at their end.")
        for backend in Backend.allCases { sample([backend.pair], snapshot.gauge(Cells.tunnels + backend.index)) }
        begin("cutover_tunnels_opened_total", .counter, "Tunnels that a backend has agreed to.")
        for backend in Backend.allCases {
            sample([backend.pair], snapshot.counter(Cells.tunnelsOpened + backend.index))
        }
        begin("cutover_tunnel_bytes_total", .counter, "Bytes that passed through tunnels, by where they went.")
        sample([("to", "backend")], snapshot.counter(Cells.tunnelBytes))
        sample([("to", "client")], snapshot.counter(Cells.tunnelBytes + 1))
        begin(
            "cutover_client_aborts_total", .counter, "Requests whose client went away before its answer was complete.")
        sample([], snapshot.counter(Cells.clientAborts))
        begin(
            "cutover_malformed_requests_total", .counter, "Requests refused because their framing or syntax was wrong.")
        sample([], snapshot.counter(Cells.malformedRequests))
    }

    /// Reads, fallbacks and shadow reads.
    mutating func reads(_ snapshot: MetricsSnapshot) {
        begin(
            "cutover_reads_total", .counter,
            "Reads sent to this backend as the side that serves them; error is connect, timeout or 5xx.")
        for backend in Backend.allCases {
            sample([backend.pair, ("result", "ok")], snapshot.reads(backend, failed: false))
            sample([backend.pair, ("result", "error")], snapshot.reads(backend, failed: true))
        }
        begin(
            "cutover_stale_reads_total", .counter,
            "Reads served by legacy although writes to it were still outstanding.")
        sample([], snapshot.counter(Cells.staleReads))
        begin(
            "cutover_fallbacks_total", .counter, "Requests meant for new that legacy answered, by what new did wrong.")
        for kind in ClientKind.allCases {
            for reason in FallbackReason.allCases {
                sample(
                    [("kind", kind.rawValue), ("reason", reason.rawValue)], snapshot.fallbacks(kind, reason: reason))
            }
        }
        begin("cutover_shadow_reads_total", .counter, "Shadow reads by what the comparison came to.")
        for result in ShadowResult.allCases { sample([("result", result.rawValue)], snapshot.shadow(result)) }
        begin("cutover_shadow_in_flight", .gauge, "Shadow reads under way.")
        sample([], snapshot.gauge(Cells.shadowInFlight))
    }

    /// Writes, their legs and their conflicts.
    mutating func writes(_ snapshot: MetricsSnapshot) {
        begin("cutover_writes_received_total", .counter, "Writes received from clients.")
        sample([], snapshot.writesReceived)
        begin("cutover_writes_total", .counter, "Attempts of single legs of writes, by what the backend made of them.")
        for (backend, leg) in legs {
            for result in WriteResult.allCases {
                sample(
                    [backend.pair, ("leg", leg.rawValue), ("result", result.rawValue)],
                    snapshot.writes(backend, leg: leg, result: result))
            }
        }
        begin("cutover_write_duration_seconds", .histogram, "How long attempts of single legs took.")
        for (backend, leg) in legs {
            histogram(
                [backend.pair, ("leg", leg.rawValue)],
                snapshot.histogram(Cells.writeDuration + backend.index * 2 + leg.index))
        }
        begin(
            "cutover_client_write_duration_seconds", .histogram,
            "What clients waited for writes that the journal took, by the side that they were meant for.")
        for backend in Backend.allCases {
            histogram([backend.pair], snapshot.histogram(Cells.clientWriteDuration + backend.index))
        }
        begin(
            "cutover_conflicts_total", .counter,
            "Stale or taken revisions, by who noticed; one write may count several times.")
        for source in ConflictSource.allCases { sample([("source", source.rawValue)], snapshot.conflicts(source)) }
        begin("cutover_conflicted_writes_total", .counter, "Writes with at least one conflict; each counts once.")
        sample([], snapshot.conflictedWrites)
        begin("cutover_idempotent_replays_total", .counter, "Writes answered with the stored answer of an earlier one.")
        sample([], snapshot.counter(Cells.idempotentReplays))
    }

    private var legs: [(Backend, WriteLeg)] {
        Backend.allCases.flatMap { backend in WriteLeg.allCases.map { (backend, $0) } }
    }
}

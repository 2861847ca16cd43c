extension PrometheusText {
    /// Legs outstanding and parked.
    mutating func journal(_ snapshot: MetricsSnapshot, _ gauges: ControlGauges) {
        begin("cutover_journal_pending", .gauge, "Legs outstanding towards this backend.")
        for backend in Backend.allCases { sample([backend.pair], gauges.journalPending[backend]) }
        begin("cutover_journal_oldest_pending_seconds", .gauge, "Age of the oldest outstanding leg; 0 when none is.")
        for backend in Backend.allCases { sample([backend.pair], gauges.journalOldestPendingSeconds[backend]) }
        begin(
            "cutover_journal_deferred", .gauge,
            "Outstanding legs that are only in the journal, because as many as fit are in memory.")
        for backend in Backend.allCases { sample([backend.pair], gauges.journalDeferred[backend]) }
        begin(
            "cutover_journal_catchup_legs_per_second", .gauge,
            "Outstanding legs that were settled per second, over the last half minute.")
        for backend in Backend.allCases { sample([backend.pair], gauges.journalCatchUp[backend].legsPerSecond) }
        begin(
            "cutover_journal_catchup_seconds", .gauge,
            "Estimated time until no leg is outstanding; 0 when none is, NaN while they do not become fewer.")
        for backend in Backend.allCases { sample([backend.pair], gauges.journalCatchUp[backend].secondsLeft) }
        begin("cutover_journal_parked", .gauge, "Legs refused for good that wait for an operator.")
        sample([], gauges.journalParked)
        begin("cutover_journal_queue", .gauge, "Changes that wait for their group commit.")
        sample([], gauges.journalQueue)
        begin(
            "cutover_journal_groups_total", .counter, "Groups of writes and facts made durable, each with one commit.")
        sample([], gauges.journalGroups)
        begin("cutover_journal_group_writes_total", .counter, "Writes in those groups.")
        sample([], gauges.journalGroupWrites)
        begin("cutover_journal_writable", .gauge, "0 while the journal cannot be written and writes are answered 503.")
        sample([], gauges.journalWritable ? 1 as UInt64 : 0)
        begin("cutover_legacy_written", .gauge, "0 after the end: legacy does not get what new decides over.")
        sample([], gauges.legacyWritten ? 1 as UInt64 : 0)
        begin("cutover_legacy_missing", .gauge, "Changes that legacy lacks and a reverse sync has still to put back.")
        sample([], gauges.legacyMissing)
        counters("cutover_leg_retries_total", Cells.legRetries, snapshot, "Legs tried again.")
        counters("cutover_legs_parked_total", Cells.legsParked, snapshot, "Legs that were parked since the start.")
    }

    /// Connections, breakers and limits.
    mutating func connections(_ snapshot: MetricsSnapshot, _ gauges: ControlGauges) {
        clients(snapshot)
        begin("cutover_upstream_connections", .gauge, "Connections to this backend by what they are doing.")
        for backend in Backend.allCases {
            for state in ConnectionState.allCases {
                sample([backend.pair, ("state", state.rawValue)], snapshot.upstreamConnections(backend, state))
            }
        }
        begin("cutover_upstream_connects_total", .counter, "Attempts to connect to this backend.")
        for backend in Backend.allCases {
            for (position, result) in ["ok", "error"].enumerated() {
                sample(
                    [backend.pair, ("result", result)],
                    snapshot.counter(Cells.upstreamConnects + backend.index * 2 + position))
            }
        }
        counters(
            "cutover_upstream_resends_total", Cells.upstreamResends, snapshot,
            "Requests sent again because a reused connection had died.")
        counters(
            "cutover_malformed_responses_total", Cells.malformedResponses, snapshot,
            "Answers of this backend refused because their framing or syntax was wrong.")
        counters(
            "cutover_breaker_openings_total", Cells.breakerOpenings, snapshot, "Times this backend's breaker opened.")
        begin("cutover_backend_healthy", .gauge, "1 while this backend's breaker is closed.")
        for backend in Backend.allCases { sample([backend.pair], gauges.backendHealthy[backend] ? 1 as UInt64 : 0) }
        begin("cutover_limit_hits_total", .counter, "Times a limit was reached and its overflow policy applied.")
        for limit in Limit.allCases { sample([("limit", limit.rawValue)], snapshot.limitHits(limit)) }
        begin("cutover_workers", .gauge, "Event loops.")
        sample([], gauges.workers)
    }

    private mutating func clients(_ snapshot: MetricsSnapshot) {
        begin("cutover_client_connections", .gauge, "Open client connections.")
        sample([], snapshot.gauge(Cells.clientConnections))
        begin("cutover_client_connections_accepted_total", .counter, "Client connections accepted.")
        sample([], snapshot.counter(Cells.clientConnectionsAccepted))
    }

    /// A counter of two cells, one a backend.
    private mutating func counters(_ name: String, _ cell: Int, _ snapshot: MetricsSnapshot, _ help: String) {
        begin(name, .counter, help)
        for backend in Backend.allCases { sample([backend.pair], snapshot.counter(cell + backend.index)) }
    }
}

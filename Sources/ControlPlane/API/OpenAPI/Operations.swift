import Values

/// What every operation is about, by `METHOD /path`.
enum Operations {
    static let all: [String: OperationText] = reading.merging(changing) { first, _ in first }

    private static let paging = [Parameters.limit, Parameters.cursor]

    private static let reading: [String: OperationText] = [
        "GET /status": OperationText(
            id: "status", tag: "rollout", summary: "Where the rollout is, and the four figures",
            description: "With shadow reads, the journal with its catch-up by backend, and the backends.",
            answers: [(200, Responses.json("where it is", "Status"))]),
        "GET /metrics/history": OperationText(
            id: "history", tag: "rollout", summary: "The counts under the figures over time, newest first",
            description: """
                One row a gateway and span: of 10 s for the last 3 h, of a minute for 3 days, of ten minutes for 90 days. Sums, except that \
                `write_p95_seconds` is the largest of its parts and percent, stage, state, pending and parked are those of the end. A span that \
                nobody saw has no row.
                """,
            parameters: Parameters.history, answers: [(200, Responses.json("a page", "HistoryPage"))], problems: [503]),
        "GET /rollout": OperationText(
            id: "rollout", tag: "rollout", summary: "The rollout's state, its stages, and what holds the next one",
            answers: [(200, Responses.json("the rollout", "Rollout", isVersioned: true))]),
        "GET /users/{id}": OperationText(
            id: "user", tag: "users", summary: "Which side serves a user, and why", parameters: [Parameters.user],
            answers: [(200, Responses.json("the user", "User", example: Examples.user))], problems: [404]),
        "GET /mismatches": OperationText(
            id: "mismatches", tag: "comparison", summary: "Reads that differed between the backends, newest first",
            parameters: paging, answers: [(200, Responses.json("a page", "MismatchPage"))]),
        "GET /journal": OperationText(
            id: "journal", tag: "journal", summary: "Writes and what became of each leg, newest first",
            parameters: paging + [Parameters.parked], answers: [(200, Responses.json("a page", "JournalPage"))],
            problems: [503]),
        "GET /reverse-sync": OperationText(
            id: "reverseSync", tag: "journal", summary: "How far the reverse sync is, or how the last one ended",
            answers: [(200, Responses.json("the report", "ReverseSync"))]),
        "GET /events": OperationText(
            id: "events", tag: "events", summary: "Who changed what, when and why",
            description: "A page, newest first; or, with `format=ndjson`, all of them, oldest first.",
            parameters: paging + [Parameters.format], answers: [(200, events)], problems: [503]),
        "GET /stream": OperationText(
            id: "stream", tag: "events", summary: "What happens, as server-sent events",
            description: """
                `status` (as of `GET status`) at once, each second and right after a change; `change` (an event, its `id` is its \
                seq), `mismatch`, and `history` (a finished row of `metrics/history`) as they come. A comment each 15 s. At most \
                64 streams; a client that reads nothing for 10 s is cut off.
                """,
            parameters: [Parameters.after, Parameters.lastEventID], answers: [(200, stream)], problems: [503]),
        "GET /openapi.json": OperationText(
            id: "description", tag: "configuration", summary: "This description", answers: [(200, description)]),
    ]

    private static func command(
        _ id: String, _ summary: String, _ schema: String, _ example: JSONValue, isRequired: Bool = false
    ) -> OperationText {
        OperationText(
            id: id, tag: "rollout", summary: summary,
            body: OperationText.Body(schema: schema, isRequired: isRequired, example: example),
            answers: [
                (200, Responses.json("done", "RolloutChange", example: Examples.change, isVersioned: true))
            ], problems: [409, 503])
    }

    private static let changing: [String: OperationText] = [
        "POST /rollout/promote": command(
            "promote", "Go to the next stage, or to a named one", "StageRequest", Examples.promote),
        "POST /rollout/rollback": command(
            "rollback", "Send everybody back to legacy, or to a named stage", "StageRequest", Examples.reason),
        "POST /rollout/pause": command("pause", "Hold the rollout", "CommandRequest", Examples.reason),
        "POST /rollout/resume": command("resume", "Let a paused rollout go on", "CommandRequest", Examples.reason),
        "POST /rollout/percent": command(
            "setPercent", "Set the percent directly", "PercentRequest", Examples.percent, isRequired: true),
        "POST /rollout/stop-legacy": command(
            "stopLegacy", "Stop writing legacy, in the last stage at 100 percent", "CommandRequest", Examples.reason),
        "POST /rollout/resume-legacy": command(
            "resumeLegacy", "Write legacy again", "ForcibleRequest", Examples.reason),
        "PUT /users/{id}/pin": OperationText(
            id: "pin", tag: "users", summary: "Keep a user on one side", parameters: [Parameters.user],
            body: .init(schema: "PinRequest", isRequired: true, example: .object([("side", "new")])),
            answers: [(200, Responses.json("done", "PinChange", isVersioned: true))], problems: [404, 409, 503]),
        "DELETE /users/{id}/pin": OperationText(
            id: "unpin", tag: "users", summary: "Let the percent decide about a user again",
            parameters: [Parameters.user], body: .init(schema: "CommandRequest", example: Examples.reason),
            answers: [(200, Responses.json("done", "PinChange", isVersioned: true))], problems: [404, 409, 503]),
        "POST /journal/replay": OperationText(
            id: "replay", tag: "journal", summary: "Send parked legs again",
            description: """
                A leg without a revision for a record that was written again since stays parked, and `held` says so: its content is older \
                than what the backend has. `force` sends it all the same; `POST journal/settle` is done with it.
                """,
            body: .init(schema: "ReplayRequest", isRequired: true, example: .object([("seqs", .array([17]))])),
            answers: [(200, Responses.json("done", "Replay"))], problems: [409, 503]),
        "POST /journal/settle": OperationText(
            id: "settle", tag: "journal", summary: "Be done with parked legs: what the backend has stays",
            description: "The legs become `superseded` and are not sent. Needs a `reason`.",
            body: .init(
                schema: "SettleRequest", isRequired: true,
                example: .object([("seqs", .array([17])), ("reason", "written again since")])),
            answers: [(200, Responses.json("done", "Settlement"))], problems: [409, 503]),
        "POST /reverse-sync": OperationText(
            id: "startReverseSync", tag: "journal",
            summary: "Bring legacy what it lacks, in order, and compare the backends",
            body: .init(schema: "ReverseSyncRequest", example: .object([("since", "24h")])),
            answers: [
                (200, Responses.json("of a dry run: what legacy lacks", "MissingChanges")),
                (202, Responses.json("it has begun; `GET reverse-sync` says how far it is", "ReverseSync")),
            ], problems: [409, 503]),
        "POST /reload": OperationText(
            id: "reload", tag: "configuration", summary: "Validate configuration and tokens, and take them over",
            body: .init(schema: "CommandRequest", example: Examples.reason),
            answers: [(200, Responses.json("done", "RolloutChange", isVersioned: true))], problems: [409, 422, 503]),
    ]

    private static let events: JSONValue = .object([
        ("description", "a page, or all"),
        (
            "content",
            .object([
                (
                    "application/json",
                    .object([("schema", Shape.reference("EventPage")), ("example", Examples.events)])
                ),
                (
                    "application/x-ndjson",
                    .object([("schema", Shape.described(Shape.text, "one `Event` a line"))])
                ),
            ])
        ),
    ])
    private static let stream: JSONValue = .object([
        ("description", "the events, until either side ends it"),
        ("content", .object([("text/event-stream", .object([("schema", Shape.text)]))])),
    ])
    private static let description: JSONValue = .object([
        ("description", "an OpenAPI 3.1 document"),
        ("content", .object([("application/json", .object([("schema", .object([("type", "object")]))]))])),
    ])
}

/// What it looks like.
enum Examples {
    static let reason: JSONValue = .object([("reason", "read errors of new have doubled")])
    static let percent: JSONValue = .object([("percent", .number("12.5")), ("reason", "half a step")])
    static let promote: JSONValue = .object([("to", "early"), ("dry_run", true)])
    static let user: JSONValue = .object([
        ("user", "42"), ("bucket", 617), ("percent_needed", .number("6.18")), ("side", "new"),
        ("reason", "in-percent"), ("pin", .null), ("since", "2026-11-30T14:02:03Z"),
    ])
    static let change: JSONValue = .object([
        ("before", state("canary", 1, 11)), ("after", state("early", 10, 12)), ("warnings", .array([])),
        ("generation", 12), ("actor", "admin@127.0.0.1"), ("reason", "canary quiet since noon"), ("dry_run", false),
    ])
    static let events: JSONValue = .object([
        (
            "items",
            .array([
                .object([
                    ("seq", 8), ("at", "2026-11-30T14:02:03Z"), ("actor", "admin@127.0.0.1"), ("action", "promote"),
                    ("before", state("canary", 1, 11)), ("after", state("early", 10, 12)),
                    ("reason", "canary quiet since noon"),
                ])
            ])
        ), ("next", "8"),
    ])
    static let problem: JSONValue = .object([
        ("type", "about:blank"), ("title", "Conflict"), ("status", 409), ("detail", "gate read_error_rate fails"),
        ("request_id", "6f1ed0029a2c41b76f1ed0029a2c41b7"), ("reasons", .array(["gate read_error_rate fails"])),
    ])

    private static func state(_ stage: String, _ percent: Int, _ generation: Int) -> JSONValue {
        .object([
            ("plan", "my-migration"), ("stage", .string(stage)), ("percent", .number("\(percent)")),
            ("shadow_percent", 100), ("dual_write", true), ("legacy_writes", true), ("state", "running"),
            ("since", "2026-11-30T14:02:03Z"), ("generation", .number("\(generation)")),
        ])
    }
}

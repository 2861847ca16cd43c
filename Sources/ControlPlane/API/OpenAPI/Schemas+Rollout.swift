import Values

/// The schemas of `status` and `rollout`.
enum RolloutSchemas {
    static let all: [(String, JSONValue)] = [
        ("RolloutState", state), ("Stage", stage), ("Gate", gate), ("NextStep", next), ("Rollout", rollout),
        ("Figure", figure), ("Status", status), ("RolloutChange", change), ("Verdict", verdict),
    ]

    private static let percent: JSONValue = .object([("type", "number"), ("minimum", 0), ("maximum", 100)])
    private static let verdict = Shape.described(
        Shape.words("pass", "fail", "insufficient", "warming_up"),
        "`insufficient`: too few samples; `warming_up`: the window is not full yet after a start")

    private static let stateMembers: [(String, JSONValue)] = [
        ("plan", Shape.orNull(Shape.text)), ("stage", Shape.orNull(Shape.text)), ("percent", percent),
        ("shadow_percent", percent), ("dual_write", Shape.boolean), ("legacy_writes", Shape.boolean),
        ("state", Shape.words("running", "paused", "rolled_back", "complete")),
        ("since", Shape.described(Shape.instant, "when stage or percent came to be what they are")),
        (
            "state_since",
            Shape.described(Shape.instant, "when `state` came to be what it is: a pause, a rollback, a resumption")
        ),
        ("generation", Shape.described(Shape.count, "goes up with every change; what `If-Match` names")),
    ]
    private static let stateOptional: [(String, JSONValue)] = [
        ("state_reason", Shape.described(Shape.orNull(Shape.text), "why it is paused or rolled back")),
        ("legacy_unwritten_since", Shape.instant), ("keep_ends_at", Shape.instant),
        (
            "keep_waits",
            Shape.described(Shape.list(Shape.text), "`keep` has ended, and this holds the end of the writing of legacy")
        ),
    ]
    private static let state = Shape.answer(stateMembers, optional: stateOptional)

    private static let stage = Shape.answer([
        ("name", Shape.text), ("percent", percent), ("shadow_percent", percent), ("dual_write", Shape.boolean),
        ("hold_seconds", Shape.count),
    ])

    private static let gate = Shape.answer(
        [
            ("name", Shape.text), ("value", Shape.orNull(Shape.number)), ("samples", Shape.count),
            ("verdict", Shape.reference("Verdict")), ("threshold", Shape.orNull(Shape.number)),
            ("over_legacy", Shape.orNull(Shape.number)), ("backend", Shape.orNull(Shape.side)),
            ("reason", Shape.described(Shape.text, "why the verdict is what it is")),
            ("applies", Shape.described(Shape.boolean, "false: it cannot know anything in this stage")),
        ])

    private static let next = Shape.described(
        Shape.answer([
            ("stage", Shape.text), ("percent", percent),
            (
                "mode",
                Shape.described(
                    Shape.words("manual", "automatic"),
                    "`automatic`: it comes by itself; not while the rollout is paused, rolled back or set by hand, "
                        + "nor without a gate")
            ),
            ("hold_seconds", Shape.count),
            ("held_seconds", Shape.described(Shape.count, "time under load only")),
            ("idle_seconds", Shape.described(Shape.count, "time without traffic")),
            ("waiting_seconds", Shape.described(Shape.count, "time since all was ready and a person is waited for")),
            ("ready", Shape.boolean), ("blocked_by", Shape.list(Shape.text)),
        ]), "What holds the next step")

    private static let steps: [(String, JSONValue)] = [
        ("gates", Shape.list(Shape.reference("Gate"))), ("next", Shape.orNull(Shape.reference("NextStep"))),
    ]
    private static let rollout = Shape.answer(
        stateMembers + [("stages", Shape.list(Shape.reference("Stage")))] + steps, optional: stateOptional)

    private static let sample = Shape.answer([("value", Shape.orNull(Shape.number)), ("samples", Shape.count)])
    private static let counts: JSONValue = .object([("type", "object"), ("additionalProperties", Shape.count)])
    private static let figure = Shape.answer(
        [
            ("value", Shape.described(Shape.orNull(Shape.number), "over the plan's window; null without a sample")),
            ("samples", Shape.count), ("threshold", Shape.orNull(Shape.number)),
            ("verdict", Shape.reference("Verdict")),
        ],
        optional: [
            ("over_legacy", Shape.orNull(Shape.number)), ("reason", Shape.text), ("backend", Shape.orNull(Shape.side)),
            ("by_backend", Shape.byBackend(sample)), ("leg_by_backend", Shape.byBackend(sample)), ("client", sample),
            ("client_by_side", Shape.byBackend(sample)), ("client_errors_by_side", Shape.byBackend(sample)),
            ("total", sample), ("by_source", counts), ("by_reason", counts), ("by_kind", counts),
        ])

    private static let catchUp = Shape.answer([
        ("rate", Shape.orNull(Shape.number)), ("seconds", Shape.orNull(Shape.number)),
    ])
    private static let journal = Shape.answer([
        ("pending", Shape.byBackend(Shape.count)), ("oldest_pending_seconds", Shape.byBackend(Shape.number)),
        ("parked", Shape.count), ("missing", Shape.answer([("legacy", Shape.count)])),
        ("caught_up_at", Shape.answer([("legacy", Shape.orNull(Shape.instant))])),
        ("caught_up_legs", Shape.answer([("legacy", Shape.count)])),
        ("catching_up", Shape.answer([("legacy", Shape.boolean)])), ("catch_up", Shape.byBackend(catchUp)),
    ])
    private static let store = Shape.answer(
        [("kind", Shape.words("sqlite", "postgresql"))],
        optional: [
            ("connected", Shape.boolean),
            ("stale", Shape.described(Shape.boolean, "what is shown of the shared state may be old")),
            ("last_contact", Shape.instant), ("members", Shape.count), ("may_deliver", Shape.boolean),
        ])
    private static let alerts = Shape.answer([
        (
            "receiver",
            Shape.described(Shape.orNull(Shape.text), "scheme and host of the plan's webhook; null: nobody is told")
        ),
        ("format", Shape.orNull(Shape.words("alertmanager", "slack", "plain"))),
        ("waiting", Shape.described(Shape.count, "alerts that the receiver has not taken yet")),
        (
            "raised",
            Shape.list(
                Shape.answer([
                    ("name", Shape.text), ("severity", Shape.words("info", "warning", "critical")),
                    ("summary", Shape.text), ("since", Shape.instant),
                ]))
        ),
    ])
    private static let status = Shape.answer(
        [
            ("rollout", Shape.reference("RolloutState")),
            (
                "metrics",
                Shape.answer([
                    ("read_error_rate", Shape.reference("Figure")), ("write_p95_seconds", Shape.reference("Figure")),
                    ("conflict_rate", Shape.reference("Figure")), ("fallback_rate", Shape.reference("Figure")),
                ])
            ),
            (
                "shadow",
                Shape.answer([
                    ("compared", Shape.count), ("matched", Shape.count), ("mismatched", Shape.count),
                    ("transient", Shape.count), ("dropped", Shape.count),
                    ("errors", Shape.described(Shape.count, "shadow reads that new failed or did not answer")),
                ])
            ),
            ("journal", journal), ("store", store), ("alerts", alerts),
            ("backends", Shape.byBackend(Shape.answer([("healthy", Shape.boolean)]))),
            ("window_seconds", Shape.count),
            ("covered_seconds", Shape.described(Shape.number, "how much of the window has been seen since the start")),
        ] + steps)

    private static let change = ChangeSchemas.change(
        before: Shape.reference("RolloutState"), after: Shape.reference("RolloutState"))
}

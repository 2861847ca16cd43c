import Values

/// The schemas of users, lists and the reverse sync.
enum ListSchemas {
    static let all: [(String, JSONValue)] = [
        ("User", user), ("Event", event), ("JournalRow", journalRow), ("Mismatch", mismatch),
        ("EventPage", page("Event")), ("JournalPage", page("JournalRow")), ("MismatchPage", page("Mismatch")),
        ("HistoryRow", HistorySchema.row), ("HistoryPage", page("HistoryRow")),
        ("ReverseSync", reverseSync), ("MissingChanges", missing),
    ]

    private static func page(_ item: String) -> JSONValue {
        Shape.answer([
            ("items", Shape.described(Shape.list(Shape.reference(item)), "newest first")),
            ("next", Shape.described(Shape.orNull(Shape.text), "the `cursor` of the next page; null at the end")),
        ])
    }

    private static let user = Shape.answer([
        ("user", Shape.text), ("bucket", Shape.orNull(Shape.count)), ("percent_needed", Shape.orNull(Shape.number)),
        ("side", Shape.side),
        ("reason", Shape.described(Shape.text, "the first condition of being on new that failed, or `in-percent`")),
        ("pin", Shape.orNull(Shape.side)), ("since", Shape.instant),
    ])

    private static let event = Shape.answer([
        ("seq", Shape.count), ("at", Shape.instant),
        ("actor", Shape.described(Shape.text, "`admin@PEER`, `gateway`, `gate` or `SIGHUP`")),
        ("action", Shape.text), ("before", Shape.anything), ("after", Shape.anything), ("reason", Shape.text),
    ])

    private static let leg = Shape.answer([
        (
            "state",
            Shape.words("pending", "applied", "refused", "superseded", "parked", "skipped", "awaiting-copy")
        ), ("attempts", Shape.count), ("last_status", Shape.orNull(Shape.count)),
        ("next_attempt_at", Shape.orNull(Shape.instant)),
    ])
    private static let journalRow = Shape.answer([
        ("seq", Shape.count), ("at", Shape.instant), ("user", Shape.orNull(Shape.text)),
        ("record", Shape.orNull(Shape.text)), ("revision", Shape.orNull(.object([("type", "integer")]))),
        ("records", Shape.count), ("method", Shape.text), ("target", Shape.text), ("legs", Shape.byBackend(leg)),
    ])

    private static let answer = Shape.answer([("status", Shape.count), ("hash", Shape.text)])
    private static let mismatch = Shape.answer(
        [
            ("seq", Shape.count), ("at", Shape.instant), ("kind", Shape.text), ("method", Shape.text),
            ("target", Shape.text), ("paths", Shape.list(Shape.text)), ("legacy", answer), ("new", answer),
        ],
        optional: [
            (
                "values",
                Shape.described(
                    Shape.list(Shape.byBackend(Shape.text)), "one pair a path, only with `shadow.keep_values`")
            )
        ])

    private static let verification = Shape.answer([
        ("records", Shape.count), ("equal", Shape.count), ("different", Shape.count), ("unverifiable", Shape.count),
        ("in_flight", Shape.count),
    ])
    private static let status = Shape.answer([("status", Shape.count)])
    private static let reverseSync = Shape.answer([
        ("run", Shape.count), ("phase", Shape.words("idle", "counting", "sending", "verifying", "done", "failed")),
        ("automatic", Shape.boolean), ("since", Shape.orNull(Shape.instant)),
        ("started_at", Shape.orNull(Shape.instant)), ("ended_at", Shape.orNull(Shape.instant)),
        ("total", Shape.count), ("done", Shape.count), ("rate", Shape.orNull(Shape.number)),
        ("seconds_left", Shape.orNull(Shape.number)), ("parked", Shape.count),
        ("parked_seqs", Shape.list(Shape.count)), ("verification", Shape.orNull(verification)),
        (
            "differences",
            Shape.list(
                Shape.answer([
                    ("seq", Shape.count), ("target", Shape.text), ("legacy", status), ("new", status),
                    ("paths", Shape.list(Shape.text)),
                ]))
        ), ("failure", Shape.orNull(Shape.text)), ("clean", Shape.orNull(Shape.boolean)),
    ])
    private static let missing = Shape.answer([
        ("dry_run", .object([("const", true)])), ("missing", Shape.count), ("complete", Shape.boolean),
        ("older", Shape.count), ("oldest", Shape.orNull(Shape.instant)), ("newest", Shape.orNull(Shape.instant)),
        ("parked", Shape.count),
    ])
}

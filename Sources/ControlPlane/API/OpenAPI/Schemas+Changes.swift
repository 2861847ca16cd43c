import Values

/// The schemas of what a change is asked with and answered by.
enum ChangeSchemas {
    static let all: [(String, JSONValue)] = [
        ("Problem", problem), ("PinChange", pinChange), ("Replay", replay), ("Settlement", settlement),
        ("CommandRequest", Shape.request(common)), ("ForcibleRequest", Shape.request([force] + common)),
        ("StageRequest", Shape.request([to, force] + common)),
        ("PercentRequest", Shape.request([force] + common, required: [percent])),
        ("PinRequest", Shape.request(common, required: [("side", Shape.side)])), ("ReplayRequest", replayRequest),
        ("SettleRequest", settleRequest),
        ("ReverseSyncRequest", reverseSyncRequest),
    ]

    /// What a change answers: before, after, and what else there is to say.
    static func change(before: JSONValue, after: JSONValue) -> JSONValue {
        Shape.answer([
            ("before", before), ("after", after), ("warnings", Shape.list(Shape.text)),
            ("generation", Shape.count), ("actor", Shape.text), ("reason", Shape.text), ("dry_run", Shape.boolean),
        ])
    }

    // MARK: Requests

    private static let optionalFlag: JSONValue = .object([("type", .array(["boolean", "null"]))])
    private static let text: JSONValue = .object([
        ("type", .array(["string", "null"])), ("pattern", .string("^[^\\u0000]*$")),
    ])
    private static let common: [(String, JSONValue)] = [
        ("dry_run", Shape.described(optionalFlag, "answer like the real change, and change nothing")),
        (
            "reason",
            .object([
                ("type", .array(["string", "null"])), ("maxLength", .number("\(ChangeBody.reasonMax)")),
                ("pattern", .string("^[^\\u0000]*$")), ("description", "why; kept with the event"),
            ])
        ),
    ]
    private static let force = ("force", Shape.described(optionalFlag, "against what speaks against it"))
    private static let to = ("to", Shape.described(text, "a stage of the plan; without it the next one, or home"))
    private static let percent: (String, JSONValue) = (
        "percent",
        .object([
            ("type", "number"), ("minimum", 0), ("maximum", 100), ("multipleOf", .number("0.01")),
            ("description", "share of buckets whose reads new serves, with at most two decimals"),
        ])
    )

    private static let sequences: JSONValue = .object([
        ("type", "array"), ("minItems", 1), ("maxItems", .number("\(ChangeBody.seqsMax)")),
        (
            "items",
            .object([("type", "integer"), ("minimum", 1), ("maximum", .number("\(ChangeBody.wholeMax)"))])
        ),
    ])
    private static let replayRequest: JSONValue = .object([
        (
            "oneOf",
            .array([
                Shape.request(
                    [("all_parked", .object([("enum", .array([false, .null]))])), force] + common,
                    required: [("seqs", sequences)]),
                Shape.request(
                    [("seqs", .object([("type", "null")])), force] + common,
                    required: [("all_parked", .object([("const", true)]))]),
            ])
        )
    ])
    private static let settleRequest = Shape.request(
        [("dry_run", optionalFlag)],
        required: [
            ("seqs", sequences),
            (
                "reason",
                .object([
                    ("type", "string"), ("minLength", 1), ("maxLength", .number("\(ChangeBody.reasonMax)")),
                    ("pattern", .string("^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$")),
                    ("description", "why the backend may go without these changes"),
                ])
            ),
        ])
    private static let reverseSyncRequest = Shape.request(
        [
            (
                "since",
                .object([
                    ("type", .array(["string", "null"])),
                    ("pattern", "^([0-9]{1,6}(ms|s|m)|[0-9]{1,4}h|[0-9]{1,3}d)$"),
                    ("description", "only what was accepted since then: 24h, 30m, 90s, 7d"),
                ])
            ), ("include_parked", optionalFlag), ("verify", optionalFlag),
        ] + common)

    // MARK: Answers

    private static let problem = Shape.described(
        Shape.answer(
            [("type", Shape.text), ("title", Shape.text), ("status", Shape.count), ("detail", Shape.text)],
            optional: [
                ("request_id", Shape.text),
                ("reasons", Shape.described(Shape.list(Shape.text), "each thing that speaks against it")),
            ]), "RFC 9457")

    private static let pin = Shape.answer([("pin", Shape.orNull(Shape.side))])
    private static let pinChange = change(before: pin, after: pin)
    private static let replay = Shape.answer([
        ("replayed", Shape.count), ("seqs", Shape.list(Shape.count)),
        (
            "held",
            Shape.described(
                Shape.list(held), "parked legs that were not sent, because they are older than what is there")
        ),
        ("dry_run", Shape.boolean),
    ])
    private static let held = Shape.answer([
        ("seq", Shape.count), ("side", Shape.side),
        ("behind", Shape.described(Shape.count, "a later change of the same record")), ("reason", Shape.text),
    ])
    private static let settlement = Shape.answer([
        ("settled", Shape.count), ("seqs", Shape.list(Shape.count)), ("dry_run", Shape.boolean),
    ])
}

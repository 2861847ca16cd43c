/// The schema of a row of `metrics/history`.
enum HistorySchema {
    private static let pair = Shape.byBackend(Shape.count)

    static let row = Shape.answer([
        ("at", Shape.described(Shape.instant, "when the span began")), ("seconds", Shape.count),
        ("instance", Shape.text),
        ("percent", Shape.number), ("stage", Shape.orNull(Shape.text)), ("state", Shape.text),
        ("generation", Shape.count),
        ("covered_seconds", Shape.described(Shape.number, "how much of the span was seen")),
        ("load_seconds", Shape.described(Shape.number, "how much of it had requests")),
        ("reads", pair), ("read_errors", pair), ("client_errors", Shape.count), ("writes", pair),
        ("write_p95_seconds", Shape.byBackend(Shape.orNull(Shape.number))), ("writes_received", Shape.count),
        ("conflicts", Shape.count), ("new_requests", Shape.count), ("fallbacks", Shape.count),
        ("compared", Shape.count), ("mismatched", Shape.count), ("pending", pair), ("parked", Shape.count),
    ])
}

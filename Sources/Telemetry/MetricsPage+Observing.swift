/// Lines of the access log since the start; zero where there is none.
package struct AccessLogGauges: Sendable {
    package var written: UInt64
    package var dropped: UInt64

    package init(written: UInt64 = 0, dropped: UInt64 = 0) {
        self.written = written
        self.dropped = dropped
    }
}

/// Spans since the start; zero where none are exported.
package struct SpanGauges: Sendable {
    package var exported: UInt64
    package var dropped: UInt64

    package init(exported: UInt64 = 0, dropped: UInt64 = 0) {
        self.exported = exported
        self.dropped = dropped
    }
}

extension PrometheusText {
    /// Spans of traces.
    mutating func spans(_ gauges: SpanGauges) {
        begin("cutover_spans_exported_total", .counter, "Spans that the collector has taken.")
        sample([], gauges.exported)
        begin(
            "cutover_spans_dropped_total", .counter,
            "Spans that were dropped: no room, the collector away for too long, or refused by it.")
        sample([], gauges.dropped)
    }

    /// The access log.
    mutating func accessLog(_ gauges: AccessLogGauges) {
        begin("cutover_access_log_lines_total", .counter, "Lines of the access log that were written.")
        sample([], gauges.written)
        begin(
            "cutover_access_log_dropped_total", .counter,
            "Lines of the access log that were dropped: the disk was full, or who reads it too slow.")
        sample([], gauges.dropped)
    }
}

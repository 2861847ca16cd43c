import Journal

/// Makes rows of ten seconds from readings of the counters. Without I/O: both clocks are arguments. Not thread-safe.
///
/// The wall clock says which span a reading belongs to, the monotonic one how long it was. So a wall clock that jumps neither
/// loses nor doubles anything: what was counted up to the jump stays in the span in which it was counted, and the next one
/// begins wherever the clock is now.
struct HistoryMeter: Sendable {
    /// What lies between two readings counts for so long at most: a process that was stopped for an hour was neither seen nor
    /// under load then.
    static let readingMaxMilliseconds: Int64 = 2_000

    private struct Span: Sendable {
        var begin: Int64
        var counts: HistoryCounts
        var covered: Int64 = 0
        var load: Int64 = 0
    }

    private struct Reading: Sendable {
        var wall: Int64
        var monotonic: Int64
        var counts: HistoryCounts
    }

    private static let resolution = HistoryResolution.tenSeconds

    let instance: String
    private var span: Span
    private var last: Reading
    /// Time under load since the beginning, in milliseconds.
    private(set) var loadMilliseconds: Int64 = 0

    /// - Parameters:
    ///   - wall: milliseconds since 1970.
    ///   - monotonic: milliseconds of a clock that never jumps.
    ///   - counts: what was counted before and is not told of.
    init(instance: String, wall: Int64, monotonic: Int64, counts: HistoryCounts) {
        self.instance = instance
        span = Span(begin: Self.resolution.begin(of: wall), counts: counts)
        last = Reading(wall: wall, monotonic: monotonic, counts: counts)
    }

    /// Where the span begins that is being counted.
    var spanBegin: Int64 { span.begin }
    /// What the wall clock said at the last reading, in milliseconds since 1970.
    var wall: Int64 { last.wall }
    /// How much of it was under load so far, in milliseconds.
    var spanLoadMilliseconds: Int64 { span.load }

    /// Takes a reading.
    /// - Returns: the row of a span that is over.
    mutating func read(wall: Int64, monotonic: Int64, counts: HistoryCounts, gauges: HistoryGauges) -> HistoryRow? {
        let time = min(max(0, monotonic - last.monotonic), Self.readingMaxMilliseconds)
        let load = counts.answers > last.counts.answers ? time : 0
        loadMilliseconds += load
        let (begin, end) = (Self.resolution.begin(of: wall), span.begin + Self.resolution.milliseconds)
        // What was counted since the last reading belongs to the span of that one; of its time, what lies in it.
        var before = time
        if begin == end { before = min(time, max(0, end - last.wall)) }
        span.covered += before
        span.load += load > 0 ? before : 0
        last = Reading(wall: wall, monotonic: monotonic, counts: counts)
        guard begin != span.begin else { return nil }
        let row = close(gauges)
        span = Span(begin: begin, counts: counts)
        span.covered = time - before
        span.load = load > 0 ? time - before : 0
        return row
    }

    /// The row of the span that is not over, at the end: what is left of it is a gap.
    /// - Returns: nil when nothing of it was seen.
    mutating func finish(_ gauges: HistoryGauges) -> HistoryRow? {
        guard span.covered > 0 else { return nil }
        defer { span = Span(begin: span.begin, counts: last.counts) }
        return close(gauges)
    }

    private func close(_ gauges: HistoryGauges) -> HistoryRow {
        var row = HistoryRow(Self.resolution, atMilliseconds: span.begin, instance: instance)
        row.coveredMilliseconds = span.covered
        row.loadMilliseconds = span.load
        last.counts.fill(&row, since: span.counts)
        gauges.fill(&row)
        return row
    }
}

internal import Gateway
internal import SyncStore
internal import Synchronization
internal import Values

/// What the service counts, for `GET /metrics`. Any thread.
final class SyncCounts: Sendable {
    static let routes = [
        "changes", "documents", "export", "list", "objects", "other", "record", "records", "stats", "users",
    ]
    static let classes = ["2xx", "4xx", "5xx"]

    private struct Sums {
        var requests: [String: Int64] = [:]
        var groups: Int64 = 0
        var commitNanoseconds: UInt64 = 0
    }

    private let sums = Mutex(Sums())

    func request(_ route: String, _ status: Int) {
        let name = "\(route) \(status / 100)xx"
        sums.withLock { $0.requests[name, default: 0] += 1 }
    }

    func group(_ changes: Int, _ nanoseconds: UInt64) {
        sums.withLock {
            $0.groups += 1
            $0.commitNanoseconds += nanoseconds
        }
    }

    /// Every series, those at 0 included, in Prometheus' text format.
    func write(
        to out: inout String, _ writer: SyncWriter.Figures, waiting: [(name: String, waiting: Int, turnedAway: Int64)]
    ) {
        let sums = sums.withLock { $0 }
        out += "# HELP cutover_sync_requests_total Requests by route and class of the answer.\n"
        out += "# TYPE cutover_sync_requests_total counter\n"
        for route in Self.routes {
            for code in Self.classes {
                out +=
                    "cutover_sync_requests_total{route=\"\(route)\",code=\"\(code)\"} \(sums.requests["\(route) \(code)"] ?? 0)\n"
            }
        }
        out += "# HELP cutover_sync_changes_total Changes by what became of them; refused counts requests.\n"
        out += "# TYPE cutover_sync_changes_total counter\n"
        out += "cutover_sync_changes_total{result=\"applied\"} \(writer.applied)\n"
        out += "cutover_sync_changes_total{result=\"retried\"} \(writer.retried)\n"
        out += "cutover_sync_changes_total{result=\"refused\"} \(writer.refused)\n"
        out += "# HELP cutover_sync_commits_total Transactions, by whether they were kept.\n"
        out += "# TYPE cutover_sync_commits_total counter\n"
        out += "cutover_sync_commits_total{result=\"ok\"} \(writer.groups)\n"
        out += "cutover_sync_commits_total{result=\"error\"} \(writer.failedGroups)\n"
        out += "# HELP cutover_sync_commit_seconds_total Time that transactions took.\n"
        out += "# TYPE cutover_sync_commit_seconds_total counter\n"
        out += "cutover_sync_commit_seconds_total \(Double(sums.commitNanoseconds) / 1e9)\n"
        out += "# HELP cutover_sync_waiting What waits, by queue; changes by their number.\n"
        out += "# TYPE cutover_sync_waiting gauge\n"
        for queue in waiting { out += "cutover_sync_waiting{queue=\"\(queue.name)\"} \(queue.waiting)\n" }
        out += "# HELP cutover_sync_turned_away_total What found its queue full.\n"
        out += "# TYPE cutover_sync_turned_away_total counter\n"
        for queue in waiting { out += "cutover_sync_turned_away_total{queue=\"\(queue.name)\"} \(queue.turnedAway)\n" }
    }
}

extension SyncDesk {
    func metrics() -> ServiceResponse {
        let changes = writer.figures
        let reads = readers.figures
        let objects = objects.figures
        var text = ""
        counts.write(
            to: &text, changes,
            waiting: [
                ("changes", changes.waitingChanges, changes.turnedAway), ("reads", reads.waiting, reads.turnedAway),
                ("objects", objects.waiting, objects.turnedAway), ("log", 0, log.dropped),
            ])
        return ServiceResponse(status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", text: text)
    }
}

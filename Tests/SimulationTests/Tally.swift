import Journal
import Rollout

/// How often the runs came to what they are about.
struct Tally: CustomStringConvertible, Sendable {
    private var counts: [String: Int] = [:]

    /// What has to happen in a hundred runs.
    private static let wanted = [
        "acknowledged", "refused", "crash", "crash in a commit", "crash at a step", "cannot start", "journal refuses",
        "leg applied", "leg parked", "leg refused", "leg skipped", "change of the rollout",
        "in-percent", "outside-percent", "pinned-new", "pinned-legacy", "behind", "draining", "breaker-open",
        "fallback-connect", "fallback-timeout", "fallback-5xx", "replayed",
        "status 409", "status 429", "status 500", "status 502", "status 503", "status 504",
    ]

    mutating func count(_ what: String, _ times: Int = 1) { counts[what, default: 0] += times }

    mutating func add(_ other: Tally) { counts.merge(other.counts) { $0 + $1 } }

    /// What never happened.
    var missing: [String] { Tally.wanted.filter { counts[$0] == nil } }

    var description: String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }
}

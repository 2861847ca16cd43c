internal import Synchronization

/// What the clients of the demo have seen. Only grows.
struct Counts: Sendable {
    var requests = 0
    var reads = 0
    var writes = 0
    /// Writes that were sent twice, and whose second answer was a replay of the first.
    var replays = 0
    var byNew = 0
    /// Answers by `Cutover-Reason`.
    var reasons: [String: Int] = [:]
    /// No answer, an unexpected status, or something older than what had been acknowledged.
    var errors = 0
    /// The part of `errors` that is a read older than an acknowledged write.
    var staleReads = 0

    /// Requests meant for new that legacy answered after all.
    var fallbacks: Int { reasons.filter { $0.key.hasPrefix("fallback-") }.values.reduce(0, +) }

    func since(_ earlier: Counts) -> Counts {
        var counts = self
        counts.requests -= earlier.requests
        counts.reads -= earlier.reads
        counts.writes -= earlier.writes
        counts.replays -= earlier.replays
        counts.byNew -= earlier.byNew
        counts.reasons.merge(earlier.reasons) { $0 - $1 }
        counts.errors -= earlier.errors
        counts.staleReads -= earlier.staleReads
        return counts
    }
}

/// Adds up what all clients see. Safe from any thread.
final class Tally: Sendable {
    private struct State {
        var counts = Counts()
        var usersOnNew: Set<String> = []
        var complaints: [String] = []
    }
    private let state = Mutex(State())

    /// How many complaints are kept in words; all are counted.
    private static let complaintLimit = 5

    var counts: Counts { state.withLock { $0.counts } }

    /// The first errors, in words.
    var complaints: [String] { state.withLock { $0.complaints } }

    /// Different users whom new has answered since the last `forgetUsers`.
    var usersOnNew: Int { state.withLock { $0.usersOnNew.count } }

    func forgetUsers() { state.withLock { $0.usersOnNew.removeAll() } }

    /// A request was answered.
    func answered(_ answer: Answer, user: String, isWrite: Bool) {
        state.withLock { state in
            state.counts.requests += 1
            if isWrite { state.counts.writes += 1 } else { state.counts.reads += 1 }
            if answer.headers["idempotent-replayed"] == "true" { state.counts.replays += 1 }
            if let reason = answer.headers["cutover-reason"] { state.counts.reasons[reason, default: 0] += 1 }
            if answer.headers["cutover-backend"] == "new" {
                state.counts.byNew += 1
                state.usersOnNew.insert(user)
            }
        }
    }

    /// A client did not get what it was promised.
    func complain(_ text: String, isStaleRead: Bool = false) {
        state.withLock { state in
            state.counts.errors += 1
            if isStaleRead { state.counts.staleReads += 1 }
            if state.complaints.count < Tally.complaintLimit { state.complaints.append(text) }
        }
    }
}

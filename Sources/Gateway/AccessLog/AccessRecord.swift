import Journal
import Rollout

/// What is written down about one request: the beginning of its line, made while its head is there, and what is counted
/// until it ends. Reused; confined to its loop.
final class AccessRecord {
    /// Longest beginning of a line. With what follows a line stays below 4 KiB (PIPE_BUF), so that a pipe takes all of it or
    /// nothing.
    static let beginningBytes = 3_072
    /// Where the target ends in it at the latest.
    static let targetEnd = 2_560
    /// Longest rest of a line.
    static let restBytes = 768

    let memory: UnsafeMutablePointer<UInt8>
    var count = 0
    /// The form that the line was begun in, whatever is reloaded meanwhile.
    var rules: AccessLogRules
    var isSampled = true
    /// Of the body, as far as it has come.
    var requestBytes = 0
    /// Of the body, as far as the client has taken it: with the framing of chunks.
    var responseBytes = 0
    /// Time until heads of answers came, of all backends that were asked for this request one after the other; nil when none was.
    var upstreamNanoseconds: UInt64?
    /// What the gateway answered by itself, and why.
    var problem: StaticString?
    /// What has become of both legs of a write by the time of its answer.
    var legs: (legacy: LegState, new: LegState)?

    init(_ rules: AccessLogRules) {
        self.rules = rules
        memory = .allocate(capacity: AccessRecord.beginningBytes)
    }

    deinit { memory.deallocate() }

    func reset(_ rules: AccessLogRules) {
        if self.rules !== rules { self.rules = rules }
        count = 0
        requestBytes = 0
        responseBytes = 0
        upstreamNanoseconds = nil
        problem = nil
        legs = nil
    }

    /// A backend was asked, and has answered or failed.
    func asked(_ nanoseconds: UInt64) { upstreamNanoseconds = (upstreamNanoseconds ?? 0) &+ nanoseconds }
}

/// How a request ended, for the rest of its line.
struct AccessEnd {
    var status: Int
    var decision: Decision?
    var nanoseconds: UInt64
    /// Of the body that was taken in whole.
    var bodyBytes: Int
}

extension LegState {
    /// The word that the contract uses.
    var word: StaticString {
        switch self {
        case .pending: "pending"
        case .applied: "applied"
        case .refused: "refused"
        case .superseded: "superseded"
        case .parked: "parked"
        case .skipped: "skipped"
        case .awaitingCopy: "awaiting-copy"
        }
    }
}

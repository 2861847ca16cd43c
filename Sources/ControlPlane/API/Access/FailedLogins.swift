/// Who has shown wrong tokens lately: after `perMinute` of them within a minute a peer is told to wait. Pure; time is an argument.
///
/// Limit: `peersMax` peers; the one whose last failure is the oldest makes room. Whoever has so many addresses that this
/// matters still has 256 random bits before them.
struct FailedLogins: Sendable {
    static let peersMax = 1_024
    static let minuteMilliseconds: Int64 = 60_000

    let perMinute: Int
    private var failures: [String: Record] = [:]

    private struct Record {
        /// When the peer failed within the last minute, oldest first; at most `perMinute` times.
        var times: [Int64] = []
        var isToldToWait = false
    }

    init(perMinute: Int = 10) { self.perMinute = perMinute }

    var peerCount: Int { failures.count }

    /// What a wrong token leads to.
    enum Consequence: Equatable {
        case mayTryAgain
        /// `isNew`: it was not told so before, within this wait.
        case wait(seconds: Int64, isNew: Bool)
    }

    /// A peer has shown a wrong token. Trying while it waits does not prolong the wait.
    /// - Parameter now: milliseconds of a clock that never goes back.
    mutating func failed(_ peer: String, now: Int64) -> Consequence {
        var record = failures[peer] ?? Record()
        record.times.removeAll { now - $0 >= Self.minuteMilliseconds }
        if record.times.count >= perMinute, let oldest = record.times.first {
            let isNew = !record.isToldToWait
            record.isToldToWait = true
            failures[peer] = record
            return .wait(seconds: max(1, (oldest + Self.minuteMilliseconds - now + 999) / 1000), isNew: isNew)
        }
        if failures[peer] == nil, failures.count >= Self.peersMax { dropOldest() }
        record.times.append(now)
        record.isToldToWait = false
        failures[peer] = record
        return .mayTryAgain
    }

    private mutating func dropOldest() {
        let oldest = failures.min {
            ($0.value.times.last ?? .min, $0.key) < ($1.value.times.last ?? .min, $1.key)
        }
        if let oldest { failures[oldest.key] = nil }
    }
}

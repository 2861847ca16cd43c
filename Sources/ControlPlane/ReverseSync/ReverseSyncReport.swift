package import Journal

/// What an operator asks of a reverse sync.
package struct ReverseSyncOrder: Sendable {
    package var actor: String
    package var reason: String
    /// Only changes accepted since then, in milliseconds since 1970; nil: all that the journal holds.
    package var sinceMilliseconds: Int64?
    /// Parked legs to legacy are sent again, too.
    package var includesParked = false
    /// Both backends are asked about every touched record at the end.
    package var verifies = true

    package init(actor: String, reason: String = "") {
        self.actor = actor
        self.reason = reason
    }
}

/// Changes that legacy lacks.
package struct MissingChanges: Sendable, Equatable {
    package var count = 0
    /// Older than what was asked about, and missing all the same.
    package var olderCount = 0
    /// When the oldest and the newest were accepted, in milliseconds since 1970.
    package var oldestMilliseconds: Int64?
    package var newestMilliseconds: Int64?
    /// Parked legs to legacy.
    package var parked = 0
    /// False: counting took too long and there are more.
    package var isComplete = true
}

/// A record that differs between the backends.
package struct RecordDifference: Sendable, Equatable {
    /// The change that touched it.
    package var sequence: Sequence64
    /// What was read, without its query: that may hold anything.
    package var path: String
    package var legacyStatus: Int
    package var newStatus: Int
    /// JSON pointers where the two differ; never values.
    package var pointers: [String]
}

/// How far a reverse sync is.
package struct ReverseSyncReport: Sendable {
    package enum Phase: String, Sendable {
        /// None has run since the gateway started.
        case idle
        case counting, sending, verifying
        /// It came to its end; `isClean` says whether all is well.
        case done
        /// It could not go on; `failure` says why. Running it again does the rest.
        case failed
    }

    package struct Verification: Sendable, Equatable {
        package var records = 0
        package var equal = 0
        package var different = 0
        /// Could not be read on both sides: no way to read it is known, a backend refused or failed.
        package var unverifiable = 0
        /// Being written right now.
        package var inFlight = 0
    }

    package var phase = Phase.idle
    /// Tells one run from the next.
    package var run = 0
    /// It runs because legacy is written again, not because somebody asked.
    package var isAutomatic = false
    package var sinceMilliseconds: Int64?
    package var startedMilliseconds: Int64 = 0
    package var endedMilliseconds: Int64?
    /// Legs to bring to legacy, and how many of them are settled.
    package var total = 0
    package var sent = 0
    package var done = 0
    package var sendingSinceNanoseconds: UInt64 = 0
    package var sentUntilNanoseconds: UInt64 = 0
    /// Legs of this run that legacy refused for good.
    package var parked: [Sequence64] = []
    package var parkedCount = 0
    package var verification: Verification?
    package var differences: [RecordDifference] = []
    package var failure: String?

    /// How many differences and parked legs are listed by name; the rest is counted.
    package static let listedMax = 100

    package var isRunning: Bool { phase == .counting || phase == .sending || phase == .verifying }

    /// Everything was brought to legacy, and nothing was found that differs.
    package var isClean: Bool { phase == .done && parkedCount == 0 && (verification?.different ?? 0) == 0 }

    /// Legs settled a second.
    package func rate(now: UInt64) -> Double {
        guard done > 0 else { return 0 }
        let end = phase == .sending ? now : sentUntilNanoseconds
        return Double(done) / max(0.001, Double(end &- sendingSinceNanoseconds) / 1e9)
    }

    /// Seconds until all are settled at this rate; nil while nothing can be said.
    package func secondsLeft(now: UInt64) -> Double? {
        guard phase == .sending else { return phase == .counting ? nil : 0 }
        let rate = rate(now: now)
        return rate > 0 ? Double(max(0, total - done)) / rate : nil
    }
}

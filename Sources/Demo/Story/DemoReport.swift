/// What the demo found out; every number is measured.
package struct DemoReport: Sendable {
    package var users = 0
    package var stages: [StageReport] = []
    package var secondDevice: SecondDeviceReport?
    package var outage: OutageReport?
    package var rollback: RollbackReport?
    package var comparison: ComparisonReport?
    package var requests = 0
    package var writes = 0
    /// Writes that clients sent twice and that were answered from the journal the second time.
    package var replayedAnswers = 0
    /// Requests that failed, were refused without cause, or showed something older than what had been acknowledged.
    package var clientErrors = 0
    /// The part of `clientErrors` that is a read older than an acknowledged write.
    package var staleReads = 0
    /// The first client errors in words.
    package var complaints: [String] = []
    package var parkedLegs = 0
    package var adminURL = ""
    package var seconds = 0.0

    /// Whether everything is as it must be.
    package var isAsPromised: Bool {
        guard let secondDevice, outage != nil, let rollback, let comparison else { return false }
        return clientErrors == 0 && parkedLegs == 0 && rollback.toPercent == 0 && secondDevice.isAsPromised
            && comparison.isAsPromised
    }
}

/// One stage of the rollout, at its end.
package struct StageReport: Sendable {
    package var name: String
    package var percent: Double
    /// Different users whom new has answered during the stage.
    package var usersOnNew: Int
    /// Requests of clients during the stage.
    package var requests: Int
    package var figures: Figures
    /// Shadow reads compared during the stage, and those that differed lastingly.
    package var compared: Int
    package var mismatched: Int
    /// What the gates said when the step to this stage was refused.
    package var refusals: [String] = []
    /// How long the step had to wait for them.
    package var waitedSeconds = 0.0
}

/// The four figures; nil where there was no sample.
package struct Figures: Sendable {
    package var readErrorRate: Double?
    package var writeP95Seconds: Double?
    package var conflictRate: Double?
    package var fallbackRate: Double?
}

/// A second device that did not know of the newest revision.
package struct SecondDeviceReport: Sendable {
    package var user: String
    package var acknowledgedRevision: Int64
    package var sentRevision: Int64
    package var status: Int
    /// Members of the gateway's answer.
    package var currentRevision: Int64?
    package var receivedRevision: Int64?
    package var action: String?
    /// What the refresh read, and what the write after it was answered.
    package var refreshedRevision: Int64?
    package var retriedRevision: Int64
    package var retriedStatus: Int

    var isAsPromised: Bool {
        status == 409 && currentRevision == acknowledgedRevision && receivedRevision == sentRevision
            && action == "refresh"
            && refreshedRevision == acknowledgedRevision && retriedStatus == 200
    }
}

/// New was away for a while.
package struct OutageReport: Sendable {
    package var seconds: Double
    package var requests: Int
    package var clientErrors: Int
    /// Requests meant for new that legacy answered after a failure, by kind; and because the breaker was open.
    package var fallbacks: Int
    package var breakerOpen: Int
    /// The most legs to new that the journal held at once.
    package var pendingPeak: Int
    /// From new being back until it held everything written before.
    package var drainSeconds: Double
}

/// The way back.
package struct RollbackReport: Sendable {
    /// From the command until its answer.
    package var seconds: Double
    package var fromPercent: Double
    package var toPercent: Double
    /// Answers by new after that.
    package var answersByNew: Int
}

/// Both backends, record by record.
package struct ComparisonReport: Sendable {
    package var records: Int
    package var tombstones: Int
    package var different: Int
    /// Acknowledged records of clients that a backend does not have, or has at an older revision.
    package var lost: Int
    /// The first differences in words.
    package var examples: [String] = []

    var isAsPromised: Bool { records > 0 && different == 0 && lost == 0 }
}

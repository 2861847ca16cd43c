package import Rollout

/// A fact about an accepted change that the journal has to keep.
package enum JournalUpdate: Sendable {
    /// The client is told (or would have been told, had it stayed) what became of the write. Every accepted change needs this
    /// once, those too that are finished after a restart: only then can it be pruned.
    /// - `servedBy`: the side whose answer the client got; nil when no backend answered (502, 504).
    /// - `legs`: both legs as they stand now.
    /// - `answer`: what a repeat with the same key gets. nil: the attempt failed (or was turned away with 408, 425, 429), the
    ///   key is free again and a repeat is a new attempt.
    /// - `revisionAccepted`: false gives the revisions of this change back (contract §6.6).
    case answered(Sequence64, servedBy: Side?, legs: Legs, answer: StoredAnswer?, revisionAccepted: Bool)
    /// One leg was tried, settled, parked or put back to `pending`.
    case leg(Sequence64, Side, LegStatus)

    /// The change that the fact is about.
    package var sequence: Sequence64 {
        switch self {
        case .answered(let sequence, _, _, _, _): sequence
        case .leg(let sequence, _, _): sequence
        }
    }
}

/// A change with at least one outstanding leg, without headers and body: what start-up needs to fill lanes and counts.
package struct OutstandingChange: Sendable, Equatable {
    package var sequence: Sequence64
    /// When it was accepted, in milliseconds since 1970.
    package var acceptedMilliseconds: Int64
    package var user: String?
    package var records: [String]
    package var side: Side
    package var legs: Legs
    /// Status that the client was answered with; nil: it was not answered, the authoritative leg comes first.
    package var answeredStatus: Int?

    package init(
        sequence: Sequence64, acceptedMilliseconds: Int64, user: String?, records: [String], side: Side, legs: Legs,
        answeredStatus: Int?
    ) {
        self.sequence = sequence
        self.acceptedMilliseconds = acceptedMilliseconds
        self.user = user
        self.records = records
        self.side = side
        self.legs = legs
        self.answeredStatus = answeredStatus
    }
}

/// A change with all that is needed to send a leg again.
package struct StoredChange: Sendable {
    package var sequence: Sequence64
    /// When it was accepted, in milliseconds since 1970.
    package var acceptedMilliseconds: Int64
    package var submission: Submission
    package var legs: Legs
    /// Status that the client was answered with; nil: it was not answered.
    package var answeredStatus: Int?

    package init(
        sequence: Sequence64, acceptedMilliseconds: Int64, submission: Submission, legs: Legs, answeredStatus: Int?
    ) {
        self.sequence = sequence
        self.acceptedMilliseconds = acceptedMilliseconds
        self.submission = submission
        self.legs = legs
        self.answeredStatus = answeredStatus
    }
}

/// One line of `cutover journal` (contract §9): never headers or body.
package struct JournalRow: Sendable, Equatable {
    package var sequence: Sequence64
    /// When it was accepted, in milliseconds since 1970.
    package var acceptedMilliseconds: Int64
    package var user: String?
    /// The first record it touches.
    package var record: String?
    package var revision: Int64?
    /// How many records it touches.
    package var recordCount: Int
    package var method: String
    package var target: String
    package var side: Side
    package var legs: Legs

    package init(
        sequence: Sequence64, acceptedMilliseconds: Int64, user: String?, record: String?, revision: Int64?,
        recordCount: Int, method: String, target: String, side: Side, legs: Legs
    ) {
        self.sequence = sequence
        self.acceptedMilliseconds = acceptedMilliseconds
        self.user = user
        self.record = record
        self.revision = revision
        self.recordCount = recordCount
        self.method = method
        self.target = target
        self.side = side
        self.legs = legs
    }
}

/// How many legs stand where, over the whole journal.
package struct JournalCounts: Sendable, Equatable {
    package var outstandingLegacy = 0
    package var outstandingNew = 0
    package var parkedLegacy = 0
    package var parkedNew = 0
    /// The newest place given out; 0 when the journal never held a change.
    package var lastSequence: Sequence64 = 0

    package init() {}
}

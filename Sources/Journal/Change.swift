package import Rollout

/// The place of a change in the order of acceptance. Starts at 1.
package typealias Sequence64 = Int64

/// One record that a write touches, with the revision that it brings.
package struct RecordRevision: Sendable, Equatable {
    /// The record's id, unique within the user.
    package var record: String
    /// The revision that the client sent; nil where the route names none.
    package var revision: Int64?
    /// Hash of this record's payload: the same revision with the same payload is a retry.
    package var payloadHash: String

    package init(record: String, revision: Int64?, payloadHash: String) {
        self.record = record
        self.revision = revision
        self.payloadHash = payloadHash
    }
}

/// A write as it was received, before it has a place in the journal.
package struct Submission: Sendable {
    /// The user, or nil for an anonymous write.
    package var user: String?
    /// The records it touches (several in a batch, none where the route names no record).
    package var records: [RecordRevision]
    /// The client's idempotency key; nil when it sent none.
    package var idempotencyKey: String?
    /// The key that goes out to the backends (the client's, else one the gateway made).
    package var outgoingKey: String
    /// Hash of method, target and body: tells a repeat from another request with the same key.
    package var fingerprint: String
    package var method: String
    package var target: String
    /// The request's header lines as they go to a backend, each ending in CRLF, without framing, conditional headers and Idempotency-Key.
    package var headerLines: [UInt8]
    /// The conditional header lines (If-Match, …), for the authoritative leg only.
    package var conditionalLines: [UInt8]
    package var body: [UInt8]
    /// The side that is authoritative for this write.
    package var side: Side
    /// False: the stage does not dual-write; the other leg is `skipped` from the start.
    package var dualWrite: Bool

    package init(
        user: String?, records: [RecordRevision], idempotencyKey: String?, outgoingKey: String, fingerprint: String,
        method: String, target: String, headerLines: [UInt8], conditionalLines: [UInt8], body: [UInt8], side: Side,
        dualWrite: Bool
    ) {
        self.user = user
        self.records = records
        self.idempotencyKey = idempotencyKey
        self.outgoingKey = outgoingKey
        self.fingerprint = fingerprint
        self.method = method
        self.target = target
        self.headerLines = headerLines
        self.conditionalLines = conditionalLines
        self.body = body
        self.side = side
        self.dualWrite = dualWrite
    }

    /// Whether the route carries revisions: then 409 and 412 from the other leg mean "has that or something newer".
    package var hasRevision: Bool { records.contains { $0.revision != nil } }
}

/// What the journal says to a submission.
package enum Admission: Sendable {
    /// Durable; legs may be sent in the order of the lanes.
    case accepted(Sequence64)
    /// Same key, same request, already answered: replay the first answer.
    case replay(StoredAnswer)
    /// Same key, same request, not yet answered.
    case running
    /// Same key, other request.
    case keyReused
    /// One or more revisions are not above the last accepted one.
    case stale([StaleRevision])
    /// The journal cannot be written now; nothing was accepted.
    case unavailable(String)
}

/// One stale item of a write.
package struct StaleRevision: Sendable, Equatable {
    package var record: String
    package var current: Int64
    package var received: Int64

    package init(record: String, current: Int64, received: Int64) {
        self.record = record
        self.current = current
        self.received = received
    }
}

/// The first answer to an idempotent write, kept for replay.
package struct StoredAnswer: Sendable, Equatable {
    package var status: Int
    /// Chosen header lines, each ending in CRLF.
    package var headerLines: [UInt8]
    package var body: [UInt8]
    package var servedBy: Side
    /// True when the first body was longer than `bodyLimitBytes` and `body` is empty in its place.
    package var isBodyOmitted: Bool

    /// The longest body that is kept for a replay, in bytes.
    package static let bodyLimitBytes = 65_536

    package init(status: Int, headerLines: [UInt8], body: [UInt8], servedBy: Side, isBodyOmitted: Bool = false) {
        self.status = status
        self.headerLines = headerLines
        self.body = body
        self.servedBy = servedBy
        self.isBodyOmitted = isBodyOmitted
    }
}

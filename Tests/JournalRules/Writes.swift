package import Journal
package import Rollout

/// A write with sensible defaults. The fingerprint follows from target and body unless it is given.
package func submission(
    user: String? = "anna", _ records: [(String, Int64?)] = [("note", nil)], key: String? = nil, body: String = "{}",
    payload: String? = nil, target: String = "/changes", side: Side = .legacy, dualWrite: Bool = true
) -> Submission {
    Submission(
        user: user,
        records: records.map { RecordRevision(record: $0.0, revision: $0.1, payloadHash: payload ?? body) },
        idempotencyKey: key, outgoingKey: key ?? "made", fingerprint: target + body, method: "POST", target: target,
        headerLines: Array("Content-Type: application/json\r\n".utf8),
        conditionalLines: Array("If-Match: \"1\"\r\n".utf8), body: Array(body.utf8), side: side, dualWrite: dualWrite)
}

package func answer(_ status: Int = 201, body: String = "ok", servedBy: Side = .legacy) -> StoredAnswer {
    StoredAnswer(
        status: status, headerLines: Array("ETag: \"2\"\r\n".utf8), body: Array(body.utf8), servedBy: servedBy)
}

extension JournalUpdate {
    /// The client got 201 from legacy; the leg to new is as given.
    package static func accepted(_ sequence: Sequence64, new: LegState = .pending, answer: StoredAnswer = answer())
        -> Self
    {
        .answered(
            sequence, servedBy: .legacy,
            legs: Legs(legacy: LegStatus(.applied, attempts: 1, lastStatus: answer.status), new: LegStatus(new)),
            answer: answer, revisionAccepted: true)
    }

    /// The client got 201 from new, and legacy was not told.
    package static func acceptedByNew(_ sequence: Sequence64) -> Self {
        .answered(
            sequence, servedBy: .new,
            legs: Legs(legacy: LegStatus(.skipped), new: LegStatus(.applied, attempts: 1, lastStatus: 201)),
            answer: answer(servedBy: .new), revisionAccepted: true)
    }

    /// The authoritative backend refused it with a 4xx.
    package static func refused(_ sequence: Sequence64, status: Int = 422) -> Self {
        .answered(
            sequence, servedBy: .legacy,
            legs: Legs(legacy: LegStatus(.refused, attempts: 1, lastStatus: status), new: LegStatus(.skipped)),
            answer: answer(status, body: "no"), revisionAccepted: false)
    }

    /// The authoritative backend failed, and nothing took over.
    package static func failed(_ sequence: Sequence64) -> Self {
        .answered(
            sequence, servedBy: nil,
            legs: Legs(legacy: LegStatus(.skipped, attempts: 1, lastStatus: 503), new: LegStatus(.skipped)),
            answer: nil, revisionAccepted: false)
    }
}

extension Admission {
    /// A short text to compare with.
    package var summary: String {
        switch self {
        case .accepted(let sequence): "accepted \(sequence)"
        case .replay(let answer): "replay \(answer.status)"
        case .running: "running"
        case .keyReused: "reused"
        case .stale(let items):
            "stale " + items.map { "\($0.record):\($0.received)<\($0.current)" }.joined(separator: ",")
        case .unavailable: "unavailable"
        }
    }
}

extension JournalStore {
    /// Submits one group and returns what was said, as short texts.
    package func said(_ submissions: Submission..., updates: [JournalUpdate] = [], now: Int64 = 1_000) throws
        -> [String]
    {
        try commit(submissions, updates: updates, now: now).admissions.map(\.summary)
    }
}

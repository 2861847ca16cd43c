import Journal

/// The safeguards that a mutation takes away, one at a time. All are there unless a test says so.
struct Switches: Sendable {
    /// Syncs of the disk do nothing.
    var ignoresSyncs = false
    /// Every change gets a lane of its own.
    var hasNoLanes = false
    /// Outstanding legs do not count when it is decided who serves a user.
    var ignoresOutstanding = false
    /// Nothing is taken up again after a start.
    var doesNotRecover = false
    /// A known key is a key like any other.
    var ignoresKeys = false
    /// A leg that is read back from the journal gets another key than the one that it was sent with.
    var changesOutgoingKeys = false

    /// A submission as the journal gets to see it.
    func changed(_ submission: Submission) -> Submission {
        guard ignoresKeys else { return submission }
        var submission = submission
        // The outgoing key stays: both legs still carry it.
        submission.idempotencyKey = nil
        return submission
    }

    /// A change as it is read back for a retry.
    func changed(_ change: StoredChange?) -> StoredChange? {
        guard changesOutgoingKeys, var change else { return change }
        change.submission.outgoingKey += "-again"
        return change
    }

    /// The records that make the lanes of a change.
    func lanes(_ sequence: Sequence64, _ records: [String]) -> [String] {
        hasNoLanes ? ["lane of \(sequence)"] : records
    }
}

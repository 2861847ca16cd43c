internal import Journal
internal import Rollout

/// Deciding about a write (contract §6.5, §6.6). All of it runs inside the transaction of the group.
extension SQLiteStore {
    /// What to say to a submission. `.accepted` carries no place yet.
    func judge(_ submission: Submission) throws(JournalError) -> Admission {
        let user = submission.user ?? ""
        if let key = submission.idempotencyKey {
            statements.keyHolder.bind(user).bind(key)
            if try statements.keyHolder.step() {
                let holder = statements.keyHolder
                let (sequence, fingerprint) = (holder.integer(0), holder.text(1))
                let isAnswered = holder.integer(2) != 0
                holder.reset()
                guard fingerprint == submission.fingerprint else { return .keyReused }
                guard isAnswered else { return .running }
                if let answer = try storedAnswer(sequence) { return .replay(answer) }
                // Both are written and removed together. Should that ever break, only this repeat suffers, not its group.
                return .unavailable("change \(sequence) is answered and holds its key, but its answer is missing")
            }
        }
        return submission.hasRevision ? try judgeRevisions(submission, user: user) : .accepted(0)
    }

    private struct Accepted {
        var revision: Int64
        /// The change that brought it; nil for an earlier item of the same batch.
        var sequence: Sequence64?
        var payloadHash: String
        var key: String?
    }

    /// Compares every record with its last accepted revision.
    ///
    /// A write all of whose records repeat what one earlier change brought is that change again: its answer is replayed
    /// where it is stored. Any other repeat is accepted once more: both backends take it as the repeat it is.
    private func judgeRevisions(_ submission: Submission, user: String) throws(JournalError) -> Admission {
        var stale: [StaleRevision] = []
        var repeats: [Sequence64] = []
        var batch: [String: Accepted] = [:]
        for item in submission.records {
            guard let revision = item.revision else { continue }
            let last: Accepted?
            if let earlier = batch[item.record] { last = earlier } else { last = try lastAccepted(user, item.record) }
            if let last, revision <= last.revision {
                let isRepeat =
                    revision == last.revision
                    && (item.payloadHash == last.payloadHash
                        || (last.key != nil && last.key == submission.idempotencyKey))
                if !isRepeat {
                    stale.append(StaleRevision(record: item.record, current: last.revision, received: revision))
                } else if let sequence = last.sequence {
                    repeats.append(sequence)
                }
            } else if submission.records.count > 1 {
                batch[item.record] = Accepted(
                    revision: revision, sequence: nil, payloadHash: item.payloadHash, key: nil)
            }
        }
        guard stale.isEmpty else { return .stale(stale) }
        return try judgeRepeats(repeats, submission)
    }

    private func judgeRepeats(_ repeats: [Sequence64], _ submission: Submission) throws(JournalError) -> Admission {
        for sequence in repeats {
            statements.earlierChange.bind(sequence)
            guard try statements.earlierChange.step() else { continue }
            let earlier = statements.earlierChange
            let isAnswered = earlier.integer(0) != 0
            let isSame =
                earlier.integer(1) == submission.records.count && repeats.count == submission.records.count
                && repeats.allSatisfy { $0 == sequence } && earlier.text(2) == submission.method
                && earlier.text(3) == submission.target
            earlier.reset()
            guard isAnswered else { return .running }
            if isSame, let answer = try storedAnswer(sequence) { return .replay(answer) }
        }
        return .accepted(0)
    }

    private func lastAccepted(_ user: String, _ record: String) throws(JournalError) -> Accepted? {
        statements.latestRevision.bind(user).bind(record)
        guard try statements.latestRevision.step() else { return nil }
        defer { statements.latestRevision.reset() }
        let row = statements.latestRevision
        return Accepted(
            revision: row.integer(0), sequence: row.integer(1), payloadHash: row.text(2), key: row.textOrNil(3))
    }

    private func storedAnswer(_ sequence: Sequence64) throws(JournalError) -> StoredAnswer? {
        statements.answer.bind(sequence)
        guard try statements.answer.step() else { return nil }
        defer { statements.answer.reset() }
        let row = statements.answer
        guard !row.isNull(0), !row.isNull(1), !row.isNull(2) else { return nil }
        return StoredAnswer(
            status: Int(row.integer(0)), headerLines: row.bytes(2), body: row.bytes(3),
            servedBy: try SQLiteQueries.side(row.integer(1)), isBodyOmitted: row.isNull(3))
    }

    /// Stores an accepted submission.
    func insert(_ submission: Submission, as sequence: Sequence64, now: Int64) throws(JournalError) {
        let user = submission.user ?? ""
        let first = submission.records.first
        let legs = Legs(acceptedOn: submission.side, dualWrite: submission.dualWrite)
        statements.insertChange.bind(sequence).bind(now).bind(user).bind(first?.record).bind(first?.revision)
            .bind(first?.payloadHash).bind(submission.records.count).bind(submission.hasRevision)
            .bind(submission.idempotencyKey).bind(submission.outgoingKey).bind(submission.idempotencyKey != nil)
            .bind(submission.fingerprint).bind(submission.method).bind(submission.target)
            .bind(Int64(submission.side.rawValue)).bind(submission.dualWrite)
            .bind(legs.legacy.state.word).bind(legs.new.state.word)
        try statements.insertChange.run()
        try insertBody(submission, as: sequence)
        var change = Unanswered(user: user, keepsAnswer: submission.idempotencyKey != nil || submission.hasRevision)
        for (ordinal, item) in submission.records.enumerated() {
            if ordinal > 0 {
                statements.insertBatchRecord.bind(sequence).bind(ordinal).bind(item.record).bind(item.revision)
                    .bind(item.payloadHash)
                try statements.insertBatchRecord.run()
            }
            if let revision = item.revision {
                statements.insertRevision.bind(user).bind(item.record).bind(revision).bind(sequence)
                    .bind(item.payloadHash).bind(submission.idempotencyKey)
                try statements.insertRevision.run()
                // Which records had an older revision is not remembered from judging: the look-up is one for a known page.
                change.revisions.append(.init(record: item.record, revision: revision, hasOlder: true))
            }
        }
        unanswered[sequence] = change
    }

    private func insertBody(_ submission: Submission, as sequence: Sequence64) throws(JournalError) {
        // The bytes are borrowed, not copied: the statement runs to its end inside the closures.
        try withBytes(submission.headerLines) { headers throws(JournalError) in
            try withBytes(submission.conditionalLines) { conditionals throws(JournalError) in
                try withBytes(submission.body) { body throws(JournalError) in
                    statements.insertBody.bind(sequence).bind(borrowing: headers).bind(borrowing: conditionals)
                        .bind(borrowing: body)
                    try statements.insertBody.run()
                }
            }
        }
    }
}

/// `withUnsafeBufferPointer` with this module's typed error.
func withBytes(
    _ bytes: [UInt8], _ body: (UnsafeBufferPointer<UInt8>) throws(JournalError) -> Void
) throws(JournalError) {
    try bytes.withUnsafeBufferPointer(body)
}

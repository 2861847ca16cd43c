internal import Journal
internal import Rollout

/// Keeping what has become of a change. All of it runs inside the transaction of the group.
extension SQLiteStore {
    /// Keeps one fact. A fact about a change that is no longer there is dropped: it was settled and pruned.
    func keep(_ update: JournalUpdate) throws(JournalError) {
        switch update {
        case .leg(let sequence, let side, let status):
            let statement = side == .legacy ? statements.legacyLeg : statements.newLeg
            try bind(status, to: statement).bind(sequence).run()
        case .answered(let sequence, let servedBy, let legs, let answer, let revisionAccepted):
            let change = try takeUnanswered(sequence)
            if let answer {
                try keep(answer, of: sequence, legs: legs, withBody: change?.keepsAnswer ?? false)
            } else {
                statements.failed.bind(servedBy.flatMap { legs[$0].lastStatus }).bind(servedBy.map { Int($0.rawValue) })
                bind(legs.legacy, to: statements.failed)
                try bind(legs.new, to: statements.failed).bind(sequence).run()
            }
            if let change { try settleRevisions(of: change, sequence, accepted: revisionAccepted) }
        }
    }

    @discardableResult
    private func bind(_ status: LegStatus, to statement: Statement) -> Statement {
        statement.bind(status.state.word).bind(status.attempts).bind(status.refusals).bind(status.lastStatus)
            .bind(status.nextAttemptMilliseconds)
    }

    /// Keeps an answer; headers and body only where a repeat can ask for them.
    private func keep(
        _ answer: StoredAnswer, of sequence: Sequence64, legs: Legs, withBody: Bool
    ) throws(JournalError) {
        let isTooLong = answer.isBodyOmitted || answer.body.count > StoredAnswer.bodyLimitBytes
        let statement = statements.answered
        try withBytes(answer.headerLines) { headers throws(JournalError) in
            try withBytes(answer.body) { body throws(JournalError) in
                statement.bind(answer.status).bind(Int64(answer.servedBy.rawValue))
                if withBody { statement.bind(borrowing: headers) } else { statement.bindNull() }
                if withBody, !isTooLong { statement.bind(borrowing: body) } else { statement.bindNull() }
                bind(legs.legacy, to: statement)
                try bind(legs.new, to: statement).bind(sequence).run()
            }
        }
    }

    /// What is known about a change that was not answered yet: from memory, or from its row after a start or a failed group.
    private func takeUnanswered(_ sequence: Sequence64) throws(JournalError) -> Unanswered? {
        if let known = unanswered.removeValue(forKey: sequence) { return known }
        statements.unanswered.bind(sequence)
        guard try statements.unanswered.step() else { return nil }
        let row = statements.unanswered
        let (hasRevision, holdsKey, count) = (row.integer(4) != 0, row.integer(5) != 0, row.integer(3))
        var change = Unanswered(user: row.text(0), keepsAnswer: hasRevision || holdsKey)
        if hasRevision, let revision = row.integerOrNil(2) {
            change.revisions.append(.init(record: row.text(1), revision: revision, hasOlder: true))
        }
        row.reset()
        guard hasRevision, count > 1 else { return change }
        for item in try queries.readBatchRecords(sequence) {
            guard let revision = item.revision else { continue }
            change.revisions.append(.init(record: item.record, revision: revision, hasOlder: true))
        }
        return change
    }

    /// An accepted revision makes the older ones of its record needless; a refused one is free again.
    private func settleRevisions(
        of change: Unanswered, _ sequence: Sequence64, accepted: Bool
    ) throws(JournalError) {
        for item in change.revisions {
            if !accepted {
                statements.dropOwnRevision.bind(change.user).bind(item.record).bind(item.revision).bind(sequence)
                try statements.dropOwnRevision.run()
            } else if item.hasOlder {
                statements.dropOlderRevisions.bind(change.user).bind(item.record).bind(item.revision)
                try statements.dropOlderRevisions.run()
            }
        }
    }
}

extension LegState {
    /// `rawValue` as a word of the program: to bind it takes no text.
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

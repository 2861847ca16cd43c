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
            let status = answer?.status ?? servedBy.flatMap { legs[$0].lastStatus }
            statements.answered.bind(status).bind(answer != nil)
            bind(legs.legacy, to: statements.answered)
            try bind(legs.new, to: statements.answered).bind(sequence).run()
            if let answer { try insert(answer, of: sequence) }
            try settleRevisions(sequence, accepted: revisionAccepted)
        }
    }

    @discardableResult
    private func bind(_ status: LegStatus, to statement: Statement) -> Statement {
        statement.bind(status.state.rawValue).bind(status.attempts).bind(status.refusals).bind(status.lastStatus)
            .bind(status.nextAttemptMilliseconds)
    }

    private func insert(_ answer: StoredAnswer, of sequence: Sequence64) throws(JournalError) {
        let isTooLong = answer.body.count > StoredAnswer.bodyLimitBytes
        try withBytes(answer.headerLines) { headers throws(JournalError) in
            try withBytes(isTooLong ? [] : answer.body) { body throws(JournalError) in
                statements.insertAnswer.bind(answer.status).bind(Int64(answer.servedBy.rawValue))
                    .bind(borrowing: headers).bind(borrowing: body).bind(answer.isBodyOmitted || isTooLong)
                    .bind(sequence)
                try statements.insertAnswer.run()
            }
        }
    }

    /// An accepted revision makes the older ones of its record needless; a refused one is free again.
    private func settleRevisions(_ sequence: Sequence64, accepted: Bool) throws(JournalError) {
        statements.revisionsOf.bind(sequence)
        guard try statements.revisionsOf.step() else { return }
        let row = statements.revisionsOf
        let user = row.text(0)
        var items = [(record: row.text(1), revision: row.integerOrNil(2))]
        let count = row.integer(3)
        row.reset()
        if count > 1 { items += try queries.readBatchRecords(sequence).map { ($0.record, $0.revision) } }
        for item in items {
            guard let revision = item.revision else { continue }
            let statement = accepted ? statements.dropOlderRevisions : statements.dropOwnRevision
            statement.bind(user).bind(item.record).bind(revision)
            if !accepted { statement.bind(sequence) }
            try statement.run()
        }
    }
}

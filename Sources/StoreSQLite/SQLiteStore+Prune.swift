package import Journal

/// Removing what no rule needs any more.
extension SQLiteStore {
    /// How many rows one `prune` looks at: some milliseconds of the journal thread.
    static let pruneStepRows = 1_000

    /// Walks on from where the last call stopped, oldest rows first, and starts over when it meets a row that is young.
    ///
    /// The order of acceptance stands for age: no row is older than any before it, whatever its stamp says. A clock that was
    /// stepped back makes it stop early, never delete early.
    package func prune(_ retention: Retention, now: Int64) throws(JournalError) -> PruneResult {
        let deleteBefore = now - max(retention.rollbackWindowMilliseconds, retention.idempotencyMilliseconds)
        let releaseBefore = now - retention.idempotencyMilliseconds
        let scan = try Statement(
            connection,
            """
            SELECT sequence, accepted_at, holds_key, is_answered, \(Schema.outstanding) OR \(Schema.parked)
            FROM change WHERE sequence > ? ORDER BY sequence LIMIT ?
            """)
        scan.bind(pruneCursor).bind(Self.pruneStepRows)
        var (deletable, releasable): ([Sequence64], [Sequence64]) = ([], [])
        var cursor: Sequence64 = 0
        var looked = 0
        if pruneCursor == 0 { pruneNewestStamp = .min }
        while try scan.step() {
            let accepted = max(pruneNewestStamp, scan.integer(1))
            pruneNewestStamp = accepted
            guard accepted < releaseBefore else {
                cursor = 0
                break
            }
            looked += 1
            cursor = scan.integer(0)
            let isAnswered = scan.integer(3) != 0
            if isAnswered, scan.integer(4) == 0, accepted < deleteBefore {
                deletable.append(cursor)
            } else if isAnswered, scan.integer(2) != 0 {
                releasable.append(cursor)
            }
        }
        scan.reset()
        if looked < Self.pruneStepRows { cursor = 0 }
        try remove(deletable, releasing: releasable)
        pruneCursor = cursor
        return PruneResult(
            deletedChanges: deletable.count, releasedKeys: releasable.count, hasMore: cursor != 0)
    }

    private func remove(_ deletable: [Sequence64], releasing releasable: [Sequence64]) throws(JournalError) {
        guard let last = deletable.last ?? releasable.last else { return }
        try connection.transaction { () throws(JournalError) in
            let deletes = try ["change", "change_body", "batch_record"].map { table throws(JournalError) in
                try Statement(connection, "DELETE FROM \(table) WHERE sequence = ?")
            }
            for sequence in deletable {
                for delete in deletes { try delete.bind(sequence).run() }
            }
            let release = try Statement(
                connection,
                "UPDATE change SET holds_key = 0, answer_header_lines = NULL, answer_body = NULL WHERE sequence = ?")
            for sequence in releasable { try release.bind(sequence).run() }
            guard !deletable.isEmpty else { return }
            // Places are never given out twice, even when the newest change is gone.
            let mark = try Statement(
                connection,
                """
                INSERT INTO counter VALUES ('pruned_sequence', ?)
                ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
                """)
            try mark.bind(last).run()
        }
    }
}

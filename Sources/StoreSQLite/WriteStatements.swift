internal import Journal

/// The prepared writing statements, and the look-ups that decide about a write.
final class WriteStatements {
    let insertChange: Statement
    let insertBatchRecord: Statement
    let insertBody: Statement
    let insertRevision: Statement
    let keyHolder: Statement
    let latestRevision: Statement
    let earlierChange: Statement
    let answer: Statement
    let answered: Statement
    let failed: Statement
    let unanswered: Statement
    let dropOlderRevisions: Statement
    let dropOwnRevision: Statement
    let legacyLeg: Statement
    let newLeg: Statement

    private static let legs =
        """
        legacy_state = ?, legacy_attempts = ?, legacy_refusals = ?, legacy_last_status = ?, legacy_next_attempt_at = ?,
        new_state = ?, new_attempts = ?, new_refusals = ?, new_last_status = ?, new_next_attempt_at = ?
        """

    init(_ connection: SQLiteConnection) throws(JournalError) {
        func prepare(_ sql: String) throws(JournalError) -> Statement { try Statement(connection, sql) }
        insertChange = try prepare(
            """
            INSERT INTO change (sequence, accepted_at, user, record, revision, payload_hash, record_count, has_revision,
                idempotency_key, outgoing_key, holds_key, fingerprint, method, target, side, dual_write,
                legacy_state, new_state)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertBatchRecord = try prepare("INSERT INTO batch_record VALUES (?, ?, ?, ?, ?)")
        insertBody = try prepare("INSERT INTO change_body VALUES (?, ?, ?, ?)")
        // A retry of an accepted revision leaves the row of the first one: should the retry be refused, it stays taken.
        insertRevision = try prepare("INSERT OR IGNORE INTO record_revision VALUES (?, ?, ?, ?, ?, ?)")
        keyHolder = try prepare(
            """
            SELECT sequence, fingerprint, is_answered FROM change
            WHERE user = ? AND idempotency_key = ? AND holds_key = 1
            """)
        latestRevision = try prepare(
            """
            SELECT revision, sequence, payload_hash, idempotency_key FROM record_revision
            WHERE user = ? AND record = ? ORDER BY revision DESC LIMIT 1
            """)
        earlierChange = try prepare("SELECT is_answered, record_count, method, target FROM change WHERE sequence = ?")
        answer = try prepare(
            "SELECT answered_status, served_by, answer_header_lines, answer_body FROM change WHERE sequence = ?")
        // `holds_key` is only named where it changes: SQLite rewrites the entry of every index whose columns are named.
        answered = try prepare(
            """
            UPDATE change SET is_answered = 1, answered_status = ?, served_by = ?, answer_header_lines = ?,
                answer_body = ?, \(Self.legs)
            WHERE sequence = ?
            """)
        failed = try prepare(
            """
            UPDATE change SET is_answered = 1, answered_status = ?, served_by = ?, holds_key = 0, \(Self.legs)
            WHERE sequence = ?
            """)
        unanswered = try prepare(
            "SELECT user, record, revision, record_count, has_revision, holds_key FROM change WHERE sequence = ?")
        dropOlderRevisions = try prepare("DELETE FROM record_revision WHERE user = ? AND record = ? AND revision < ?")
        dropOwnRevision = try prepare(
            "DELETE FROM record_revision WHERE user = ? AND record = ? AND revision = ? AND sequence = ?")
        legacyLeg = try prepare(
            """
            UPDATE change SET legacy_state = ?, legacy_attempts = ?, legacy_refusals = ?, legacy_last_status = ?,
                legacy_next_attempt_at = ? WHERE sequence = ?
            """)
        newLeg = try prepare(
            """
            UPDATE change SET new_state = ?, new_attempts = ?, new_refusals = ?, new_last_status = ?,
                new_next_attempt_at = ? WHERE sequence = ?
            """)
    }
}

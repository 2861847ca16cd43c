package import Journal
internal import Rollout

/// The state of the rollout, events and pins, shared by all gateways; and pruning.
extension PostgresStore {
    /// How many rows one `prune` looks at.
    static let pruneStepRows = 1_000

    private static let saveRollout = statement("save_rollout", parameters: 14)
    private static let setPin = statement("set_pin", parameters: 9)
    private static let removePin = statement("remove_pin", parameters: 7)
    private static let appendEvent = statement("append_event", parameters: 6)
    private static let pruneStep = PostgresStatement("prune_step", "SELECT * FROM prune_step($1, $2, $3, $4, $5)")

    private static func statement(_ name: String, parameters: Int) -> PostgresStatement {
        PostgresStatement(name, "SELECT \(name)(\((1...parameters).map { "$\($0)" }.joined(separator: ", ")))")
    }

    package func saveRollout(
        _ record: RolloutRecord, replacing generation: Int64, event: RolloutEvent
    ) throws(JournalError) -> Bool {
        let parameters = PostgresParameters().int64(generation).int64(record.generation).text(record.plan)
            .text(record.stage).int32(record.percentHundredths).text(record.state).int64(record.sinceMilliseconds)
            .text(record.details)
        return try connection.query(Self.saveRollout, Self.with(event, parameters)).boolean(0, 0)
    }

    package func setPin(_ pin: Pin, event: RolloutEvent) throws(JournalError) {
        let parameters = PostgresParameters().text(pin.user).int32(Int(pin.side.rawValue)).int64(pin.sinceMilliseconds)
        _ = try connection.query(Self.setPin, Self.with(event, parameters))
    }

    package func removePin(user: String, event: RolloutEvent) throws(JournalError) -> Bool {
        try connection.query(Self.removePin, Self.with(event, PostgresParameters().text(user))).boolean(0, 0)
    }

    package func appendEvent(_ event: RolloutEvent) throws(JournalError) {
        _ = try connection.query(Self.appendEvent, Self.with(event, PostgresParameters()))
    }

    private static func with(_ event: RolloutEvent, _ parameters: PostgresParameters) -> PostgresParameters {
        parameters.int64(event.atMilliseconds).text(event.actor).text(event.action).text(event.before)
            .text(event.after).text(event.reason)
    }

    /// Walks on from where the last call stopped, oldest rows first, and starts over when it meets a row that is young.
    ///
    /// The order of acceptance stands for age: no row is older than any before it, whatever its stamp says. A clock that was
    /// stepped back makes it stop early, never delete early. While another gateway prunes, it does nothing.
    package func prune(_ retention: Retention, now: Int64) throws(JournalError) -> PruneResult {
        let deleteBefore = now - max(retention.rollbackWindowMilliseconds, retention.idempotencyMilliseconds)
        let newest = pruneCursor == 0 ? .min : pruneNewestStamp
        let parameters = PostgresParameters().int64(pruneCursor).int64(newest).int32(Self.pruneStepRows)
            .int64(now - retention.idempotencyMilliseconds).int64(deleteBefore)
        let rows = try connection.query(Self.pruneStep, parameters)
        pruneCursor = rows.integer(0, 2)
        pruneNewestStamp = rows.integer(0, 3)
        return PruneResult(
            deletedChanges: Int(rows.integer(0, 0)), releasedKeys: Int(rows.integer(0, 1)), hasMore: pruneCursor != 0)
    }
}

package import Journal
internal import Rollout

/// The state of the rollout, events and pins. Rare operations: their statements are prepared when they are needed.
extension SQLiteStore {
    package func saveRollout(
        _ record: RolloutRecord, replacing generation: Int64, event: RolloutEvent
    ) throws(JournalError) -> Bool {
        try connection.transaction { () throws(JournalError) in
            guard try (queries.readRollout()?.generation ?? 0) == generation else { return false }
            let statement = try Statement(connection, "INSERT OR REPLACE INTO rollout VALUES (1, ?, ?, ?, ?, ?, ?, ?)")
            statement.bind(record.generation).bind(record.plan).bind(record.stage).bind(record.percentHundredths)
                .bind(record.state).bind(record.sinceMilliseconds).bind(record.details)
            try statement.run()
            try append(event)
            return true
        }
    }

    package func setPin(_ pin: Pin, event: RolloutEvent) throws(JournalError) {
        try connection.transaction { () throws(JournalError) in
            let statement = try Statement(connection, "INSERT OR REPLACE INTO pin VALUES (?, ?, ?)")
            try statement.bind(pin.user).bind(Int64(pin.side.rawValue)).bind(pin.sinceMilliseconds).run()
            try append(event)
        }
    }

    package func removePin(user: String, event: RolloutEvent) throws(JournalError) -> Bool {
        try connection.transaction { () throws(JournalError) in
            let statement = try Statement(connection, "DELETE FROM pin WHERE user = ?")
            try statement.bind(user).run()
            guard statement.changedRows > 0 else { return false }
            try append(event)
            return true
        }
    }

    package func appendEvent(_ event: RolloutEvent) throws(JournalError) {
        try connection.transaction { () throws(JournalError) in try append(event) }
    }

    private func append(_ event: RolloutEvent) throws(JournalError) {
        let statement = try Statement(
            connection, "INSERT INTO event (at, actor, action, before, after, reason) VALUES (?, ?, ?, ?, ?, ?)")
        statement.bind(event.atMilliseconds).bind(event.actor).bind(event.action).bind(event.before).bind(event.after)
            .bind(event.reason)
        try statement.run()
    }
}

package import Journal
package import Rollout

/// What reads the shared journal over a connection: the same code for the writing and the reading connection.
package protocol PostgresReading: JournalReading {
    var connection: PostgresConnection { get }
    var membership: Membership { get }
}

extension PostgresReading {
    /// The first parameters of every question about this gateway's own work: only what it is to deliver, and only of groups
    /// whose fate is known (`Membership.confirmed`).
    private func own(after sequence: Sequence64, limit: Int) -> PostgresParameters {
        let (owner, group) = membership.confirmed
        return PostgresParameters().int64(owner).int64(group).int64(sequence).int64(Int64(limit))
    }

    package func outstanding(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange] {
        try PostgresQueries.all(
            try connection.query(PostgresQueries.outstanding, own(after: sequence, limit: limit)),
            PostgresQueries.outstanding)
    }

    package func outstanding(_ query: OutstandingQuery) throws(JournalError) -> [OutstandingChange] {
        var parameters = own(after: query.after, limit: query.limit).int64(query.through).int64(query.throughTakeover)
        if case .user(let user) = query.scope { parameters = parameters.text(user ?? "") }
        return try PostgresQueries.all(
            try connection.query(PostgresQueries.page(query), parameters), PostgresQueries.outstanding)
    }

    package func outstandingPlaces(
        after sequence: Sequence64, limit: Int
    ) throws(JournalError) -> [OutstandingPlace] {
        try PostgresQueries.all(
            try connection.query(PostgresQueries.places, own(after: sequence, limit: limit)), PostgresQueries.place)
    }

    package func unanswered(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange] {
        try PostgresQueries.all(
            try connection.query(PostgresQueries.unanswered, own(after: sequence, limit: limit)),
            PostgresQueries.outstanding)
    }

    package func sharedVersion() throws(JournalError) -> Int64 {
        try connection.query(PostgresQueries.sharedVersion).integer(0, 0)
    }

    package func load(_ sequence: Sequence64) throws(JournalError) -> StoredChange? {
        let rows = try connection.query(PostgresQueries.load, PostgresParameters().int64(sequence))
        return rows.count == 1 ? try PostgresQueries.stored(rows, sequence) : nil
    }

    package func rows(
        parkedOnly: Bool, before cursor: Sequence64?, limit: Int
    ) throws(JournalError) -> [JournalRow] {
        let statement = parkedOnly ? PostgresQueries.parkedRows : PostgresQueries.rows
        let parameters = PostgresParameters().int64(cursor ?? .max).int64(Int64(limit))
        return try PostgresQueries.all(try connection.query(statement, parameters), PostgresQueries.row)
    }

    package func parked(after sequence: Sequence64, limit: Int) throws(JournalError) -> [Sequence64] {
        let parameters = PostgresParameters().int64(sequence).int64(Int64(limit))
        return try PostgresQueries.all(try connection.query(PostgresQueries.parked, parameters)) { $0.integer($1, 0) }
    }

    package func unshared(
        after sequence: Sequence64, skippedOnly: Bool, limit: Int
    ) throws(JournalError) -> [UnsharedChange] {
        let parameters = PostgresParameters().int64(sequence).int64(Int64(limit))
        return try PostgresQueries.all(
            try connection.query(PostgresQueries.unshared(skippedOnly: skippedOnly), parameters),
            PostgresQueries.unshared)
    }

    package func changeBehind(_ sequence: Sequence64, on side: Side) throws(JournalError) -> Sequence64? {
        try PostgresQueries.all(
            try connection.query(PostgresQueries.behind(side), PostgresParameters().int64(sequence))
        ) { $0.integer($1, 0) }.first
    }

    package func counts() throws(JournalError) -> JournalCounts {
        let rows = try connection.query(PostgresQueries.counts)
        var counts = JournalCounts()
        counts.outstandingLegacy = Int(rows.integer(0, 0))
        counts.outstandingNew = Int(rows.integer(0, 1))
        counts.parkedLegacy = Int(rows.integer(0, 2))
        counts.parkedNew = Int(rows.integer(0, 3))
        counts.lastSequence = rows.integer(0, 4)
        return counts
    }

    package func loadRollout() throws(JournalError) -> RolloutRecord? {
        try PostgresQueries.all(try connection.query(PostgresQueries.rollout)) { rows, row in
            RolloutRecord(
                generation: rows.integer(row, 0), plan: rows.text(row, 1), stage: rows.text(row, 2),
                percentHundredths: Int(rows.integer(row, 3)), state: rows.text(row, 4),
                sinceMilliseconds: rows.integer(row, 5), details: rows.text(row, 6))
        }.first
    }

    package func events(before cursor: Int64?, limit: Int) throws(JournalError) -> [RolloutEvent] {
        let parameters = PostgresParameters().int64(cursor ?? .max).int64(Int64(limit))
        return try PostgresQueries.all(try connection.query(PostgresQueries.events, parameters)) { rows, row in
            RolloutEvent(
                sequence: rows.integer(row, 0), atMilliseconds: rows.integer(row, 1), actor: rows.text(row, 2),
                action: rows.text(row, 3), before: rows.text(row, 4), after: rows.text(row, 5),
                reason: rows.text(row, 6))
        }
    }

    package func pins() throws(JournalError) -> [Pin] {
        try PostgresQueries.all(try connection.query(PostgresQueries.pins)) { rows, row throws(JournalError) in
            Pin(
                user: rows.text(row, 0), side: try PostgresQueries.side(rows.integer(row, 1)),
                sinceMilliseconds: rows.integer(row, 2))
        }
    }
}

/// A reading connection to a journal that a `PostgresStore` has made ready. Connects at its first use. Belongs to one thread.
package final class PostgresReader: PostgresReading {
    package let connection: PostgresConnection
    package let membership: Membership

    package init(_ address: PostgresAddress, membership: Membership) {
        connection = PostgresConnection(address)
        self.membership = membership
    }
}

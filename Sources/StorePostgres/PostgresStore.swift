package import Journal
internal import Rollout

/// The journal in a PostgreSQL database that several gateways share. Belongs to one thread.
///
/// `commit` is one round trip: a pipeline of the fence, the facts, the judging and the look at other gateways' changes, all in
/// one transaction. When it returns, the group is on the server's disk (`synchronous_commit` is never off here).
package final class PostgresStore: JournalStore, PostgresReading {
    package let connection: PostgresConnection
    package let membership: Membership
    let lanes: LaneHash
    /// The last group whose fate is not known: the connection broke while it was under way.
    private var unsettled: Membership.Ticket?
    /// Where the next `prune` goes on.
    var pruneCursor: Sequence64 = 0
    /// The newest stamp of the rows before that place, in milliseconds since 1970.
    var pruneNewestStamp: Int64 = .min

    /// Writes in one group. Each takes a lock for its lane and one for its key, and the server's table of locks has room for
    /// `max_locks_per_transaction` × `max_connections` (64 × 100 unless set otherwise), for all gateways together.
    package static let groupWrites = 256
    /// Locks that one group takes one by one. Beyond it takes a single lock that excludes every other group: a batch of ten
    /// thousand records must not fill the server's table.
    static let groupLocks = 1_024

    /// Connects, and makes the database ready.
    /// - Throws: `unreachable`, `foreign`, `newerSchema`, `cannotOpen`. What is not ours is not touched.
    package init(_ address: PostgresAddress, membership: Membership) throws(JournalError) {
        connection = PostgresConnection(address)
        self.membership = membership
        try PostgresSchema.prepare(connection)
        let seeds = try connection.query(
            PostgresStatement("lane_seeds", "SELECT lane_seed_low, lane_seed_high FROM cutover_schema"))
        lanes = LaneHash(low: seeds.integer(0, 0), high: seeds.integer(0, 1))
    }

    /// The server has its own way of making room.
    package func makeRoom() {}

    package func commit(
        _ submissions: [Submission], updates: [JournalUpdate], now: Int64
    ) throws(JournalError) -> CommittedGroup {
        guard !submissions.isEmpty || !updates.isEmpty else { return CommittedGroup(admissions: []) }
        let facts = GroupFacts(updates)
        let group = GroupSubmissions(submissions, lanes: lanes)
        let isCoarse = group.locks.count > Self.groupLocks
        do throws(JournalError) {
            return try commit(submissions, group, facts, now: now, isCoarse: isCoarse)
        } catch {
            // The server's table of locks is full, so nothing was kept. With one lock in place of many it may well go.
            guard !isCoarse, connection.failedState == PostgresFailure.outOfSharedMemory else { throw error }
            return try commit(submissions, group, facts, now: now, isCoarse: true)
        }
    }

    private func commit(
        _ submissions: [Submission], _ group: GroupSubmissions, _ facts: GroupFacts, now: Int64, isCoarse: Bool
    ) throws(JournalError) -> CommittedGroup {
        let ticket = try membership.nextTicket()
        try disownUnsettled(before: ticket)
        var commands = [
            (
                PostgresGroup.begin,
                PostgresParameters().int64(ticket.owner).int64(ticket.group).boolean(isCoarse)
                    .int64s(isCoarse ? [] : group.locks)
            )
        ]
        if let legs = facts.legs(ticket.owner) { commands.append((PostgresGroup.legs, legs)) }
        if let answers = facts.answers(ticket.owner) { commands.append((PostgresGroup.answers, answers)) }
        if !submissions.isEmpty {
            commands.append((PostgresGroup.commit, group.parameters(ticket, now: now)))
            commands.append(
                (PostgresQueries.foreign, PostgresParameters().int64(ticket.owner).int64s(group.everyLane)))
        }
        let results = try run(commands, as: ticket)
        guard !submissions.isEmpty, results.count == commands.count else { return CommittedGroup(admissions: []) }
        let verdicts = results[results.count - 2]
        guard verdicts.count == submissions.count else {
            throw connection.failure(.damaged, "judged \(verdicts.count) of \(submissions.count) writes")
        }
        let admissions = try PostgresQueries.all(verdicts, PostgresGroup.admission)
        let foreign = try PostgresQueries.all(results[results.count - 1], PostgresQueries.outstanding)
        return CommittedGroup(
            admissions: admissions, foreign: group.relevant(foreign, to: admissions, submissions, lanes: lanes))
    }

    /// Runs one group's transaction, and remembers it when its fate stays unknown.
    private func run(
        _ commands: [(PostgresStatement, PostgresParameters)], as ticket: Membership.Ticket
    ) throws(JournalError) -> [PostgresRows] {
        do throws(JournalError) {
            let results = try connection.run(commands)
            membership.confirm(ticket)
            return results
        } catch {
            if connection.isOutcomeUnknown { unsettled = ticket }
            // A session that became read-only stays so; a new connection may find the server that is to be written.
            if error.kind == .readOnly { connection.close() }
            throw error
        }
    }

    /// Sees to it that groups of unknown fate are never sent: their writes were answered with 503.
    ///
    /// They may have been kept, may be under way still, or may even be on their way to a server that was slow. Afterwards they
    /// are skipped, or refused when they come.
    private func disownUnsettled(before ticket: Membership.Ticket) throws(JournalError) {
        guard let last = unsettled else { return }
        // What a gateway left that was fenced since is with its successor, who delivers it.
        guard last.owner == ticket.owner else {
            unsettled = nil
            return
        }
        _ = try connection.query(
            PostgresGroup.disown,
            PostgresParameters().int64(ticket.owner).int64(membership.confirmed.group).int64(last.group))
        unsettled = nil
    }

    /// Also what is this gateway's already, outstanding or not.
    package func claim(_ sequences: [Sequence64]) throws(JournalError) -> [Sequence64] {
        let ticket = try membership.nextTicket()
        try disownUnsettled(before: ticket)
        let results = try run(
            [
                (
                    PostgresGroup.begin,
                    PostgresParameters().int64(ticket.owner).int64(ticket.group).boolean(false).int64s([])
                ),
                (PostgresGroup.claim, PostgresParameters().int64(ticket.owner).int64s(sequences)),
            ], as: ticket)
        guard let rows = results.last else { return [] }
        return try PostgresQueries.all(rows) { $0.integer($1, 0) }
    }
}

internal import Journal
internal import Rollout

/// The statements of a group, and what the server says to its submissions.
enum PostgresGroup {
    static let begin = PostgresStatement("begin_group", "SELECT begin_group($1, $2, $3, $4)")
    static let legs = call("keep_legs", parameters: 12)
    static let answers = call("keep_answers", parameters: 18)
    static let commit = PostgresStatement(
        "commit_group", "SELECT * FROM commit_group(\(placeholders(27)))")
    static let disown = call("disown_groups", parameters: 3)
    static let claim = PostgresStatement(
        "claim",
        """
        WITH claimed AS (
            UPDATE change SET owner = $1 WHERE sequence = ANY ($2) AND owner <> $1 AND NOT \(PostgresSchema.outstanding)
            RETURNING sequence)
        SELECT sequence FROM claimed
        UNION SELECT sequence FROM change WHERE sequence = ANY ($2) AND owner = $1 ORDER BY sequence
        """)

    private static func placeholders(_ count: Int) -> String {
        (1...count).map { "$\($0)" }.joined(separator: ", ")
    }

    private static func call(_ name: String, parameters: Int) -> PostgresStatement {
        PostgresStatement(name, "SELECT \(name)(\(placeholders(parameters)))")
    }

    /// One row of `commit_group`.
    static func admission(_ rows: PostgresRows, _ row: Int) throws(JournalError) -> Admission {
        let verdict = rows.text(row, 0)
        switch verdict {
        case "accepted": return .accepted(rows.integer(row, 1))
        case "running": return .running
        case "reused": return .keyReused
        case "replay":
            return .replay(
                StoredAnswer(
                    status: Int(rows.integer(row, 2)), headerLines: rows.bytes(row, 4), body: rows.bytes(row, 5),
                    servedBy: try PostgresQueries.side(rows.integer(row, 3)), isBodyOmitted: rows.isNull(row, 5)))
        case "stale":
            let records = rows.texts(row, 6)
            let numbers = zip(rows.int64s(row, 7), rows.int64s(row, 8))
            return .stale(
                zip(records, numbers).map { record, numbers in
                    StaleRevision(record: record, current: numbers.0 ?? 0, received: numbers.1 ?? 0)
                })
        case "missing":
            // Both are written and removed together. Should that ever break, only this repeat suffers, not its group.
            let sequence = rows.integer(row, 1)
            return .unavailable("change \(sequence) is answered and holds its key, but its answer is missing")
        default:
            throw JournalError(.damaged, "the store said \(verdict) to a write")
        }
    }
}

/// The submissions of a group as the columns that `commit_group` takes.
struct GroupSubmissions {
    private let submissions: [Submission]
    private var items: [RecordRevision] = []
    private var itemSubmissions: [Int] = []
    private var itemLanes: [Int64] = []
    private var itemPrevious: [Int] = []
    private var itemEnds: [Int] = []
    private var firstLanes: [Int64] = []
    private var related: [Bool]
    /// What is locked while the group is judged: every lane and every key, each once, ascending.
    private(set) var locks: [Int64] = []
    /// The lanes of all submissions.
    private(set) var everyLane: [Int64] = []

    private struct Item: Hashable {
        var user: String?
        var record: String
    }

    private struct Key: Hashable {
        var user: String?
        var key: String
    }

    init(_ submissions: [Submission], lanes: LaneHash) {
        self.submissions = submissions
        related = [Bool](repeating: false, count: submissions.count)
        var keys: [Key: Int] = [:]
        var latest: [Item: Int] = [:]
        var locks: Set<Int64> = []
        for (index, submission) in submissions.enumerated() {
            let own = lanes.lanes(user: submission.user, records: submission.records.map(\.record))
            firstLanes.append(own.first ?? 0)
            everyLane += own
            locks.formUnion(own)
            if let key = submission.idempotencyKey {
                locks.insert(lanes.key(key, user: submission.user))
                relate(&keys, Key(user: submission.user, key: key), index)
            }
            for (item, lane) in zip(submission.records, own) {
                items.append(item)
                itemSubmissions.append(index + 1)
                itemLanes.append(lane)
                var previous = 0
                if item.revision != nil {
                    let name = Item(user: submission.user, record: item.record)
                    if let earlier = latest[name] {
                        related[index] = true
                        related[itemSubmissions[earlier - 1] - 1] = true
                        if itemSubmissions[earlier - 1] == index + 1 { previous = earlier }
                    }
                    latest[name] = items.count
                }
                itemPrevious.append(previous)
            }
            itemEnds.append(items.count)
        }
        self.locks = locks.sorted()
    }

    /// Two submissions with the same key have to be judged one after the other.
    private mutating func relate<Name: Hashable>(_ seen: inout [Name: Int], _ name: Name, _ index: Int) {
        if let earlier = seen[name] {
            related[earlier] = true
            related[index] = true
        }
        seen[name] = index
    }

    func parameters(_ ticket: Membership.Ticket, now: Int64) -> PostgresParameters {
        let legs = submissions.map { Legs(acceptedOn: $0.side, dualWrite: $0.dualWrite) }
        return PostgresParameters().int64(ticket.owner).int64(ticket.group).int64(now)
            .texts(submissions.map { $0.user ?? "" }).texts(submissions.map(\.idempotencyKey))
            .texts(submissions.map(\.outgoingKey)).texts(submissions.map(\.fingerprint))
            .texts(submissions.map(\.method)).texts(submissions.map(\.target))
            .int16s(submissions.map { Int($0.side.rawValue) }).booleans(submissions.map(\.dualWrite))
            .texts(legs.map(\.legacy.state.rawValue)).texts(legs.map(\.new.state.rawValue))
            .byteArrays(submissions.map(\.headerLines)).byteArrays(submissions.map(\.conditionalLines))
            .byteArrays(submissions.map(\.body)).int64s(firstLanes)
            .int32s(submissions.map(\.records.count)).int32s(itemEnds)
            .booleans(submissions.map(\.hasRevision)).booleans(related)
            .int32s(itemSubmissions).texts(items.map(\.record)).int64s(items.map(\.revision))
            .texts(items.map(\.payloadHash)).int64s(itemLanes).int32s(itemPrevious)
    }

    /// Those of other gateways' changes that share a lane with a submission that was accepted.
    func relevant(
        _ foreign: [OutstandingChange], to admissions: [Admission], _ submissions: [Submission], lanes: LaneHash
    ) -> [OutstandingChange] {
        guard !foreign.isEmpty else { return [] }
        var accepted: Set<Int64> = []
        for (admission, submission) in zip(admissions, submissions) {
            guard case .accepted = admission else { continue }
            accepted.formUnion(lanes.lanes(user: submission.user, records: submission.records.map(\.record)))
        }
        return foreign.filter { change in
            lanes.lanes(user: change.user, records: change.records).contains { accepted.contains($0) }
        }
    }
}

internal import Journal
internal import Rollout

/// The reading statements about outstanding legs. All of them walk `change_outstanding`, which holds what they filter by: a row of
/// the table is only read for what is returned.
final class OutstandingQueries {
    private static let columns =
        "sequence, accepted_at, user, record, record_count, side, answered_status, \(SQLiteQueries.legs)"
    // INDEXED BY: without it SQLite takes the primary key for `sequence > ?` and walks over every settled change.
    private static let source = "FROM change INDEXED BY change_outstanding WHERE \(Schema.outstanding)"
    private static let order = "ORDER BY sequence LIMIT ?"

    private let all: Statement
    private let unanswered: Statement
    private let places: Statement
    private let ofSide: [Statement]
    private let ofUser: [Statement]
    private let records: (Sequence64) throws(JournalError) -> [RecordRevision]

    /// - Parameter records: reads the records of a batch after its first.
    init(
        _ connection: SQLiteConnection,
        records: @escaping (Sequence64) throws(JournalError) -> [RecordRevision]
    ) throws(JournalError) {
        func prepare(_ columns: String, _ filter: String) throws(JournalError) -> Statement {
            try Statement(connection, "SELECT \(columns) \(Self.source) AND \(filter) \(Self.order)")
        }
        self.records = records
        all = try prepare(Self.columns, "sequence > ?")
        unanswered = try prepare(Self.columns, "answered_status IS NULL AND sequence > ?")
        places = try prepare(
            """
            sequence, accepted_at, user, answered_status IS NOT NULL, \(Self.isOutstanding(.legacy)), \(Self.isOutstanding(.new))
            """, "sequence > ?")
        var (ofSide, ofUser): ([Statement], [Statement]) = ([], [])
        for side in Side.allCases {
            let filter = "\(Self.isOutstanding(side)) AND sequence > ? AND sequence <= ?"
            ofSide.append(try prepare(Self.columns, filter))
            ofUser.append(try prepare(Self.columns, "\(filter) AND user = ?"))
        }
        self.ofSide = ofSide
        self.ofUser = ofUser
    }

    private static func isOutstanding(_ side: Side) -> String {
        "\(side == .legacy ? "legacy_state" : "new_state") IN ('pending', 'awaiting-copy')"
    }

    func page(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange] {
        try changes(all.bind(sequence).bind(limit))
    }

    func unanswered(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingChange] {
        try changes(unanswered.bind(sequence).bind(limit))
    }

    func page(_ query: OutstandingQuery) throws(JournalError) -> [OutstandingChange] {
        let place = query.side == .legacy ? 0 : 1
        switch query.scope {
        case .everyone: return try changes(ofSide[place].bind(query.after).bind(query.through).bind(query.limit))
        case .user(let user):
            return try changes(
                ofUser[place].bind(query.after).bind(query.through).bind(user ?? "").bind(query.limit))
        }
    }

    func places(after sequence: Sequence64, limit: Int) throws(JournalError) -> [OutstandingPlace] {
        try SQLiteQueries.all(places.bind(sequence).bind(limit)) { row throws(JournalError) in
            var sides: SideSet = []
            if row.integer(4) != 0 { sides.insert(.legacy) }
            if row.integer(5) != 0 { sides.insert(.new) }
            return OutstandingPlace(
                sequence: row.integer(0), acceptedMilliseconds: row.integer(1), user: SQLiteQueries.user(row.text(2)),
                sides: sides, isAnswered: row.integer(3) != 0)
        }
    }

    private func changes(_ statement: Statement) throws(JournalError) -> [OutstandingChange] {
        try SQLiteQueries.all(statement) { [records] row throws(JournalError) in
            var names = row.textOrNil(3).map { [$0] } ?? []
            if row.integer(4) > 1 { names += try records(row.integer(0)).map(\.record) }
            return OutstandingChange(
                sequence: row.integer(0), acceptedMilliseconds: row.integer(1), user: SQLiteQueries.user(row.text(2)),
                records: names, side: try SQLiteQueries.side(row.integer(5)),
                legs: try SQLiteQueries.legs(row, from: 7), answeredStatus: row.integerOrNil(6).map { Int($0) })
        }
    }
}

/// Plays a part of the users over one connection. Belongs to one thread.
final class Player {
    private(set) var users: [SampleUser]
    private let client: SyncClient
    private let tally: Tally
    private let run: String
    private var random: SeededGenerator
    private var turn = 0

    /// - Parameter run: makes the keys of this run different from those of any other.
    init(users: [SampleUser], client: SyncClient, tally: Tally, run: String, seed: UInt64) {
        self.users = users
        self.client = client
        self.tally = tally
        self.run = run
        random = SeededGenerator(seed: seed)
    }

    /// The next user, in turn, does one thing.
    func step() {
        guard !users.isEmpty else { return }
        turn = (turn + 1) % users.count
        let index = Int.random(in: 0..<users[turn].records.count, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<62: read(index)
        case 62..<70: list()
        case 70..<93: write(index, deleting: false)
        case 93..<96: write(index, deleting: true)
        default: create()
        }
    }

    private func read(_ index: Int) {
        let user = users[turn]
        let known = user.records[index]
        guard let answer = ask({ () throws(ExchangeFailure) in try client.read(known.id, of: user.id) }, isWrite: false)
        else { return }
        if let (text, isStale) = known.problem(with: answer) {
            tally.complain("\(user.id): \(text)", isStaleRead: isStale)
        } else if known.isUncertain, let seen = SeenRecord(answer) {
            users[turn].records[index].revision = seen.revision
            users[turn].records[index].deleted = seen.deleted
            users[turn].records[index].content = seen.content
            users[turn].records[index].isUncertain = false
        }
    }

    private func list() {
        let user = users[turn]
        guard let answer = ask({ () throws(ExchangeFailure) in try client.list(user.id) }, isWrite: false) else {
            return
        }
        guard answer.status == 200 else {
            return tally.complain("\(user.id): the list was answered \(answer.status)")
        }
        var revisions: [String: Int64] = [:]
        _ = answer.withFields { fields in
            for item in fields.items("items") {
                if let id = item.fields.optionalText("recordId") { revisions[id] = item.fields.integer("revision") }
            }
            return true
        }
        for record in user.records where !record.isUncertain && revisions[record.id, default: 0] < record.revision {
            tally.complain("\(user.id): the list is behind the acknowledged \(record.id)", isStaleRead: true)
        }
    }

    private func create() {
        guard users[turn].records.count < SampleUser.recordLimit else { return write(0, deleting: false) }
        let type = Change.types.randomElement(using: &random) ?? "note"
        users[turn].records.append(KnownRecord(id: "\(type)-\(users[turn].records.count + 1)", type: type))
        write(users[turn].records.count - 1, deleting: false)
    }

    private func write(_ index: Int, deleting: Bool) {
        let known = users[turn].records[index]
        if known.isUncertain { return read(index) }
        let payload = deleting ? "{}" : SampleData.payload(known.type, &random)
        let change = users[turn].change(known, payload: payload, deleted: deleting, run: run)
        send(change, index)
        // Now and then an answer gets lost on its way, and the client asks again with the same key.
        if Int.random(in: 0..<50, using: &random) == 0 { send(change, index) }
    }

    private func send(_ change: Change, _ index: Int) {
        guard let answer = ask({ () throws(ExchangeFailure) in try client.write(change) }, isWrite: true),
            answer.status == 200
        else {
            users[turn].records[index].isUncertain = true
            return
        }
        users[turn].records[index].revision = change.revision
        users[turn].records[index].deleted = change.deleted
        users[turn].records[index].content = change.content
    }

    /// Sends one request and books its answer. A write must be accepted: nobody else writes these records.
    private func ask(_ exchange: () throws(ExchangeFailure) -> Answer, isWrite: Bool) -> Answer? {
        let user = users[turn].id
        do throws(ExchangeFailure) {
            let answer = try exchange()
            tally.answered(answer, user: user, isWrite: isWrite)
            if answer.status >= 500 || (isWrite && answer.status != 200) {
                tally.complain(
                    "\(user): \(isWrite ? "a write" : "a read") was answered \(answer.status) \(answer.text)")
                return nil
            }
            return answer
        } catch {
            tally.complain("\(user): no answer: \(error.detail)")
            return nil
        }
    }
}

/// The requests of the sample service's clients. Belongs to one thread.
final class SyncClient {
    private let url: String
    private let connection: HTTPConnection

    init(url: String) throws(DemoFailure) {
        self.url = url
        connection = try HTTPConnection()
    }

    func read(_ record: String, of user: String) throws(ExchangeFailure) -> Answer {
        try connection.exchange(Request(url: "\(url)/records/\(record)", headers: [("X-User-Id", user)]))
    }

    func list(_ user: String, cursor: String = "") throws(ExchangeFailure) -> Answer {
        try connection.exchange(
            Request(url: "\(url)/users/\(user)/records?cursor=\(cursor)", headers: [("X-User-Id", user)]))
    }

    func write(_ change: Change) throws(ExchangeFailure) -> Answer {
        try connection.exchange(
            Request(
                method: "POST", url: "\(url)/changes",
                headers: [("X-User-Id", change.user), ("Content-Type", "application/json")], body: change.json))
    }
}

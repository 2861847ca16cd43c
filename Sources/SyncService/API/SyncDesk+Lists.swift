internal import CLinux
internal import Configuration
internal import Gateway
internal import Journal
internal import SyncModel
internal import SyncStore
internal import Values

/// Reads of records, one and many.
extension SyncDesk {
    func record(_ id: String, of user: String, _ turn: Turn) async -> ServiceResponse {
        turn.route = "record"
        let result = await read(turn) { reader throws(JournalError) in try reader.record(id, of: user) }
        switch result {
        case .failure(let error): return Answer.unavailable(error, id: turn.id)
        case .success(nil): return Answer.problem(404, "the user has no record of this id", id: turn.id)
        case .success(let record?):
            turn.count = 1
            var body: [UInt8] = []
            record.write(to: &body)
            body.append(text: "\n")
            // "Gone" is an answer: a gateway must not look for it in the old service.
            return Answer.json(body, status: record.deleted ? 410 : 200)
        }
    }

    /// Records of one type, without tombstones.
    func list(_ type: RecordType, _ request: ServiceRequest, _ turn: Turn) async throws(BadRequest) -> ServiceResponse {
        turn.route = "list"
        let query = Query(request.query)
        let user = try request.user(query)
        let limit = try query.limit()
        let after = query["cursor", "after"] ?? ""
        let result = await read(turn) { reader throws(JournalError) in
            try reader.records(
                of: user, from: RecordCursor(table: type.table, after: after), type: type, limit: limit)
        }
        return answer(result, turn) { $0.count < limit ? nil : $0.last?.record }
    }

    /// All records of a user, tombstones among them: for whoever keeps a copy or compares two.
    func records(
        of user: String, _ request: ServiceRequest, _ turn: Turn
    ) async throws(BadRequest) -> ServiceResponse {
        turn.route = "records"
        let query = Query(request.query)
        let limit = try query.limit()
        guard let cursor = RecordCursor(query["after", "cursor"] ?? "") else {
            throw BadRequest(text: "after must be a cursor that this list has given, or empty")
        }
        let result = await read(turn) { reader throws(JournalError) in
            try reader.page(of: user, from: cursor, limit: limit)
        }
        let next = (try? result.get())?.next?.text
        return answer(result.map(\.records), turn) { _ in next }
    }

    private func answer(
        _ result: Result<[SyncRecord], JournalError>, _ turn: Turn, next: ([SyncRecord]) -> String?
    ) -> ServiceResponse {
        switch result {
        case .failure(let error): return Answer.unavailable(error, id: turn.id)
        case .success(let records):
            turn.count = records.count
            return Answer.page(records, next: next(records)) { $0.write(to: &$1) }
        }
    }

    func users(_ request: ServiceRequest, _ turn: Turn) async throws(BadRequest) -> ServiceResponse {
        turn.route = "users"
        let query = Query(request.query)
        let limit = try query.limit()
        let after = query["after", "cursor"] ?? ""
        let result = await read(turn) { reader throws(JournalError) in try reader.users(after: after, limit: limit) }
        switch result {
        case .failure(let error): return Answer.unavailable(error, id: turn.id)
        case .success(let users):
            turn.count = users.count
            return Answer.page(users, next: users.count < limit ? nil : users.last) {
                $1.append(text: "{\"id\":")
                $1.append(jsonString: $0)
                $1.append(text: "}")
            }
        }
    }

    /// How many highlights were made, by month.
    func statistics(_ request: ServiceRequest, _ turn: Turn) async throws(BadRequest) -> ServiceResponse {
        turn.route = "stats"
        let since: Int64
        let text = Query(request.query)["since"] ?? ""
        if text.isEmpty {
            since = .min
        } else if let span = spanMilliseconds(text) {
            since = clinux_wall_milliseconds() - span
        } else if let instant = Instant(text) {
            since = instant.milliseconds
        } else {
            throw BadRequest(text: "since must be a span like 90d or 1y, or an instant like 2026-11-30T01:02:03Z")
        }
        let result = await read(turn) { reader throws(JournalError) in try reader.highlights(since: since) }
        switch result {
        case .failure(let error): return Answer.unavailable(error, id: turn.id)
        case .success(let months):
            var body: [UInt8] = []
            body.append(text: "{\"since\":")
            if text.isEmpty { body.append(text: "null") } else { body.append(jsonInstant: since) }
            body.append(text: ",\"highlights\":")
            body.append(decimal: months.reduce(0) { $0 + $1.highlights })
            body.append(text: ",\"months\":[")
            for (index, month) in months.enumerated() {
                body.append(text: index == 0 ? "{\"month\":" : ",{\"month\":")
                body.append(jsonString: month.month)
                body.append(text: ",\"highlights\":")
                body.append(decimal: month.highlights)
                body.append(text: "}")
            }
            body.append(text: "]}\n")
            return Answer.json(body)
        }
    }
}

/// The milliseconds of a duration as the configuration writes them, or of years, `1y`, which are too long to be settings; nil for anything
/// else.
private func spanMilliseconds(_ text: String) -> Int64? {
    guard text.hasSuffix("y"), let years = Int64(text.dropLast()), (0...1_000).contains(years) else {
        return durationMilliseconds(text)
    }
    return years * 365 * 86_400_000
}

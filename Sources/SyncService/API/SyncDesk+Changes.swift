internal import CLinux
internal import Gateway
internal import Journal
internal import SyncModel
internal import SyncStore
internal import Values

/// `POST /changes` and the feed.
extension SyncDesk {
    func change(_ request: ServiceRequest, _ turn: Turn) async -> ServiceResponse {
        guard request.body.count <= Self.changesBytesMax else {
            return Answer.problem(413, "changes are longer than \(Self.changesBytesMax) bytes", id: turn.id)
        }
        let changes: ChangeRequest
        do throws(ChangeProblem) {
            changes = try changeReader.read(request.body, key: request.header("idempotency-key"))
        } catch {
            let place = error.index.map { "changes[\($0)]: " } ?? ""
            return Answer.problem(400, place + error.text, id: turn.id)
        }
        turn.count = changes.changes.count
        let began = clinux_monotonic_nanoseconds()
        let result = await withCheckedContinuation { continuation in
            writer.submit(changes.changes) { continuation.resume(returning: $0) }
        }
        turn.storeNanoseconds += clinux_monotonic_nanoseconds() - began
        switch result {
        case .failure(let error): return Answer.unavailable(error, id: turn.id)
        case .success(let outcome):
            if outcome.isRefused { return refusal(changes, outcome, turn) }
            return changes.isList ? accepted(changes.changes, outcome) : record(outcome)
        }
    }

    private func record(_ outcome: BatchOutcome) -> ServiceResponse {
        var body: [UInt8] = []
        outcome.records.first??.write(to: &body)
        body.append(text: "\n")
        return Answer.json(body)
    }

    private func accepted(_ changes: [SyncChange], _ outcome: BatchOutcome) -> ServiceResponse {
        var body: [UInt8] = []
        body.reserveCapacity(96 * changes.count + 64)
        let applied = outcome.verdicts.count { $0 == .applied }
        body.append(text: "{\"applied\":")
        body.append(decimal: Int64(applied))
        body.append(text: ",\"retried\":")
        body.append(decimal: Int64(changes.count - applied))
        body.append(text: ",\"items\":[")
        for (index, verdict) in outcome.verdicts.enumerated() {
            body.append(text: index == 0 ? "{\"recordId\":" : ",{\"recordId\":")
            body.append(jsonString: changes[index].record)
            body.append(text: ",\"revision\":")
            body.append(decimal: outcome.records[index]?.revision ?? changes[index].revision)
            body.append(text: verdict == .applied ? ",\"result\":\"applied\"}" : ",\"result\":\"retry\"}")
        }
        body.append(text: "]}\n")
        return Answer.json(body)
    }

    /// A stale request is answered with what is there, so that nobody has to ask twice to go on.
    private func refusal(_ request: ChangeRequest, _ outcome: BatchOutcome, _ turn: Turn) -> ServiceResponse {
        let refused = outcome.verdicts.indices.filter {
            outcome.verdicts[$0] != .applied && outcome.verdicts[$0] != .retry
        }
        // What no refresh will heal comes first.
        let worst = refused.first { outcome.verdicts[$0] != .stale } ?? refused[0]
        var members: [(name: String, json: [UInt8])] = []
        if outcome.verdicts[worst] == .stale {
            members.append(("current_revision", Self.revision(outcome.records[worst])))
            members.append(("received_revision", Array(String(request.changes[worst].revision).utf8)))
            members.append(("action", Array("\"refresh\"".utf8)))
            members.append(("record", Self.json(outcome.records[worst])))
        }
        if request.isList { members.append(("items", Self.items(refused, request, outcome))) }
        let (status, name, detail) = Self.words(outcome.verdicts[worst])
        return Answer.problem(status, detail, name: name, members: members, id: turn.id)
    }

    private static func items(_ refused: [Int], _ request: ChangeRequest, _ outcome: BatchOutcome) -> [UInt8] {
        var items = Array("[".utf8)
        for (place, index) in refused.enumerated() {
            items.append(text: place == 0 ? "{\"index\":" : ",{\"index\":")
            items.append(decimal: Int64(index))
            items.append(text: ",\"recordId\":")
            items.append(jsonString: request.changes[index].record)
            items.append(text: ",\"reason\":")
            items.append(jsonString: words(outcome.verdicts[index]).name)
            items.append(text: ",\"received_revision\":")
            items.append(decimal: request.changes[index].revision)
            items.append(text: ",\"current_revision\":")
            items.append(contentsOf: revision(outcome.records[index]))
            items.append(text: ",\"record\":")
            items.append(contentsOf: json(outcome.records[index]))
            items.append(text: "}")
        }
        items.append(text: "]")
        return items
    }

    private static func revision(_ record: SyncRecord?) -> [UInt8] {
        Array((record.map { String($0.revision) } ?? "null").utf8)
    }

    private static func json(_ record: SyncRecord?) -> [UInt8] {
        guard let record else { return Array("null".utf8) }
        var json: [UInt8] = []
        record.write(to: &json)
        return json
    }

    private static func words(_ verdict: ChangeVerdict) -> (status: Int, name: String, detail: String) {
        switch verdict {
        case .applied, .retry, .stale:
            (409, "stale-revision", "the revision is not above that of the record: read it again and send the next one")
        case .keyReused: (422, "key-reused", "the idempotency key belongs to another change of this user")
        case .foreign: (403, "foreign-record", "the record is another user's")
        case .typeChanged: (422, "type-changed", "a record keeps its type")
        }
    }

    // MARK: The feed

    func feed(_ request: ServiceRequest, _ turn: Turn) async throws(BadRequest) -> ServiceResponse {
        let query = Query(request.query)
        let user = try request.user(query)
        let limit = try query.limit()
        let text = query["since", "cursor", "after"] ?? ""
        guard let since = text.isEmpty ? 0 : Int64(text), since >= 0 else {
            throw BadRequest(text: "since must be a cursor that this feed has given, or empty")
        }
        let result = await read(turn) { reader throws(JournalError) in
            try reader.changes(of: user, after: since, limit: limit)
        }
        switch result {
        case .failure(let error): return Answer.unavailable(error, id: turn.id)
        case .success(let entries):
            turn.count = entries.count
            return Answer.page(
                entries, next: entries.count < limit ? nil : entries.last.map { String($0.sequence) },
                cursor: String(entries.last?.sequence ?? since)
            ) { $0.write(to: &$1) }
        }
    }
}

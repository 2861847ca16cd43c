internal import Gateway
internal import HTTPWire
internal import Journal
internal import SyncModel
internal import Values

/// Answers of the service; its problems are documents of RFC 9457.
enum Answer {
    static func json(_ body: [UInt8], status: Int = 200) -> ServiceResponse {
        ServiceResponse(status: status, headers: [("Content-Type", "application/json")], body: body)
    }

    /// - Parameters:
    ///   - name: the last part of the problem's type; nil: it is no more than its status.
    ///   - members: more of them, each with its JSON.
    static func problem(
        _ status: Int, _ detail: String, name: String? = nil, members: [(name: String, json: [UInt8])] = [],
        id: String
    ) -> ServiceResponse {
        var body: [UInt8] = []
        body.append(text: "{\"type\":")
        body.append(jsonString: name.map { "/problems/\($0)" } ?? "about:blank")
        body.append(text: ",\"title\":")
        body.append(jsonString: "\(StatusText.reason(status))")
        body.append(text: ",\"status\":")
        body.append(decimal: Int64(status))
        body.append(text: ",\"detail\":")
        body.append(jsonString: detail)
        for member in members {
            body.append(text: ",")
            body.append(jsonString: member.name)
            body.append(text: ":")
            body.append(contentsOf: member.json)
        }
        body.append(text: ",\"request_id\":")
        body.append(jsonString: id)
        body.append(text: "}\n")
        return ServiceResponse(status: status, headers: [("Content-Type", "application/problem+json")], body: body)
    }

    /// The store, or what lies behind it, did not do what it was asked. Whoever asks again may have luck.
    static func unavailable(_ error: JournalError, id: String) -> ServiceResponse {
        var answer = problem(503, error.message, name: "store-unavailable", id: id)
        answer.headers.append(("Retry-After", "1"))
        return answer
    }

    /// A page of a list, `{"items":[…],"next":CURSOR or null}`.
    /// - Parameter cursor: for a list that grows at its end: where it goes on, given at the end, too.
    static func page<Item>(
        _ items: [Item], next: String?, cursor: String? = nil, _ write: (Item, inout [UInt8]) -> Void
    ) -> ServiceResponse {
        var body: [UInt8] = []
        body.reserveCapacity(512 * items.count + 64)
        body.append(text: "{\"items\":[")
        for (index, item) in items.enumerated() {
            if index > 0 { body.append(text: ",") }
            write(item, &body)
        }
        body.append(text: "],\"next\":")
        if let next { body.append(jsonString: next) } else { body.append(text: "null") }
        if let cursor {
            body.append(text: ",\"cursor\":")
            body.append(jsonString: cursor)
        }
        body.append(text: "}\n")
        return json(body)
    }
}

internal import Gateway
internal import Routing

/// The parameters of a query; the first of a name counts.
struct Query {
    private var values: [(name: String, value: String)] = []

    init(_ text: String) {
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values.append(
                (
                    PercentCoding.decoded(pair[0], plusIsSpace: true),
                    pair.count == 2 ? PercentCoding.decoded(pair[1], plusIsSpace: true) : ""
                ))
        }
    }

    subscript(_ names: String...) -> String? {
        for name in names { if let found = values.first(where: { $0.name == name }) { return found.value } }
        return nil
    }
}

/// A request that cannot be done as it is, in words for the client.
struct BadRequest: Error {
    let text: String
}

extension Query {
    static let limitDefault = 200
    static let limitMax = 1_000

    /// Entries of a page.
    func limit() throws(BadRequest) -> Int {
        guard let text = self["limit"] else { return Self.limitDefault }
        guard let limit = Int(text), limit >= 1 else { throw BadRequest(text: "limit must be 1 to \(Self.limitMax)") }
        return min(limit, Self.limitMax)
    }
}

extension ServiceRequest {
    /// Whose records a list is of: the field `X-User-Id`, which the gateway passes on, else the parameter `user`.
    func user(_ query: Query) throws(BadRequest) -> String {
        guard let user = header("x-user-id") ?? query["user", "userId", "user_id"], !user.isEmpty else {
            throw BadRequest(text: "whose? Say it in the field X-User-Id or the parameter user")
        }
        return user
    }
}

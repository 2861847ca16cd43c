import Values

/// Builds the schemas of the API's description (JSON Schema 2020-12, as OpenAPI 3.1 has them).
enum Shape {
    static let boolean: JSONValue = .object([("type", "boolean")])
    static let number: JSONValue = .object([("type", "number")])
    static let text: JSONValue = .object([("type", "string")])
    /// A count: a whole number that is not negative.
    static let count: JSONValue = .object([("type", "integer"), ("minimum", 0)])
    static let instant: JSONValue = .object([("type", "string"), ("format", "date-time")])
    static let anything: JSONValue = .bool(true)
    static let side = words("legacy", "new")

    static func words(_ words: String...) -> JSONValue {
        .object([("type", "string"), ("enum", .array(words.map { .string($0) }))])
    }

    static func list(_ element: JSONValue) -> JSONValue { .object([("type", "array"), ("items", element)]) }

    static func reference(_ name: String) -> JSONValue { .object([("$ref", .string("#/components/schemas/\(name)"))]) }

    static func orNull(_ schema: JSONValue) -> JSONValue {
        guard case .object(let members) = schema, members.count == 1, case .string? = members.first?.1,
            members.first?.0 == "type"
        else { return .object([("anyOf", .array([schema, .object([("type", "null")])]))]) }
        return .object([("type", .array([members[0].1, "null"]))])
    }

    static func described(_ schema: JSONValue, _ text: String) -> JSONValue {
        guard case .object(let members) = schema else { return .object([("description", .string(text))]) }
        return .object(members + [("description", .string(text))])
    }

    /// What an answer holds: more members may come with another version.
    /// - Parameter optional: members that are not always there.
    static func answer(_ members: [(String, JSONValue)], optional: [(String, JSONValue)] = []) -> JSONValue {
        .object([
            ("type", "object"), ("properties", .object(members + optional)),
            ("required", .array(members.map { .string($0.0) })),
        ])
    }

    /// What a request may hold, and nothing else.
    static func request(_ optional: [(String, JSONValue)], required: [(String, JSONValue)] = []) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("type", "object"), ("properties", .object(required + optional)), ("additionalProperties", false),
        ]
        if !required.isEmpty { members.append(("required", .array(required.map { .string($0.0) }))) }
        return .object(members)
    }

    static func byBackend(_ schema: JSONValue) -> JSONValue { answer([("legacy", schema), ("new", schema)]) }
}

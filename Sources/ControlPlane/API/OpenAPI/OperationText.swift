import Values

/// What the description says about one operation.
struct OperationText {
    var id: String
    var tag: String
    var summary: String
    var description = ""
    var parameters: [JSONValue] = []
    var body: Body?
    /// What it answers when all is well, by status.
    var answers: [(status: Int, answer: JSONValue)] = []
    /// The problems that only some operations have, by status; all others are added by what kind of operation it is.
    var problems: [Int] = []

    /// The names that a query may hold.
    var queryNames: [String] {
        parameters.compactMap { parameter in
            guard case .object(let members) = parameter,
                case .string("query")? = members.first(where: { $0.0 == "in" })?.1,
                case .string(let name)? = members.first(where: { $0.0 == "name" })?.1
            else { return nil }
            return name
        }
    }

    struct Body {
        var schema: String
        var isRequired = false
        var example: JSONValue
    }
}

/// Parameters of the description.
enum Parameters {
    static let user: JSONValue = .object([
        ("name", "id"), ("in", "path"), ("required", true),
        ("description", "a user id, percent-encoded; at most 1,024 bytes of UTF-8"),
        (
            "schema",
            .object([
                ("type", "string"), ("minLength", 1), ("maxLength", .number("\(AdminAPI.userMaxBytes)")),
                ("pattern", .string("^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$")),
            ])
        ), ("example", "42"),
    ])
    static let limit = query(
        "limit", .object([("type", "integer"), ("minimum", 1), ("default", 50)]),
        "items a page; more than 1,000 is taken for 1,000")
    static let cursor = query(
        "cursor", .object([("type", "string"), ("pattern", "^([1-9][0-9]*)?$")]),
        "`next` of the page before; empty for the first one")
    static let parked = query(
        "parked", .object([("type", "string"), ("enum", .array(["true", "false", "1", "0"]))]),
        "only changes with a leg that waits for an operator")
    static let format = query(
        "format", .object([("type", "string"), ("enum", .array(["json", "ndjson"]))]),
        "`ndjson`: all events, oldest first, one JSON object a line")
    static let history = [
        query(
            "since", .object([("type", "string"), ("pattern", "^([1-9][0-9]{0,6}(ms|s|m|h|d))?$"), ("default", "2h")]),
            "how far back; more than 90d is taken for 90d"),
        query(
            "resolution", .object([("type", "integer"), ("enum", .array([10, 60, 600]))]),
            "seconds of a row; by default the finest that reaches as far back"),
        query(
            "limit", .object([("type", "integer"), ("minimum", 1), ("default", 1_000)]),
            "items a page; more than 1,000 is taken for 1,000"),
        query(
            "cursor", .object([("type", "string"), ("pattern", "^([0-9]{1,15}[.][^\\u0000]+)?$")]),
            "`next` of the page before; empty for the first one"),
    ]
    static let after = query("after", Shape.count, "begin behind this seq, with at most 1,000 changes of the past")
    static let lastEventID = header(
        "Last-Event-ID", .object([("type", "string"), ("pattern", "^[0-9]*$")]),
        "what a client that connects anew has seen last; counts more than `after`")
    static let ifMatch = header(
        "If-Match",
        .object([
            ("type", "string"),
            (
                "pattern",
                """
                ^((W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*|\\*)$
                """
            ),
        ]),
        "the generation that was seen, or a list; when the rollout is at none of them, the answer is 412 (a weak tag never matches)"
    )

    private static func query(_ name: String, _ schema: JSONValue, _ text: String) -> JSONValue {
        .object([
            ("name", .string(name)), ("in", "query"), ("description", .string(text)), ("schema", schema),
        ])
    }

    private static func header(_ name: String, _ schema: JSONValue, _ text: String) -> JSONValue {
        .object([
            ("name", .string(name)), ("in", "header"), ("description", .string(text)), ("schema", schema),
        ])
    }
}

/// Answers of the description.
enum Responses {
    static func json(
        _ text: String, _ schema: String, example: JSONValue? = nil, isVersioned: Bool = false
    ) -> JSONValue {
        var media: [(String, JSONValue)] = [("schema", Shape.reference(schema))]
        if let example { media.append(("example", example)) }
        var members: [(String, JSONValue)] = [
            ("description", .string(text)), ("content", .object([("application/json", .object(media))])),
        ]
        if isVersioned {
            members.append(("headers", .object([("ETag", header("the generation, for `If-Match`"))])))
        }
        return .object(members)
    }

    static func reference(_ status: Int) -> JSONValue {
        .object([("$ref", .string("#/components/responses/Problem\(status)"))])
    }

    static func header(_ text: String) -> JSONValue {
        .object([("description", .string(text)), ("schema", Shape.text)])
    }

    /// Every problem that the listener answers, by status.
    static let problems: [(status: Int, text: String)] = [
        (400, "what was asked makes no sense; the detail says what is accepted"),
        (401, "a token is needed, or this one is none of the gateway's"),
        (403, "a viewer's token, a page of another origin, or a name that may not be this machine's"),
        (404, "there is nothing at this path"), (405, "there is, but not by this method; `Allow` names those that are"),
        (409, "refused; `reasons` says why"), (412, "the rollout is no longer at the generation of `If-Match`"),
        (413, "the body is larger than 1 MiB"), (414, "the target is longer than 8 KiB"),
        (422, "the configuration has errors, named in `reasons`; nothing was changed"),
        (429, "too many wrong tokens from this address"), (431, "the headers are too large"),
        (503, "the store cannot be asked now, or all places are taken"),
    ]
}

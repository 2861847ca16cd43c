import Gateway
import Values

extension AdminAPI {
    /// The description of the API (OpenAPI 3.1), made of its routes.
    func openAPI() -> ServiceResponse {
        ServiceResponse(status: 200, contentType: "application/json", text: OpenAPIDocument.text)
    }
}

/// Puts the description together. A route that nobody has described is left out, which a test does not let pass.
enum OpenAPIDocument {
    static let text = document.text + "\n"

    private static let document = JSONValue.object([
        ("openapi", "3.1.0"),
        (
            "info",
            .object([
                ("title", "Cutover admin API"), ("version", .string(productVersion)),
                (
                    "description",
                    """
                    Beside it on the same listener: `/metrics` for Prometheus, `/healthz`, `/readyz` and the operators' page at `/`. \
                    A method that a path does not have is answered 405 with `Allow`; HEAD is answered wherever GET is. Unknown query \
                    parameters are passed over, unknown members of a body refused.
                    """
                ),
            ])
        ),
        ("servers", .array([.object([("url", .string(AdminRoute.prefix))])])), ("tags", tags), ("paths", paths),
        (
            "components",
            .object([
                ("schemas", .object(RolloutSchemas.all + ChangeSchemas.all + ListSchemas.all)),
                ("responses", problems),
                (
                    "securitySchemes",
                    .object([
                        (
                            "bearer",
                            .object([
                                ("type", "http"), ("scheme", "bearer"),
                                (
                                    "description",
                                    "`admin.token` or, to read only, `viewer.token` of the data directory. On loopback reading needs none."
                                ),
                            ])
                        )
                    ])
                ),
            ])
        ),
    ])

    private static let tags: JSONValue = .array(
        [
            ("rollout", "where it is, and the commands that move it"), ("users", "who is served by what"),
            ("journal", "writes, and the way back"), ("comparison", "shadow reads that differed"),
            ("events", "what happened"), ("configuration", "of the gateway"),
        ].map { .object([("name", .string($0.0)), ("description", .string($0.1))]) })

    private static var paths: JSONValue {
        var paths: [(String, [(String, JSONValue)])] = []
        for route in AdminRoute.all {
            guard let text = Operations.all["\(route.method) \(route.path)"] else { continue }
            let item = (route.method.lowercased(), operation(text, isRead: route.method == "GET"))
            if let index = paths.firstIndex(where: { $0.0 == route.path }) {
                paths[index].1.append(item)
            } else {
                paths.append((route.path, [item]))
            }
        }
        return .object(paths.map { ($0.0, .object($0.1)) })
    }

    private static func operation(_ text: OperationText, isRead: Bool) -> JSONValue {
        let bearer = JSONValue.object([("bearer", .array([]))])
        var members: [(String, JSONValue)] = [
            ("operationId", .string(text.id)), ("tags", .array([.string(text.tag)])),
            ("summary", .string(text.summary)),
        ]
        if !text.description.isEmpty { members.append(("description", .string(text.description))) }
        members.append(("security", .array(isRead ? [.object([]), bearer] : [bearer])))
        let parameters = text.parameters + (isRead ? [] : [Parameters.ifMatch])
        if !parameters.isEmpty { members.append(("parameters", .array(parameters))) }
        if let body = text.body { members.append(("requestBody", requestBody(body))) }
        let problems = [400, 401, 403, 414, 429, 431] + (isRead ? [] : [412, 413]) + text.problems
        members.append(
            (
                "responses",
                .object(
                    text.answers.map { (String($0.status), $0.answer) }
                        + problems.sorted().map { (String($0), Responses.reference($0)) })
            ))
        return .object(members)
    }

    private static func requestBody(_ body: OperationText.Body) -> JSONValue {
        .object([
            ("required", .bool(body.isRequired)),
            (
                "content",
                .object([
                    (
                        "application/json",
                        .object([("schema", Shape.reference(body.schema)), ("example", body.example)])
                    )
                ])
            ),
        ])
    }

    private static var problems: JSONValue {
        .object(
            Responses.problems.map { status, text in
                var members: [(String, JSONValue)] = [
                    ("description", .string(text)),
                    (
                        "content",
                        .object([
                            (
                                "application/problem+json",
                                .object(
                                    [("schema", Shape.reference("Problem"))]
                                        + (status == 409 ? [("example", Examples.problem)] : []))
                            )
                        ])
                    ),
                ]
                let header: (String, String)? =
                    switch status {
                    case 401: ("WWW-Authenticate", "the scheme")
                    case 405: ("Allow", "the methods")
                    case 429, 503: ("Retry-After", "seconds")
                    default: nil
                    }
                if let header { members.append(("headers", .object([(header.0, Responses.header(header.1))]))) }
                return ("Problem\(status)", .object(members))
            })
    }
}

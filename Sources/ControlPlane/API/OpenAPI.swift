import Gateway

extension AdminAPI {
    /// The description of the API (OpenAPI 3.1).
    func openAPI() -> ServiceResponse {
        ServiceResponse(status: 200, contentType: "application/json", text: openAPIDocument)
    }
}

/// One operation of the API: path, method, what it does, and whether it changes something.
private let operations: [(path: String, method: String, summary: String)] = [
    (
        "/status", "get",
        "Where the rollout is, the four figures, shadow reads, journal with its catch-up by backend, and backends"
    ),
    ("/rollout", "get", "The rollout's state and stages"),
    ("/mismatches", "get", "Reads that differed between the backends, newest first"),
    ("/journal", "get", "Writes and what became of each leg, newest first"),
    ("/events", "get", "Who changed what, when and why, newest first"),
    ("/users/{id}", "get", "Who serves a user, and why"),
    ("/users/{id}/pin", "put", "Keep a user on one side"),
    ("/users/{id}/pin", "delete", "Let the percent decide about a user again"),
    ("/rollout/promote", "post", "Go to the next stage, or to a named one"),
    ("/rollout/rollback", "post", "Send everybody back to legacy"),
    ("/rollout/pause", "post", "Hold the rollout"),
    ("/rollout/resume", "post", "Let a paused rollout go on"),
    ("/rollout/percent", "post", "Set the percent directly"),
    ("/rollout/stop-legacy", "post", "Stop writing legacy, in the last stage at 100 percent"),
    ("/rollout/resume-legacy", "post", "Write legacy again"),
    ("/reverse-sync", "get", "How far the present reverse sync is, or how the last one ended"),
    ("/reverse-sync", "post", "Bring legacy what it lacks, in order, and compare the backends"),
    ("/journal/replay", "post", "Send parked legs again"),
    ("/reload", "post", "Validate the configuration and take it over"),
]

private let openAPIDocument: String = {
    var paths: [(String, JSONValue)] = []
    for operation in operations {
        var members: [(String, JSONValue)] = [
            ("summary", .string(operation.summary)),
            ("operationId", .string(operation.method + operation.path.filter { $0.isLetter })),
        ]
        if operation.path.contains("{id}") {
            members.append(
                (
                    "parameters",
                    .array([
                        .object([
                            ("name", "id"), ("in", "path"), ("required", true),
                            ("schema", .object([("type", "string")])),
                        ])
                    ])
                ))
        }
        if operation.method != "get" { members.append(("security", .array([.object([("bearer", .array([]))])]))) }
        members.append(
            (
                "responses",
                .object([
                    ("200", .object([("description", "done")])),
                    ("default", .object([("description", "a problem document (RFC 9457)")])),
                ])
            ))
        let item = (operation.method, JSONValue.object(members))
        if let index = paths.firstIndex(where: { $0.0 == operation.path }), case .object(let old) = paths[index].1 {
            paths[index].1 = .object(old + [item])
        } else {
            paths.append((operation.path, .object([item])))
        }
    }
    return JSONValue.object([
        ("openapi", "3.1.0"),
        ("info", .object([("title", "Cutover admin API"), ("version", .string(productVersion))])),
        ("servers", .array([.object([("url", "/api/v1")])])),
        ("paths", .object(paths)),
        (
            "components",
            .object([
                ("securitySchemes", .object([("bearer", .object([("type", "http"), ("scheme", "bearer")]))]))
            ])
        ),
    ]).text + "\n"
}()

import Gateway
import Routing

/// One operation of the API: the router and the API's own description are both made of these.
struct AdminRoute: Sendable {
    /// GET answers HEAD, too.
    let method: String
    /// Below `/api/v1`; `{id}` is any one segment.
    let path: String
    /// - Parameters: the API, the request, and the segment that stands for `{id}`, still percent-encoded.
    let answer: @Sendable (AdminAPI, ServiceRequest, Substring) async -> ServiceResponse

    static let prefix = "/api/v1"

    private init(
        _ method: String, _ path: String,
        _ answer: @escaping @Sendable (AdminAPI, ServiceRequest, Substring) async -> ServiceResponse
    ) {
        self.method = method
        self.path = path
        self.answer = answer
    }

    static let all: [AdminRoute] = [
        AdminRoute("GET", "/status") { api, _, _ in await api.status() },
        AdminRoute("GET", "/metrics/history") { api, request, _ in await api.metricsHistory(request) },
        AdminRoute("GET", "/rollout") { api, _, _ in await api.rollout() },
        AdminRoute("POST", "/rollout/promote") { api, request, _ in await api.changeRollout(request, "promote") },
        AdminRoute("POST", "/rollout/rollback") { api, request, _ in await api.changeRollout(request, "rollback") },
        AdminRoute("POST", "/rollout/pause") { api, request, _ in await api.changeRollout(request, "pause") },
        AdminRoute("POST", "/rollout/resume") { api, request, _ in await api.changeRollout(request, "resume") },
        AdminRoute("POST", "/rollout/percent") { api, request, _ in await api.changeRollout(request, "percent") },
        AdminRoute("POST", "/rollout/stop-legacy") { api, request, _ in
            await api.changeRollout(request, "stop-legacy")
        },
        AdminRoute("POST", "/rollout/resume-legacy") { api, request, _ in
            await api.changeRollout(request, "resume-legacy")
        },
        AdminRoute("GET", "/users/{id}") { api, _, id in await api.user(id) },
        AdminRoute("PUT", "/users/{id}/pin") { api, request, id in await api.pin(request, id) },
        AdminRoute("DELETE", "/users/{id}/pin") { api, request, id in await api.pin(request, id) },
        AdminRoute("GET", "/mismatches") { api, request, _ in api.mismatches(request) },
        AdminRoute("GET", "/journal") { api, request, _ in await api.journalRows(request) },
        AdminRoute("POST", "/journal/replay") { api, request, _ in await api.replay(request) },
        AdminRoute("POST", "/journal/settle") { api, request, _ in await api.settle(request) },
        AdminRoute("GET", "/reverse-sync") { api, _, _ in api.reverseSyncReport() },
        AdminRoute("POST", "/reverse-sync") { api, request, _ in await api.startReverseSync(request) },
        AdminRoute("GET", "/events") { api, request, _ in await api.events(request) },
        AdminRoute("GET", "/stream") { api, request, _ in await api.stream(request) },
        AdminRoute("POST", "/reload") { api, request, _ in await api.reloadConfiguration(request) },
        AdminRoute("GET", "/openapi.json") { api, _, _ in api.openAPI() },
    ]

    /// The operation that a request asks for, and what stands for `{id}`; nil when there is none.
    static func find(_ request: ServiceRequest) -> (route: AdminRoute, id: Substring)? {
        let method = request.method == "HEAD" ? "GET" : request.method
        for route in all where route.method == method {
            if let id = route.match(request.path) { return (route, id) }
        }
        return nil
    }

    /// The parameters that the operation takes, as its description says.
    var queryNames: [String] { Operations.all["\(method) \(path)"]?.queryNames ?? [] }

    /// What may be done at a path; empty when there is nothing.
    static func methods(at path: String) -> [String] {
        if ["/", "/metrics", "/healthz", "/readyz"].contains(path) { return ["GET", "HEAD"] }
        return all.filter { $0.match(path) != nil }.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] }
    }

    /// What stands for `{id}`, empty where the path has none; nil when the path is another one.
    private func match(_ target: String) -> Substring? {
        guard target.hasPrefix(Self.prefix + "/") else { return nil }
        let parts = target.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        let pattern = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == pattern.count else { return nil }
        var id: Substring = ""
        for (part, wanted) in zip(parts, pattern) {
            if wanted == "{id}" {
                id = part
            } else if PercentCoding.decoded(part) != wanted {
                return nil
            }
        }
        return id
    }
}

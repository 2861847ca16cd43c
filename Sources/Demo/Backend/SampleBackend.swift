internal import CLinux
internal import Gateway
internal import Routing
internal import Synchronization

/// A small sync service: records with revisions, idempotency keys and tombstones in one SQLite file.
///
/// | request | answer |
/// | --- | --- |
/// | `POST /changes` | 200 with the record; 409 with `current_revision` and the current record; 422 for a key that was used for another change |
/// | `GET /records/{id}`, user in `X-User-Id` | 200 with the record; 404; 410 with the tombstone of a deleted one |
/// | `GET /users/{id}/records?cursor=…` | 200 with `{"items":[…],"next":CURSOR or null}`, tombstones included |
/// | `GET /healthz` | 200 |
///
/// A deleted record answers 410, not 404: new saying "gone" is an answer, which the gateway must not repair from legacy.
final class SampleBackend: Sendable {
    private let desk: RecordDesk
    private let latencyMilliseconds: Int64
    private let running = Mutex<LocalService?>(nil)
    private let boundPort = Atomic<Int>(0)

    /// Records of one page of a list.
    static let pageSize = 100

    /// Opens the file; nothing listens yet.
    /// - Parameter latencyMilliseconds: how long every answer takes at least.
    init(path: String, dialect: Dialect, latencyMilliseconds: Int64) throws(StoreFailure) {
        desk = RecordDesk(store: try RecordStore(path: path), dialect: dialect)
        self.latencyMilliseconds = latencyMilliseconds
    }

    /// The port, from the first `start` on; it stays the same.
    var port: Int { boundPort.load(ordering: .relaxed) }
    var url: String { "http://127.0.0.1:\(port)" }

    /// Puts records in as they are. Only while the service is stopped.
    func seed(_ records: [StoredRecord]) throws(StoreFailure) { try desk.store.seed(records) }

    /// Starts the service: on a free port the first time, later on the same one.
    func start() throws(DemoFailure) {
        let service = LocalService { [desk, latencyMilliseconds] request in
            if latencyMilliseconds > 0 { try? await Task.sleep(for: .milliseconds(latencyMilliseconds)) }
            return desk.answer(request)
        }
        do throws(ListenError) { try service.start(address: "127.0.0.1:\(port)") } catch {
            throw DemoFailure("a sample backend cannot start: \(error.text)")
        }
        boundPort.store(Int(service.port), ordering: .relaxed)
        running.withLock { $0 = service }
    }

    /// Stops it the hard way: connections break, new ones are refused. The records stay.
    func stop() {
        let service = running.withLock { service in
            defer { service = nil }
            return service
        }
        service?.stop()
    }
}

/// What the backend does with a request. Confined to the thread of the service that runs: one at a time, as a stopped
/// service's thread has ended before the next one starts.
private final class RecordDesk: @unchecked Sendable {
    let store: RecordStore
    private let dialect: Dialect

    init(store: RecordStore, dialect: Dialect) {
        self.store = store
        self.dialect = dialect
    }

    func answer(_ request: ServiceRequest) -> ServiceResponse {
        do throws(StoreFailure) {
            let path = request.path.split(separator: "/").map { PercentCoding.decoded($0) }
            switch (path.count, path.first, path.last) {
            case (1, "changes", _):
                return request.method == "POST" ? try change(request) : methodNotAllowed("POST")
            case (1, "healthz", _):
                return request.method == "GET" ? ok("{\"status\":\"ok\"}") : methodNotAllowed("GET")
            case (2, "records", let id?):
                return request.method == "GET" ? try record(id, request) : methodNotAllowed("GET")
            case (3, "users", "records"?):
                return request.method == "GET" ? try list(path[1], request) : methodNotAllowed("GET")
            default:
                return problem("Not Found", 404, "there is nothing at \(request.path)")
            }
        } catch {
            return problem("Service Unavailable", 503, error.message)
        }
    }

    private func change(_ request: ServiceRequest) throws(StoreFailure) -> ServiceResponse {
        let change: Change
        do throws(ChangeProblem) { change = try Change(body: request.body) } catch {
            return problem("Bad Request", 400, error.message)
        }
        let (verdict, record) = try store.apply(change)
        switch verdict {
        case .accepted, .retry:
            return ok(record.map { dialect.text($0, serverTime: clinux_wall_milliseconds()) } ?? "{}")
        case .stale(let current):
            let now = clinux_wall_milliseconds()
            return problem(
                "Conflict", 409, "the record is at revision \(current)",
                [
                    ("current_revision", dialect.integer(current)),
                    ("received_revision", dialect.integer(change.revision)),
                    ("current", record.map { dialect.text($0, serverTime: now) } ?? "null"),
                ])
        case .keyReused:
            return problem("Unprocessable Content", 422, "the idempotency key was used for another change")
        }
    }

    private func record(_ id: String, _ request: ServiceRequest) throws(StoreFailure) -> ServiceResponse {
        guard let user = request.header("x-user-id"), !user.isEmpty else {
            return problem("Bad Request", 400, "X-User-Id is missing")
        }
        guard let record = try store.record(id, of: user) else {
            return problem("Not Found", 404, "this user has no record of this id")
        }
        let text = dialect.text(record, serverTime: clinux_wall_milliseconds())
        return ServiceResponse(status: record.deleted ? 410 : 200, contentType: "application/json", text: text)
    }

    private func list(_ user: String, _ request: ServiceRequest) throws(StoreFailure) -> ServiceResponse {
        var cursor = ""
        for pair in request.query.split(separator: "&") where pair.hasPrefix("cursor=") {
            cursor = PercentCoding.decoded(pair.dropFirst("cursor=".count))
        }
        let page = try store.records(of: user, after: cursor, limit: SampleBackend.pageSize)
        let next = page.count == SampleBackend.pageSize ? page.last?.record : nil
        return ok(dialect.text(page: page, next: next, serverTime: clinux_wall_milliseconds()))
    }

    private func methodNotAllowed(_ method: String) -> ServiceResponse {
        var response = problem("Method Not Allowed", 405, "\(method) is the only method here")
        response.headers.append(("Allow", method))
        return response
    }

    private func ok(_ text: String) -> ServiceResponse {
        ServiceResponse(status: 200, contentType: "application/json", text: text)
    }

    private func problem(
        _ title: String, _ status: Int, _ detail: String, _ members: [(String, String)] = []
    ) -> ServiceResponse {
        let text = dialect.problem(title, status: status, detail: detail, members: members)
        return ServiceResponse(status: status, contentType: "application/problem+json", text: text)
    }
}

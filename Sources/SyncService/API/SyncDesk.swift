internal import CLinux
internal import Gateway
internal import Journal
internal import Routing
internal import SyncModel
internal import SyncStore
internal import Values

/// What the service does with a request. Confined to the thread of its `LocalService`, where nothing waits for a disk: that is done on
/// other threads, and the request goes on here afterwards.
final class SyncDesk: @unchecked Sendable {
    /// Bytes of a request's body, objects included.
    static let objectBytesMax = 32 << 20
    /// Bytes of a request's changes.
    static let changesBytesMax = 8 << 20

    let writer: SyncWriter
    let readers: WorkThreads<any SyncReading>
    let objects: WorkThreads<any ObjectStoring>
    let log: RequestLog
    let counts: SyncCounts
    let changeReader = ChangeReader()

    init(
        writer: SyncWriter, readers: WorkThreads<any SyncReading>, objects: WorkThreads<any ObjectStoring>,
        log: RequestLog, counts: SyncCounts
    ) {
        self.writer = writer
        self.readers = readers
        self.objects = objects
        self.log = log
        self.counts = counts
    }

    func start() {
        writer.start()
        readers.start()
        objects.start()
    }

    func stop() {
        writer.close()
        readers.close()
        objects.close()
        log.close()
    }

    func answer(_ request: ServiceRequest) async -> ServiceResponse {
        let turn = Turn(request)
        var answer: ServiceResponse
        do throws(BadRequest) { answer = try await route(request, turn) } catch {
            answer = Answer.problem(400, error.text, id: turn.id)
        }
        answer.headers.append(("X-Request-Id", turn.id))
        counts.request(turn.route, answer.status)
        log.note(turn, request, answer)
        return answer
    }

    private func route(_ request: ServiceRequest, _ turn: Turn) async throws(BadRequest) -> ServiceResponse {
        let path = request.path.split(separator: "/").map { PercentCoding.decoded($0) }
        let isRead = request.method == "GET" || request.method == "HEAD"
        switch (path.first, path.count) {
        case ("changes", 1):
            turn.route = "changes"
            if isRead { return try await feed(request, turn) }
            return request.method == "POST" ? await change(request, turn) : notAllowed("GET, HEAD, POST", turn)
        case ("objects", 2...):
            turn.route = "objects"
            return try await object(request, turn)
        case _ where !isRead:
            return Self.isKnown(path) ? notAllowed("GET, HEAD", turn) : nothing(turn)
        case ("documents", 1): return try await list(.document, request, turn)
        case ("highlights", 1): return try await list(.highlight, request, turn)
        case ("notes", 1): return try await list(.note, request, turn)
        case ("progress", 1): return try await list(.progress, request, turn)
        case ("records", 2): return try await record(path[1], of: request.user(Query(request.query)), turn)
        case ("users", 1): return try await users(request, turn)
        case ("users", 3) where path[2] == "records": return try await records(of: path[1], request, turn)
        case ("users", 4) where path[2] == "records": return await record(path[3], of: path[1], turn)
        case ("users", 3) where path[2] == "export": return try export(path[1], request, turn)
        case ("stats", 2) where path[1] == "highlights": return try await statistics(request, turn)
        case ("healthz", 1), ("readyz", 1): return Answer.json(Array("{\"status\":\"ok\"}\n".utf8))
        case ("metrics", 1): return metrics()
        default: return nothing(turn)
        }
    }

    private static func isKnown(_ path: [String]) -> Bool {
        ["documents", "highlights", "notes", "progress", "records", "users", "stats", "healthz", "readyz", "metrics"]
            .contains(path.first ?? "")
    }

    private func nothing(_ turn: Turn) -> ServiceResponse {
        Answer.problem(404, "there is nothing of this name", id: turn.id)
    }

    func notAllowed(_ methods: String, _ turn: Turn) -> ServiceResponse {
        var answer = Answer.problem(405, "accepted: \(methods)", id: turn.id)
        answer.headers.append(("Allow", methods))
        return answer
    }

    // MARK: Waiting for other threads

    /// Reads on a reader's thread.
    func read<Value: Sendable>(
        _ turn: Turn, _ body: @escaping @Sendable (any SyncReading) throws(JournalError) -> Value
    ) async -> Result<Value, JournalError> {
        let began = clinux_monotonic_nanoseconds()
        let result: Result<Value, JournalError> = await withCheckedContinuation { continuation in
            readers.perform { reader in
                guard let reader else {
                    let error = JournalError(.busy, "too many reads wait for the store")
                    return continuation.resume(returning: .failure(error))
                }
                do throws(JournalError) { continuation.resume(returning: .success(try body(reader))) } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        turn.storeNanoseconds += clinux_monotonic_nanoseconds() - began
        return result
    }
}

/// One request on its way.
final class Turn {
    /// The client's, where it is fit to be repeated, else one that is made.
    let id: String
    let began = clinux_monotonic_nanoseconds()
    /// What was asked for, without ids.
    var route = "other"
    /// How long the store took, its queue included.
    var storeNanoseconds: UInt64 = 0
    /// Changes, or entries of a list.
    var count = 0

    init(_ request: ServiceRequest) {
        let given = request.header("x-request-id") ?? ""
        let isFit =
            !given.isEmpty && given.utf8.count <= 128
            && given.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
        id = isFit ? given : randomRequestID()
    }
}

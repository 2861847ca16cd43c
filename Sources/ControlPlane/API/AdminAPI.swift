import CLinux
import Configuration
import FoundationEssentials
import Gateway
import Journal
import JournalThreads
import Rollout
import Routing
import Synchronization
import Telemetry

/// The admin listener's requests (contract §9): who may ask, what is asked, what is answered.
///
/// Stateless but for what it refers to; its methods run on the admin service's loop.
final class AdminAPI: Sendable {
    let controller: RolloutController
    let dataPlane: DataPlane
    let storage: Storage
    var journal: ThreadedJournal { storage.journal }
    /// Parked legs, as last counted: what is shown while the store cannot be asked.
    let lastParked = Atomic<Int>(0)
    let health: JournalHealth
    let board: FigureBoard
    let history: HistoryRecorder
    let tokens: AdminTokens
    let reverseSync: ReverseSync
    let pilot: PilotDriver
    let alerts: AlertDesk
    let wayBack: WayBack
    private let page = AdminPage()
    /// Validates and takes over the configuration file anew.
    let reload: @Sendable (ChangeOrigin) async -> ReloadOutcome
    let isReady: @Sendable () -> Bool

    init(
        controller: RolloutController, dataPlane: DataPlane, storage: Storage, health: JournalHealth,
        board: FigureBoard, history: HistoryRecorder, tokens: AdminTokens, reverseSync: ReverseSync, pilot: PilotDriver,
        alerts: AlertDesk = AlertDesk(instance: ""), wayBack: WayBack = .real,
        reload: @escaping @Sendable (ChangeOrigin) async -> ReloadOutcome, isReady: @escaping @Sendable () -> Bool
    ) {
        self.controller = controller
        self.dataPlane = dataPlane
        self.storage = storage
        self.health = health
        self.board = board
        self.history = history
        self.tokens = tokens
        self.reverseSync = reverseSync
        self.pilot = pilot
        self.alerts = alerts
        self.wayBack = wayBack
        self.reload = reload
        self.isReady = isReady
    }

    /// Answers one request.
    func handle(_ request: ServiceRequest) async -> ServiceResponse {
        let isRead = request.method == "GET" || request.method == "HEAD"
        switch request.path {
        case "/healthz" where isRead: return ServiceResponse(status: 200, contentType: "text/plain", text: "ok\n")
        case "/readyz" where isRead: return readiness()
        // The document holds no data: what it shows it asks for, with the token of whoever looks at it.
        case "/" where isRead: return page.response()
        default: break
        }
        if let refusal = authorize(request, isRead: isRead) { return refusal }
        switch request.path {
        case "/metrics" where isRead: return await metricsPage()
        default: break
        }
        guard request.path.hasPrefix("/api/v1/") else { return problem(404, "there is nothing at \(request.path)") }
        let parts = request.path.dropFirst("/api/v1/".count).split(separator: "/", omittingEmptySubsequences: false)
            .map { decodePercent(String($0)) }
        return await route(request, parts, isRead: isRead)
    }

    private func route(_ request: ServiceRequest, _ parts: [String], isRead: Bool) async -> ServiceResponse {
        switch (parts.count, parts.first) {
        case (1, "status"): return isRead ? await status() : notAllowed("GET")
        case (1, "rollout"): return isRead ? await rollout() : notAllowed("GET")
        case (1, "mismatches"): return isRead ? mismatches(request) : notAllowed("GET")
        case (1, "journal"): return isRead ? await journalRows(request) : notAllowed("GET")
        case (1, "events"): return isRead ? await events(request) : notAllowed("GET")
        case (1, "openapi.json"): return isRead ? openAPI() : notAllowed("GET")
        case (1, "reload"): return request.method == "POST" ? await reloadConfiguration(request) : notAllowed("POST")
        case (2, "metrics") where parts[1] == "history":
            return isRead ? await metricsHistory(request) : notAllowed("GET")
        case (2, "users"): return isRead ? await user(parts[1]) : notAllowed("GET")
        case (3, "users") where parts[2] == "pin":
            guard request.method == "PUT" || request.method == "DELETE" else { return notAllowed("PUT, DELETE") }
            return await pin(request, parts[1])
        case (1, "reverse-sync"):
            if isRead { return reverseSyncReport() }
            return request.method == "POST" ? await startReverseSync(request) : notAllowed("GET, POST")
        case (2, "rollout"):
            let commands = ["promote", "rollback", "pause", "resume", "percent", "stop-legacy", "resume-legacy"]
            guard commands.contains(parts[1]) else { break }
            return request.method == "POST" ? await changeRollout(request, parts[1]) : notAllowed("POST")
        case (2, "journal") where parts[1] == "replay":
            return request.method == "POST" ? await replay(request) : notAllowed("POST")
        default: break
        }
        return problem(404, "the API has no \(request.path)")
    }

    // MARK: Who may ask

    /// nil when the caller may; on loopback reading needs no token, everything else does (contract §9).
    private func authorize(_ request: ServiceRequest, isRead: Bool) -> ServiceResponse? {
        let isLoopback = request.peer.hasPrefix("127.") || request.peer == "::1" || request.peer == "::ffff:127.0.0.1"
        let words = (request.header("authorization") ?? "").split(separator: " ", maxSplits: 1)
        let token = words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
        if isRead, isLoopback, token == nil { return nil }
        guard let token, let role = tokens.role(of: token) else {
            var refusal = problem(
                401, token == nil ? "this needs an admin token" : "the token is not one of this gateway's")
            refusal.headers.append(("WWW-Authenticate", "Bearer realm=\"cutover\""))
            return refusal
        }
        if !isRead, role == .viewer { return problem(403, "a viewer token may only read") }
        return nil
    }

    func origin(_ request: ServiceRequest, _ body: ChangeBody) throws(BadCall) -> ChangeOrigin {
        var generation: Int64?
        if let text = request.header("if-match"), text != "*" {
            let digits = text.hasPrefix("W/") ? text.dropFirst(2) : Substring(text)
            guard let number = Int64(digits.filter { $0 != "\"" }) else {
                throw BadCall(text: "If-Match \"\(text)\" is no generation; accepted: \"12\"")
            }
            generation = number
        }
        return ChangeOrigin(
            actor: "admin@\(request.peer)", reason: body.reason ?? "", ifGeneration: generation,
            isDryRun: body.dryRun ?? false)
    }

    // MARK: Small answers

    private func readiness() -> ServiceResponse {
        let isReady = isReady()
        let body = JSONValue.object([
            ("ready", .bool(isReady)),
            (
                "backends",
                .object(Side.allCases.map { ("\($0.name)", .object([("healthy", .bool(dataPlane.isHealthy($0)))])) })
            ),
        ])
        return json(body, status: isReady ? 200 : 503)
    }

    func notAllowed(_ methods: String) -> ServiceResponse {
        var refusal = problem(405, "accepted here: \(methods)")
        refusal.headers.append(("Allow", methods))
        return refusal
    }
}

/// What came of a reload.
package enum ReloadOutcome: Sendable {
    case done(ChangeOutcome)
    /// The new configuration has errors; nothing was changed.
    case invalid([String])
    case unavailable(String)
}

/// A call that makes no sense; the text says what is accepted.
struct BadCall: Error {
    let text: String
}

/// The members of a change's body; all optional, unknown ones refused.
struct ChangeBody: Decodable {
    var to: String?
    var force: Bool?
    var dryRun: Bool?
    var reason: String?
    var percent: Double?
    var side: String?
    var seqs: [Int64]?
    var allParked: Bool?
    var since: String?
    var includeParked: Bool?
    var verify: Bool?

    init() {}

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case to, force, reason, percent, side, seqs, since, verify
        case dryRun = "dry_run"
        case allParked = "all_parked"
        case includeParked = "include_parked"
    }

    /// Reads a request's body; an empty one is an empty object.
    static func read(_ bytes: [UInt8]) throws(BadCall) -> ChangeBody {
        if bytes.allSatisfy({ $0 <= 0x20 }) { return ChangeBody() }
        do {
            let open = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
            guard case .object(let members) = open else { throw BadCall(text: "the body is not a JSON object") }
            let known = CodingKeys.allCases.map(\.rawValue)
            if let unknown = members.first(where: { !known.contains($0.0) })?.0 {
                throw BadCall(
                    text: "unknown member \"\(unknown)\"; accepted: \(known.sorted().joined(separator: ", "))")
            }
            return try JSONDecoder().decode(ChangeBody.self, from: Data(bytes))
        } catch let bad as BadCall {
            throw bad
        } catch let DecodingError.typeMismatch(_, context) {
            let key = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw BadCall(text: "\(key): the value is of the wrong type")
        } catch {
            throw BadCall(text: "the body is not valid JSON")
        }
    }
}

// MARK: - Answers

func json(_ value: JSONValue, status: Int = 200) -> ServiceResponse {
    var response = ServiceResponse(status: status, contentType: "application/json", text: value.text + "\n")
    response.headers.append(("Cache-Control", "no-store"))
    return response
}

/// A problem document (RFC 9457).
func problem(_ status: Int, _ detail: String, reasons: [String] = []) -> ServiceResponse {
    let titles = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        409: "Conflict",
        412: "Precondition Failed", 422: "Unprocessable Content", 503: "Service Unavailable",
    ]
    var members: [(String, JSONValue)] = [
        ("type", "about:blank"), ("title", .string(titles[status] ?? "Error")), ("status", .number(String(status))),
        ("detail", .string(detail)),
    ]
    let id = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    members.append(("request_id", .string(hexadecimal(id.0) + hexadecimal(id.1))))
    if !reasons.isEmpty { members.append(("reasons", .array(reasons.map { .string($0) }))) }
    var response = ServiceResponse(
        status: status, contentType: "application/problem+json", text: JSONValue.object(members).text + "\n")
    response.headers.append(("Cache-Control", "no-store"))
    return response
}

/// A number that JSON can hold: NaN and infinities become null.
func number(_ value: Double?) -> JSONValue {
    guard let value, value.isFinite else { return .null }
    return .number(value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value))
}

func decodePercent(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard !bytes.isEmpty else { return "" }
    var decoded = bytes
    let count = bytes.withUnsafeBufferPointer { input in
        decoded.withUnsafeMutableBufferPointer { output in
            guard let from = input.baseAddress, let to = output.baseAddress else { return 0 }
            return PercentCoding.decode(from, input.count, into: to)
        }
    }
    return String(decoding: decoded.prefix(count), as: UTF8.self)
}

/// A value of a query (`limit=5&cursor=7`).
func queryValue(_ query: String, _ name: String) -> String? {
    for pair in query.split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.first.map(String.init) == name { return parts.count > 1 ? decodePercent(String(parts[1])) : "" }
    }
    return nil
}

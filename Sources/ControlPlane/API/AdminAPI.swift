import Gateway
import JournalThreads
import Rollout
import Synchronization
import Values

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
    let access: AdminAccess
    let streams: EventStreams
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
        alerts: AlertDesk = AlertDesk(instance: ""), wayBack: WayBack = .real, failuresPerMinute: Int = 10,
        streams: EventStreams = EventStreams(),
        reload: @escaping @Sendable (ChangeOrigin) async -> ReloadOutcome, isReady: @escaping @Sendable () -> Bool
    ) {
        self.controller = controller
        self.dataPlane = dataPlane
        self.storage = storage
        self.health = health
        self.board = board
        self.history = history
        access = AdminAccess(tokens: tokens, failuresPerMinute: failuresPerMinute)
        self.streams = streams
        self.reverseSync = reverseSync
        self.pilot = pilot
        self.alerts = alerts
        self.wayBack = wayBack
        self.reload = reload
        self.isReady = isReady
    }

    /// Fields of every answer of the admin listener, unless it has its own: nothing is kept, sniffed, framed or named to others.
    static let commonFields: [(name: String, value: String)] = [
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
        ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
    ]

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
        // What a browser asks before a request across origins: the answer names no origin, so there is none.
        if request.method == "OPTIONS" { return notAllowed(at: request.path) }
        if let refusal = access.refusal(of: request, isRead: isRead) { return refusal }
        if request.path == "/metrics", isRead { return await metricsPage() }
        guard let found = AdminRoute.find(request) else { return notAllowed(at: request.path) }
        do throws(BadCall) { try Query(request.query).accepts(only: found.route.queryNames) } catch {
            return problem(400, error.text)
        }
        let response = await found.route.answer(self, request, found.id)
        if !isRead, response.status < 300 { streams.somethingChanged() }
        return response
    }

    /// Nothing is there, or not by this method.
    private func notAllowed(at path: String) -> ServiceResponse {
        let methods = AdminRoute.methods(at: path)
        guard !methods.isEmpty else { return problem(404, "there is nothing at \(path.prefix(200))") }
        let text = methods.joined(separator: ", ")
        var refusal = problem(405, "accepted here: \(text)")
        refusal.headers.append(("Allow", text))
        return refusal
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
}

import CLinux
import Comparison
import Configuration
import HTTPWire
import Journal
import Rollout
import Routing
import Telemetry

/// The proxy on one event loop: its listeners, its pools, its counters. All state is plain, because all code runs on the
/// loop's thread; other threads talk to it through the loop's inbox.
final class Worker: @unchecked Sendable {
    let loop: EventLoop
    let metrics: LoopMetrics
    let coordinator: WriteCoordinator
    let shadows: ShadowDesk
    let accessLog: AccessLog
    let spans: SpanQueue
    private let clients: ClientCounts
    /// What requests are decided by; replaced as a whole.
    private(set) var snapshot: Snapshot
    private(set) var legacy: UpstreamPool
    private(set) var new: UpstreamPool
    private(set) lazy var deliveries = DeliveryDesk(worker: self)
    let hasher = ContentHasher()
    let identityScratch: IdentityScratch
    private(set) var clientLimits: WireLimits
    private(set) var answerTails: AnswerTails
    private(set) var isDraining = false
    private var listeners: [Connection] = []
    private var sessions: [ObjectIdentifier: ClientSession] = [:]
    /// Connections of HTTP/2; their streams have sessions as other clients have.
    private var http2: [ObjectIdentifier: HTTP2Session] = [:]
    /// Those who have not said yet which protocol they speak.
    private var undecided: [ObjectIdentifier: UndecidedClient] = [:]
    private(set) lazy var resting = RestingClients(worker: self)
    private let workers: Int
    private var tunnels = 0
    private var whenDrained: (@Sendable () -> Void)?

    init(
        loop: EventLoop, snapshot: Snapshot, shared: SharedState, metrics: LoopMetrics, workers: Int
    ) {
        self.loop = loop
        self.snapshot = snapshot
        self.metrics = metrics
        identityScratch = IdentityScratch(metrics: metrics)
        self.workers = workers
        coordinator = shared.coordinator
        accessLog = AccessLog(loop: loop, writer: shared.accessLog)
        spans = shared.spans
        clients = shared.clients
        let settings = snapshot.settings
        legacy = UpstreamPool(
            side: .legacy, settings: settings.legacy, workers: workers, shared: shared.legacy, loop: loop,
            metrics: metrics)
        new = UpstreamPool(
            side: .new, settings: settings.new, workers: workers, shared: shared.new, loop: loop, metrics: metrics)
        clientLimits = WireLimits(settings.limits)
        answerTails = AnswerTails(exposed: settings.expose)
        shadows = ShadowDesk(loop: loop, metrics: metrics, mismatches: shared.mismatches, workers: workers)
        shadows.configure(settings.shadow)
        shadows.worker = self
    }

    /// Whether the route of a write wants conditional headers on the second leg too.
    func keepsConditionals(_ submission: Submission) -> Bool {
        guard !submission.conditionalLines.isEmpty, !snapshot.compiledRoutes.isEmpty else { return false }
        var method = submission.method
        var target = submission.target
        let index = method.withUTF8 { m in
            target.withUTF8 { t in
                m.baseAddress.flatMap { m0 in
                    t.baseAddress.flatMap { t0 in
                        snapshot.routes.match(method: m0, m.count, path: t0, RequestTarget.pathCount(t0, t.count))
                    }
                }
            }
        }
        return index.map { snapshot.compiledRoutes[$0].route.keepsConditionals } ?? false
    }

    @inline(__always)
    func pool(_ side: Side) -> UpstreamPool { side == .legacy ? legacy : new }

    // MARK: From the control plane, on the loop

    /// Puts a new snapshot in force for every request that is decided from now on.
    func adopt(_ snapshot: Snapshot) {
        self.snapshot = snapshot
        answerTails = AnswerTails(exposed: snapshot.settings.expose)
        clientLimits = WireLimits(snapshot.settings.limits)
        shadows.configure(snapshot.settings.shadow)
    }

    /// Takes pools to other backends after a reload; exchanges under way end on the old ones.
    func replacePools(legacy: SharedBackend?, new: SharedBackend?) {
        let settings = snapshot.settings
        if let legacy {
            self.legacy.retire()
            self.legacy = UpstreamPool(
                side: .legacy, settings: settings.legacy, workers: workers, shared: legacy, loop: loop, metrics: metrics
            )
        }
        if let new {
            self.new.retire()
            self.new = UpstreamPool(
                side: .new, settings: settings.new, workers: workers, shared: new, loop: loop, metrics: metrics)
        }
    }

    // MARK: Clients

    /// Accepts clients from a listening descriptor until the worker drains.
    /// - Parameter takesTurns: other loops accept from the same socket.
    func listen(_ descriptor: Int32, at port: ClientPort, takesTurns: Bool = false) {
        let listener = Connection(fd: descriptor, loop: loop, limits: clientLimits, connecting: false, listening: true)
        listeners.append(listener)
        Task.immediate(executorPreference: loop) {
            await acceptClients(from: listener, loop: self.loop) {
                self.metrics.limitHit(.clientConnections)
            } admit: {
                self.admit($0, $1, at: port)
                if takesTurns { self.loop.stepBack(listener) }
            }
        }
    }

    /// Clients that this loop takes: its share of `limits.connections`, and never so many that no descriptor is left for the
    /// backends, the store and the admin listener.
    private var connectionsMax: Int {
        let settings = snapshot.settings
        let descriptors = Int(clamping: clinux_descriptor_limit())
        let upstream = min(settings.legacy.maxConnections + settings.new.maxConnections, descriptors / 2)
        let room = max(descriptors / 4, descriptors - upstream - tunnels * workers - Worker.reservedDescriptors)
        return max(1, min(settings.limits.connections, room) / workers)
    }

    /// Takes one of the places that this loop has for tunnels: its share of `limits.tunnels`, and of a quarter of the
    /// descriptors, because each holds one towards a backend beside its client's. `tunnelEnded` gives it back.
    func takeTunnel() -> Bool {
        let limit = snapshot.settings.limits.tunnels
        let most = limit == 0 ? 0 : max(1, min(limit, Int(clamping: clinux_descriptor_limit()) / 4) / workers)
        guard tunnels < most else {
            metrics.limitHit(.tunnels)
            return false
        }
        tunnels += 1
        return true
    }

    func tunnelEnded() { tunnels -= 1 }

    /// For files, loops, and the admin listener with its connections.
    private static let reservedDescriptors = 96

    /// Serves one more client. Takes the descriptor over.
    func admit(_ descriptor: Int32, _ peer: sockaddr_storage, at port: ClientPort = ClientPort()) {
        // Counted where they are opened and closed: sessions would be too many for HTTP/2, and none for who has said nothing yet.
        guard metrics.clientsOpen < connectionsMax else { return turnAway(descriptor, .clientConnections) }
        let place: ClientPlace?
        switch ClientPlace.take(at: port, for: peer, settings: snapshot.settings, counts: clients) {
        case .admitted(let taken): place = taken
        case .listenerFull: return turnAway(descriptor, .listenerConnections)
        case .clientFull: return turnAway(descriptor, .clientConnectionsPerAddress)
        }
        let connection = Connection(fd: descriptor, loop: loop, limits: clientLimits, connecting: false)
        connection.place = place
        let stream = port.tls?.current.stream(fd: descriptor)
        guard port.tls == nil || stream != nil else { return connection.close() }
        metrics.clientAccepted()
        if port.http2, stream == nil { return serveEither(connection, hostText(peer)) }
        serve(connection, hostText(peer), isFresh: true, securedBy: stream)
    }

    private func turnAway(_ descriptor: Int32, _ limit: Limit) {
        metrics.limitHit(limit)
        close(descriptor)
    }

    private func serve(
        _ connection: Connection, _ peerText: [UInt8], isFresh: Bool, securedBy stream: TLSStream? = nil
    ) {
        let isStream = connection.stream != nil
        let session = ClientSession(worker: self, client: connection, peerText: peerText, isFresh: isFresh)
        sessions[ObjectIdentifier(session)] = session
        Task.immediate(executorPreference: loop) {
            var isFit = true
            if let stream { isFit = await session.secure(with: stream) }
            if isFit, let stream, stream.speaksHTTP2 {
                self.sessions[ObjectIdentifier(session)] = nil
                return self.serveHTTP2(session.client, session.peerText)
            }
            if isFit { await session.serve() }
            self.ended(session, isStream: isStream)
        }
    }

    private func ended(_ session: ClientSession, isStream: Bool) {
        session.client.close()
        sessions[ObjectIdentifier(session)] = nil
        if isStream {
            if isDraining { reportDrained() }
        } else if !session.isResting {
            closed()
        }
    }

    // MARK: HTTP/2

    /// Finds out which protocol a client speaks whose listener takes HTTP/2 without having agreed on it.
    private func serveEither(_ connection: Connection, _ peerText: [UInt8]) {
        let client = UndecidedClient(connection, peerText)
        undecided[ObjectIdentifier(client)] = client
        Task.immediate(executorPreference: loop) {
            do throws(IOFailure) {
                let timeout = self.snapshot.settings.timeouts.headMilliseconds
                let speaksHTTP2 = try await client.speaksHTTP2(timeout: timeout, loop: self.loop)
                self.undecided[ObjectIdentifier(client)] = nil
                if speaksHTTP2 {
                    self.serveHTTP2(client.connection, client.peerText)
                } else {
                    self.serve(client.connection, client.peerText, isFresh: true)
                }
            } catch {
                self.undecided[ObjectIdentifier(client)] = nil
                client.connection.close()
                self.closed()
            }
        }
    }

    private func serveHTTP2(_ connection: Connection, _ peerText: [UInt8]) {
        guard let session = HTTP2Session(worker: self, client: connection, peerText: peerText) else {
            connection.close()
            return closed()
        }
        http2[ObjectIdentifier(session)] = session
        // It could not know, and is about to ask: it is told after its first requests.
        if isDraining { session.shutDownSoon(after: graceMilliseconds) }
        Task.immediate(executorPreference: loop) {
            await session.serve()
            self.http2[ObjectIdentifier(session)] = nil
            self.closed()
        }
    }

    /// Serves one request of an HTTP/2 connection.
    func serve(stream connection: Connection, of session: HTTP2Session) {
        serve(connection, session.peerText, isFresh: false)
    }

    private func closed() {
        metrics.clientClosed()
        if isDraining { reportDrained() }
    }

    /// Lets a client that has been silent for a while, between two requests, do without a session.
    /// Not one with TLS: what its peer and it have agreed on is a part of the session.
    /// - Returns: false when the gateway does not wait for idle clients any more.
    func rest(_ client: Connection, _ peerText: [UInt8], _ milliseconds: Int64) -> Bool {
        guard !isDraining, client.stream == nil else { return false }
        resting.add(client, peerText, milliseconds)
        return true
    }

    /// A client that has rested sends something again, or leaves.
    func wake(_ client: RestingClient, _ events: UInt32) {
        let connection = Connection(
            fd: client.fd, loop: loop, limits: clientLimits, connecting: false, insteadOf: client)
        connection.ready(events)
        serve(connection, client.peerText, isFresh: false)
    }

    /// A client has rested for longer than is waited for.
    func restEnded(_ client: RestingClient) {
        metrics.limitHit(.clientIdleTime)
        loop.close(client)
        closed()
    }

    // MARK: Shutdown

    /// Stops accepting, lets requests under way finish and closes idle connections.
    /// - Parameter done: called once on the loop when no client is left.
    func drain(_ done: @escaping @Sendable () -> Void) {
        isDraining = true
        whenDrained = done
        for listener in listeners {
            loop.ignore(listener)
            listener.close()
        }
        listeners.removeAll()
        // Whoever has only just connected is about to ask, and whoever has asked in this very moment is answered: neither could know.
        for session in sessions.values
        where session.isIdle && !session.isFresh && clinux_has_arrivals(session.client.fd) == 0 {
            session.client.interrupt(.aborted)
        }
        loop.schedule(after: graceMilliseconds) {
            // Closed, not interrupted: one whose task has been woken already would miss that and wait for `timeouts.head`.
            for session in self.sessions.values where session.client.isSecuring { session.client.close() }
            // With TLS it does not rest, so that nothing else ends it before `timeouts.client_idle`.
            for session in self.sessions.values
            where session.isIdle && session.client.tls != nil && clinux_has_arrivals(session.client.fd) == 0 {
                session.client.interrupt(.aborted)
            }
            for client in self.undecided.values { client.connection.close() }
        }
        for session in http2.values { session.shutDown() }
        for client in resting.removeAll() {
            if clinux_has_arrivals(client.fd) != 0 {
                wake(client, EPOLLIN.rawValue)
                continue
            }
            loop.close(client)
            metrics.clientClosed()
        }
        reportDrained()
    }

    /// How long those who have only just connected may take to ask once the gateway drains: a tenth of `timeouts.drain`.
    private var graceMilliseconds: Int64 { snapshot.settings.timeouts.drainMilliseconds / 10 }

    /// Closes whoever was not done in time.
    /// - Returns: how many requests that cuts off.
    func cutOff() -> Int {
        var count = 0
        for session in sessions.values where session.cutOff() { count += 1 }
        return count
    }

    func reportDrained() {
        guard sessions.isEmpty, http2.isEmpty, undecided.isEmpty else { return }
        // No client is left that could add any: now the legs under way may end, and no other begins.
        deliveries.stop()
        guard deliveries.activeCount == 0, let done = whenDrained else { return }
        whenDrained = nil
        done()
    }
}

extension WireLimits {
    init(_ limits: LimitSettings) {
        self.init(
            targetBytes: limits.targetBytes, headerLineBytes: limits.headerLineBytes, headerBytes: limits.headerBytes,
            headerLines: limits.headerLines)
    }
}

/// The last lines of every proxied head, made once for each side and reason. Immutable; lives on one loop.
final class AnswerTails {
    private let bytes: UnsafeMutablePointer<UInt8>
    private let ends: UnsafeMutablePointer<Int>

    init(exposed: Bool) {
        var all: [UInt8] = []
        var offsets = [0]
        for side in Side.allCases {
            for reason in Reason.allCases {
                all += Array("Via: 1.1 cutover\r\n".utf8)
                if exposed { all += Array("Cutover-Backend: \(side.name)\r\nCutover-Reason: \(reason.name)\r\n".utf8) }
                offsets.append(all.count)
            }
        }
        bytes = .allocate(capacity: all.count)
        bytes.initialize(from: all, count: all.count)
        ends = .allocate(capacity: offsets.count)
        ends.initialize(from: offsets, count: offsets.count)
    }

    deinit {
        bytes.deallocate()
        ends.deallocate()
    }

    @inline(__always)
    func append(_ side: Side, _ reason: Reason, to out: Buffer) {
        let index = Int(side.rawValue) &* AnswerTails.reasonCount &+ Int(reason.rawValue)
        out.append(bytes + ends[index], ends[index &+ 1] &- ends[index])
    }

    private static let reasonCount = Reason.allCases.count
}

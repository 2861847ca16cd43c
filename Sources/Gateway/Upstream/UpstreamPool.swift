import CLinux
import Configuration
import HTTPWire
import Rollout
import Telemetry

/// Keep-alive connections of one loop to one backend. Confined to its loop's thread.
///
/// Limit: `max_connections` ÷ workers; a request over it waits for a connection at most the connect time-out, in order
/// of arrival, and then fails (`exhausted`). Idle connections are closed after 50 s or when the backend closes them.
final class UpstreamPool {
    let side: Side
    let breaker: Breaker
    private let endpoint: Endpoint
    /// Nil where the backend is spoken to without TLS.
    let tls: TLSClient?
    private let needsTLS: Bool
    /// Of the connection that was given back last: the next one resumes it.
    var session: TLSSession?
    let loop: EventLoop
    let metrics: LoopMetrics
    private let wireLimits: WireLimits
    private let limit: Int
    let connectTimeout: Int64
    let timeout: Int64
    let pathPrefix: [UInt8]
    let hasPathPrefix: Bool
    /// `Host` line for a request of an HTTP/1.0 client that named none: HTTP/1.1 wants one (RFC 9112 §3.2).
    let hostLine: [UInt8]

    private var idle: [Connection] = []
    private var open = 0
    private var rotation = 0
    private var isRetired = false
    private var waiters = WaiterQueue()
    /// Loop time from which on a connection that was used a moment ago is taken for open.
    private var trustedFrom: UInt64 = 0

    /// Shorter than the idle time-out of common servers, so that most stale connections are ours to close.
    private static let idleMilliseconds: Int64 = 50_000

    init(
        side: Side, settings: BackendSettings, workers: Int, shared: SharedBackend, loop: EventLoop,
        metrics: LoopMetrics
    ) {
        self.side = side
        self.loop = loop
        self.metrics = metrics
        endpoint = shared.endpoint
        tls = shared.tls
        needsTLS = shared.needsTLS
        breaker = shared.breaker
        limit = max(1, settings.maxConnections / max(1, workers))
        connectTimeout = settings.connectTimeoutMilliseconds
        timeout = settings.timeoutMilliseconds
        pathPrefix = Array(settings.pathPrefix.utf8)
        hasPathPrefix = !settings.pathPrefix.isEmpty
        let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
        hostLine = Array("Host: \(host):\(settings.port)\r\n".utf8)
        // A backend's head may be larger than what clients may send; its body is streamed.
        wireLimits = WireLimits(
            targetBytes: 8192, headerLineBytes: 64 * 1024, headerBytes: 256 * 1024, headerLines: 1000)
    }

    /// Servers close idle connections after a second at the earliest (most after 5 to 75): one that was used less than this
    /// ago will hardly be closed in the very moment in which it gets a request that cannot be sent twice.
    static let surelyOpenMilliseconds: UInt64 = 500

    /// A connection that is ready for a request: an idle one, or (also when `fresh`) a new one.
    /// - Parameter isRepeatable: false for a request that must not be sent twice: it gets no connection that its backend
    ///   may be about to close.
    @inline(__always)
    func take(fresh: Bool = false, isRepeatable: Bool = true) async throws(UpstreamFailure) -> Connection {
        if !fresh, !isOthersTurn, isRepeatable || hasSurelyOpen, let connection = takeIdle() { return connection }
        if !isRepeatable, !isOthersTurn, let old = idle.popLast() {
            // The new connection takes the place of one that was idle for too long, so that the pool does not fill with those.
            old.isIdle = false
            discard(old, from: .idle)
        }
        return try await makeConnection(fresh: fresh || !isRepeatable)
    }

    /// Everything that is free is for those who came before: who waits, or has been called up and not run yet.
    private var isOthersTurn: Bool { waiters.ahead > 0 && idle.count + limit - open <= waiters.ahead }

    /// The newest idle connection is the one that is taken first.
    private var hasSurelyOpen: Bool {
        guard let newest = idle.last, loop.now >= trustedFrom else { return false }
        return loop.now &- newest.idleSince < UpstreamPool.surelyOpenMilliseconds
    }

    /// The backend has closed a connection that was surely open, without having said that it would (after so many requests, or
    /// after each): for a while what cannot be sent twice gets new ones.
    func closedUnannounced() { trustedFrom = loop.now &+ UpstreamPool.distrustMilliseconds }

    private static let distrustMilliseconds: UInt64 = 60_000

    private func takeIdle() -> Connection? {
        while let connection = idle.popLast() {
            connection.isIdle = false
            connection.deadline = 0
            if connection.isQuiet {
                connection.reused = true
                metrics.upstreamLeft(side.backend, .idle)
                metrics.upstreamEntered(side.backend, .active)
                return connection
            }
            noteClosing(connection)
            discard(connection, from: .idle)
        }
        return nil
    }

    /// An idle connection ended: by its backend, or after having been idle for so long that it says nothing.
    private func noteClosing(_ connection: Connection) {
        if loop.now &- connection.idleSince < UpstreamPool.surelyOpenMilliseconds { closedUnannounced() }
    }

    private func makeConnection(fresh: Bool) async throws(UpstreamFailure) -> Connection {
        var hasWaited = false
        while open >= limit || (!hasWaited && isOthersTurn) {
            if fresh, hasWaited || !isOthersTurn, let spare = idle.popLast() {
                // Room for a connection that nobody has used before.
                spare.isIdle = false
                discard(spare, from: .idle)
                break
            }
            metrics.limitHit(.poolWait)
            // Who was called up for nothing (a place may go twice) keeps its place in the line.
            guard await waiters.wait(loop: loop, milliseconds: connectTimeout, atFront: hasWaited) else {
                metrics.limitHit(.poolWaitTime)
                throw .exhausted
            }
            hasWaited = true
            if !fresh, let connection = takeIdle() { return connection }
        }
        open += 1
        metrics.upstreamEntered(side.backend, .connecting)
        let addresses = endpoint.current
        var attempts = max(1, min(addresses.count, 4))
        while !addresses.isEmpty, attempts > 0 {
            attempts -= 1
            let fd = addresses[rotation % addresses.count].connect()
            if fd >= 0 {
                let connection = Connection(fd: fd, loop: loop, limits: wireLimits, connecting: true)
                let began = loop.now
                do throws(IOFailure) {
                    try await connection.finishConnecting(timeout: connectTimeout)
                    if needsTLS, await !secure(connection, since: began) { throw .refused }
                    watch(connection)
                    metrics.upstreamLeft(side.backend, .connecting)
                    metrics.upstreamEntered(side.backend, .active)
                    metrics.upstreamConnect(side.backend, failed: false)
                    return connection
                } catch {
                    connection.close()
                }
            }
            rotation += 1
        }
        open -= 1
        metrics.upstreamLeft(side.backend, .connecting)
        metrics.upstreamConnect(side.backend, failed: true)
        waiters.resumeFirst()
        throw .connect
    }

    private func watch(_ connection: Connection) {
        connection.onIdleEvent = { [unowned self, unowned connection] in
            self.idle.removeAll { $0 === connection }
            connection.isIdle = false
            self.noteClosing(connection)
            self.discard(connection, from: .idle)
        }
    }

    /// Gives a connection back after a complete exchange.
    @inline(__always)
    func give(_ connection: Connection, reusable: Bool) {
        guard reusable, !isRetired, !connection.isSpent, connection.isOpen, connection.input.isEmpty,
            connection.output.isEmpty,
            !connection.hungUp
        else {
            return discard(connection)
        }
        connection.input.releaseIfLarge()
        connection.output.releaseIfLarge()
        if let stream = connection.tls, !connection.reused { session = stream.resumable() }
        connection.isIdle = true
        connection.idleSince = loop.now
        idle.append(connection)
        loop.setDeadline(connection, UpstreamPool.idleMilliseconds)
        metrics.upstreamLeft(side.backend, .active)
        metrics.upstreamEntered(side.backend, .idle)
        waiters.resumeFirst()
    }

    /// Closes a connection that cannot be used again.
    func discard(_ connection: Connection, from state: ConnectionState = .active) {
        if let stream = connection.tls { endTLS(stream, isIdle: state == .idle) }
        connection.close()
        open -= 1
        metrics.upstreamLeft(side.backend, state)
        waiters.resumeFirst()
    }

    /// A connection becomes a tunnel, which may last for days: its place in the pool is for others, and `endTunnel` closes it.
    func letGo(_ connection: Connection) {
        open -= 1
        metrics.upstreamLeft(side.backend, .active)
        metrics.tunnelOpened(side.backend)
        waiters.resumeFirst()
    }

    /// Closes a connection that was let go.
    func endTunnel(_ connection: Connection) {
        if let stream = connection.tls { endTLS(stream, isIdle: true) }
        connection.close()
        metrics.tunnelClosed(side.backend)
    }

    /// A request to the backend came back, or failed: the breaker wants to know.
    @inline(__always)
    func record(failed: Bool) {
        if breaker.record(failed: failed, now: loop.now) { metrics.breakerOpened(side.backend) }
    }

    /// Another pool takes this one's place: what is idle is closed, and what is under way when it is given back.
    func retire() {
        isRetired = true
        while let connection = idle.popLast() {
            connection.isIdle = false
            discard(connection, from: .idle)
        }
    }

    /// Whether background reads should keep away: they may use at most three quarters of the pool.
    var isCrowded: Bool { (open - idle.count) * 4 >= limit * 3 }
}

/// Tasks in line for something, each with a deadline. Confined to one loop.
struct WaiterQueue {
    final class Waiter {
        var continuation: UnsafeContinuation<Bool, Never>?
    }
    private final class Line {
        var waiters: [Waiter] = []
        /// Called up, but their tasks have not run yet.
        var calledUp = 0
    }
    private let line = Line()

    /// How many came before whoever comes now.
    var ahead: Int { line.waiters.count + line.calledUp }

    /// True when called up, false when `milliseconds` passed first.
    func wait(loop: EventLoop, milliseconds: Int64, atFront: Bool = false) async -> Bool {
        let waiter = Waiter()
        let line = line
        line.waiters.insert(waiter, at: atFront ? 0 : line.waiters.count)
        let isCalledUp = await withUnsafeContinuation { continuation in
            waiter.continuation = continuation
            loop.schedule(after: milliseconds) {
                guard let late = waiter.continuation else { return }
                waiter.continuation = nil
                line.waiters.removeAll { $0 === waiter }
                late.resume(returning: false)
            }
        }
        if isCalledUp { line.calledUp -= 1 }
        return isCalledUp
    }

    func resumeFirst() {
        guard !line.waiters.isEmpty else { return }
        let first = line.waiters.removeFirst()
        let continuation = first.continuation
        first.continuation = nil
        line.calledUp += 1
        continuation?.resume(returning: true)
    }
}

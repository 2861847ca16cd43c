import CLinux
import HTTPWire
import Synchronization
package import Telemetry

/// A request to a `LocalService`, whole.
package struct ServiceRequest: Sendable {
    package var method: String
    /// Path without the query, still percent-encoded.
    package var path: String
    /// Query without its `?`, still percent-encoded; empty when there is none.
    package var query: String
    /// Fields in their order; names in lower case.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// Numeric address of the peer.
    package var peer: String

    /// The first field of this (lower-case) name.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    package init(
        method: String, path: String, query: String, headers: [(name: String, value: String)], body: [UInt8],
        peer: String
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.peer = peer
    }
}

/// An answer of a `LocalService`.
package struct ServiceResponse: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// For an answer whose length nobody knows (server-sent events, an export): called after the head went out, it sends the
    /// body in pieces. It is not called when the client is gone by then, nor for HEAD.
    package var stream: (@Sendable (ServiceStream) async -> Void)?

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package init(status: Int, contentType: String, text: String) {
        self.init(status: status, headers: [("Content-Type", contentType)], body: Array(text.utf8))
    }
}

/// A small HTTP/1.1 server for requests that fit into memory: the admin API and the demo's backends. It runs on its own
/// thread with its own loop and shares parser, limits and timeouts with the proxy; the handler may block that thread for
/// short work on local files.
///
/// Limits: 1024 connections (when they are used up, the one that has been without a whole request for longest makes room),
/// `bodyMaxBytes` a request, 10 s for a head, 30 s without a byte of a body, 60 s idle, 10 s without a byte taken of a stream.
package final class LocalService: @unchecked Sendable {
    package typealias Handler = @Sendable (ServiceRequest) async -> ServiceResponse
    private let loop = EventLoop()
    private let handler: Handler
    private let limits = WireLimits()
    private let bodyMaxBytes: Int
    private let commonFields: [(name: String, value: String)]
    private let connectionsMax: Int
    private let bodyPartMilliseconds: Int64
    private let idleMilliseconds: Int64
    private let whenFull: @Sendable () -> Void
    /// Where its handshakes are counted; written on the service's thread only.
    private let metrics: LoopMetrics?
    // Touched on the loop's thread only.
    private var sessions: [ObjectIdentifier: ServiceSession] = [:]
    private var listeners: [Connection] = []
    private let stopped = CountDown(1)
    /// Those that it has made for itself; nil where others own them.
    private var ownSockets: ListeningSockets?

    /// The port that it listens on, from `start` on.
    package private(set) var port: UInt16 = 0

    /// - Parameters:
    ///   - commonFields: fields of every answer, those to malformed requests included; an answer that has a field of the same
    ///     name keeps its own.
    ///   - metrics: counts TLS handshakes as the admin listener's.
    ///   - whenFull: a connection was closed because there are `connectionsMax`; on the service's thread.
    package init(
        bodyMaxBytes: Int = 8 << 20, connectionsMax: Int = 1024, bodyPartMilliseconds: Int64 = 30_000,
        idleMilliseconds: Int64 = 60_000,
        commonFields: [(name: String, value: String)] = [], metrics: LoopMetrics? = nil,
        whenFull: @escaping @Sendable () -> Void = {},
        handler: @escaping Handler
    ) {
        self.bodyMaxBytes = bodyMaxBytes
        self.connectionsMax = connectionsMax
        self.bodyPartMilliseconds = bodyPartMilliseconds
        self.idleMilliseconds = idleMilliseconds
        self.whenFull = whenFull
        self.metrics = metrics
        self.commonFields = commonFields
        self.handler = handler
    }

    /// Listens on the address and starts the thread.
    /// - Parameters:
    ///   - tls: its certificates; nil serves without TLS.
    ///   - sockets: owns what is listened on; nil: the service does, and `stop` closes it.
    /// - Throws: an address that cannot be bound, with the reason.
    package func start(
        address: String, tls: AdminTLS? = nil, from sockets: ListeningSockets? = nil
    ) throws(ListenError) {
        if sockets == nil { ownSockets = ListeningSockets() }
        let bound = try (sockets ?? ownSockets ?? ListeningSockets()).listen(on: address, as: .admin, loops: 1)
        port = bound.port
        loop.execute { [self] in
            for descriptors in bound.loops { for descriptor in descriptors { listen(descriptor, tls?.port) } }
        }
        startThread(name: "service") { [self] in
            loop.run()
            stopped.one()
        }
    }

    /// Calls back from the service's thread, in one of its next turns.
    package func ask(_ answered: @escaping @Sendable () -> Void) { loop.execute(answered) }

    /// Closes every connection and the listener, ends the thread, and returns when that is done. Blocks.
    package func stop() {
        ownSockets?.close(.admin)
        loop.execute { [self] in
            for listener in listeners { listener.close() }
            for session in sessions.values {
                // Whoever streams waits for something else than this connection, and is told by this.
                let ended = session.connection.onIdleEvent
                session.connection.close()
                ended?()
            }
            listeners.removeAll()
            sessions.removeAll()
            // A turn later, so that whoever waited for one of them comes to its end.
            loop.stop()
        }
        _ = stopped.wait(milliseconds: 5000)
    }

    private func listen(_ descriptor: Int32, _ tls: TLSPort?) {
        let listener = Connection(fd: descriptor, loop: loop, limits: limits, connecting: false, listening: true)
        listeners.append(listener)
        Task.immediate(executorPreference: loop) {
            // A turn of it is short enough that nobody is closed to make room before it could be read from.
            await acceptClients(from: listener, loop: self.loop) {
                self.admit($0, $1, tls)
            }
        }
    }

    private func admit(_ descriptor: Int32, _ peer: sockaddr_storage, _ tls: TLSPort?) {
        if sessions.count >= connectionsMax {
            whenFull()
            guard makeRoom() else {
                close(descriptor)
                return
            }
        }
        let connection = Connection(fd: descriptor, loop: loop, limits: limits, connecting: false)
        let stream = tls?.current.stream(fd: descriptor)
        guard tls == nil || stream != nil else { return connection.close() }
        var address = peer
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            let count = clinux_host_text(&address, buffer.baseAddress, 64)
            return String(decoding: buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        let session = ServiceSession(
            connection: connection, loop: loop, peer: text, bodyMaxBytes: bodyMaxBytes,
            bodyPartMilliseconds: bodyPartMilliseconds, idleMilliseconds: idleMilliseconds, commonFields: commonFields)
        sessions[ObjectIdentifier(session)] = session
        Task.immediate(executorPreference: loop) {
            var isFit = true
            if let stream { isFit = await self.secure(session, with: stream) }
            if isFit { await session.serve(self.handler) }
            connection.close()
            self.sessions[ObjectIdentifier(session)] = nil
        }
    }

    private func secure(_ session: ServiceSession, with stream: TLSStream) async -> Bool {
        do throws(TLSFailure) {
            try await session.connection.secure(with: stream, timeout: LocalService.handshakeMilliseconds)
            metrics?.tlsHandshake(.admin, isVersion13: stream.isVersion13, isResumed: stream.isResumed)
            return true
        } catch {
            metrics?.tlsFailure(.admin, error.reason)
            if error.isPlainHTTP { await session.sayThatThisIsTLS() }
            return false
        }
    }

    private static let handshakeMilliseconds: Int64 = 10_000

    /// Closes the connection that has been without a whole request for longest: somebody who only holds connections open, on purpose or not,
    /// must not keep others out.
    /// - Returns: false when every connection has a request that is being answered.
    private func makeRoom() -> Bool {
        var longest: (session: ServiceSession, since: UInt64)?
        for session in sessions.values {
            guard let since = session.waitingSince, since < longest?.since ?? .max else { continue }
            longest = (session, since)
        }
        guard let session = longest?.session else { return false }
        sessions[ObjectIdentifier(session)] = nil
        session.connection.close()
        return true
    }
}

import CLinux
import Configuration
import HTTPWire
import Rollout
import Routing
import Telemetry

/// Why a client's connection comes to its end.
enum SessionEnd: Error {
    /// The client is gone, or nothing sensible can be said to it any more.
    case gone
}

/// One client connection, from the first byte after a rest to the next rest or the end. Confined to its loop, which its
/// task never leaves.
final class ClientSession: @unchecked Sendable {
    /// Outlives every session of its loop.
    unowned(unsafe) let worker: Worker
    let client: Connection
    /// The request's body, where it is taken in whole.
    let body: Buffer
    var request = RequestContext()
    /// Waits for the first byte of a request: may be closed at any time.
    private(set) var isIdle = false
    /// Nothing has come on this connection yet. It ends like any other after a second of silence, when the gateway drains.
    private(set) var isFresh: Bool
    /// A `RestingClient` has taken the connection over: the session is over, the connection is not.
    private(set) var isResting = false
    /// A request is under way.
    private var isServing = false
    /// `X-Forwarded-For` line of a request that had none.
    let forwardedForLine: [UInt8]
    let peerText: [UInt8]
    /// What the request at hand is decided and served by, from its first byte to its last: a reload in between must not
    /// pull the routes from under it.
    private(set) var snapshot: Snapshot
    /// What the client says of who asks, and from where, is believed (`trusted_proxies`). Follows `snapshot`.
    private(set) var isTrusted: Bool
    /// The user of the request at hand, where somebody had to prove it; nil before the first such request.
    var keptUser: KeptUser?
    /// What the access log says of the request at hand; nil where it says nothing.
    var record: AccessRecord?
    /// The spans of the request at hand; nil where none are exported.
    var spans: RequestSpans?
    /// The framing of the streamed body was wrong: the client's fault, not the backend's.
    var brokenBody = false
    /// Reads the rest of a body that turned out to be larger than what is taken in whole; the beginning is in `body`.
    var overflow: BodyScanner?
    /// Answers of the gateway's own, since the session began.
    var ownAnswers = 0

    /// - Parameters:
    ///   - peerText: the client's numeric address.
    ///   - isFresh: the client has only just connected.
    init(worker: Worker, client: Connection, peerText: [UInt8], isFresh: Bool) {
        self.worker = worker
        self.client = client
        self.peerText = peerText
        self.isFresh = isFresh
        snapshot = worker.snapshot
        isTrusted = worker.snapshot.trusts(peerText)
        body = Buffer(pool: worker.loop.blocks)
        forwardedForLine = Array("X-Forwarded-For: ".utf8) + peerText + [13, 10]
    }

    var loop: EventLoop { worker.loop }
    var metrics: LoopMetrics { worker.metrics }

    /// Serves requests until the client or the gateway is done with the connection.
    func serve() async {
        do throws(SessionEnd) {
            repeat {
                guard try await readHead() else { break }
                try await handle()
                client.partner = nil
            } while request.keepAlive && !(worker.isDraining && client.input.isEmpty)
            await closeGently()
        } catch {
            client.partner = nil
            if isServing {
                bookUnfinished()
                if request.brokeOff, request.endsWithConnection { client.endsInReset() }
            }
        }
    }

    // MARK: Reading

    /// False when the connection is over.
    @inline(__always)
    private func readHead() async throws(SessionEnd) -> Bool {
        let timeouts = worker.snapshot.settings.timeouts
        if client.input.isEmpty {
            isIdle = true
            do throws(IOFailure) {
                repeat {
                    let timeout = timeouts.clientIdleMilliseconds
                    if client.tls != nil {
                        try await client.waitReadable(timeout: timeout)
                    } else if try await !client.waitReadableBriefly(timeout: timeout) {
                        // Between two requests nothing of a session is worth its memory.
                        isResting = worker.rest(client, peerText, timeout - Connection.briefMilliseconds)
                        if !isResting { throw IOFailure.aborted }
                        return false
                    }
                    // The first part of a record is the begin of a head, which may not take for ever.
                } while try !client.receive() && !client.holdsPartOfRecord
            } catch {
                if error == .timeout { metrics.limitHit(.clientIdleTime) }
                client.tls?.finishWriting()
                throw .gone
            }
            isIdle = false
            isFresh = false
        }
        client.head.reset()
        let deadline = loop.now &+ UInt64(timeouts.headMilliseconds)
        while true {
            if !client.input.isEmpty {
                switch client.head.parseRequest(client.input.readable, client.input.count) {
                case .complete: return true
                case .incomplete: break
                case .refused(let fault):
                    try await refuse(fault)
                    return false
                }
            }
            let left = Int64(deadline) - Int64(loop.now)
            do throws(IOFailure) {
                if left <= 0 { throw .timeout }
                try await client.fill(within: left)
            } catch {
                if error == .timeout, !client.input.isEmpty {
                    metrics.limitHit(.clientHeadTime)
                    begin()
                    request.keepAlive = false
                    try await answer(.requestTimeout)
                    bookRefused("request-timeout")
                    await closeGently()
                    return false
                }
                throw .gone
            }
        }
    }

    private func refuse(_ fault: HeadFault) async throws(SessionEnd) {
        metrics.malformedRequest()
        if fault.status == 414 { metrics.limitHit(.target) }
        if fault.status == 431 { metrics.limitHit(.head) }
        begin()
        request.keepAlive = false
        request.headInPlace = false
        try await answer(.malformed(fault))
        bookRefused("malformed-request")
    }

    /// Books what never became a request.
    private func bookRefused(_ problem: StaticString) {
        let nanoseconds = clinux_monotonic_nanoseconds() &- request.started
        metrics.request(kind: .none, status: request.answered, nanoseconds: nanoseconds)
        if let rules = snapshot.accessLog { logRefused(rules, problem, status: request.answered, nanoseconds) }
    }

    @inline(__always)
    func begin() {
        request = RequestContext()
        if snapshot !== worker.snapshot {
            snapshot = worker.snapshot
            isTrusted = snapshot.trusts(peerText)
        }
        brokenBody = false
        overflow = nil
        request.started = clinux_monotonic_nanoseconds()
        request.id = (loop.random.next(), loop.random.next())
        body.clear()
    }

    // MARK: One request

    @inline(__always)
    private func handle() async throws(SessionEnd) {
        begin()
        isServing = true
        metrics.requestsInFlight(by: 1)
        let head = client.head
        request.keepAlive = head.keepAlive
        request.isHTTP10 = head.minorVersion == 0
        request.isHead = head.method == .head
        request.isIdempotent = head.method.isIdempotent
        request.bodyComplete = !head.isChunked && head.contentLength <= 0
        if !isTrusted { head.withdraw(snapshot.identity.plainHeaders, in: client.input.readable) }
        if head.has(.traceParent) || snapshot.tracing.begins { takeUpTrace() }
        route()
        if let rules = snapshot.accessLog { record = worker.accessLog.begin(self, rules) }
        if snapshot.tracing.exports, let trace = request.trace, trace.isSampled { beginSpans(trace) }
        if let rejection = request.rejection, refusesIdentity(rejection) {
            request.isRefused = true
            try await answer(.unauthorized(rejection))
        } else if head.wantsUpgrade, request.bodyComplete, request.kind != .write, wantsWebSocket(head) {
            try await tunnel()
        } else {
            switch request.kind {
            case .read: try await handleRead()
            case .write: try await handleWrite()
            case .legacy, .new, .split: try await passThrough()
            }
        }
        finish()
    }

    /// Only WebSocket is tunnelled. Any other offer (`h2c` of clients that always make it) may be ignored
    /// (RFC 9110 §7.8): the request is then answered as if it had not been made, fallback and comparison included.
    private func wantsWebSocket(_ head: MessageHead) -> Bool {
        guard let field = head.firstField(kind: .upgrade) else { return false }
        let value = field.value(in: client.input.readable)
        return value.count == 9 && zip(value, "websocket".utf8).allSatisfy { $0 | 0x20 == $1 }
    }

    @inline(__always)
    private func route() {
        let head = client.head
        let p = client.input.readable
        if snapshot.compiledRoutes.isEmpty {
            request.kind = head.method.isSafe ? .read : .write
        } else if let index = snapshot.routes.match(
            method: p + head.leading, head.methodEnd - head.leading, path: p + head.pathStart,
            head.pathEnd - head.pathStart)
        {
            request.route = index
            request.kind = snapshot.compiledRoutes[index].route.kind
        } else {
            request.kind = head.method.isSafe ? .read : .write
        }
        decide()
    }

    /// Asks who serves this user now; for the head at the front of the client's input.
    @inline(__always)
    func decide() {
        if request.kind == .legacy || request.kind == .new {
            request.decision = Decision(side: request.kind == .legacy ? .legacy : .new, reason: .route)
            request.meantFor = request.decision.side
            return
        }
        decide(for: identify())
    }

    @inline(__always)
    func decide(for user: UserID?) {
        // The newest rollout, whatever snapshot the request began with: a body may have taken long to arrive.
        let found = worker.snapshot.decide(
            user, coordinator: worker.coordinator, breaker: worker.new.breaker, now: loop.now, mayProbe: true)
        request.decision = found.decision
        request.meantFor = found.decision.side
        request.isOfNewUser = found.isOfNewUser
        if found.isStale, request.kind != .write { metrics.staleRead() }
        request.waitsForLegacy = found.waitsForLegacy
        if request.kind == .read, let user, snapshot.rollout.shadowHundredths > 0 {
            request.isShadowed =
                snapshot.rollout.shadowHundredths >= 10_000
                || snapshot.shadowBucketing.admits(
                    snapshot.shadowBucketing.position(user.base, user.count),
                    percentHundredths: snapshot.rollout.shadowHundredths)
            if request.isShadowed, worker.coordinator.mayHaveOutstanding, worker.coordinator.hasOutstanding(user) {
                request.isShadowed = false
                metrics.shadow(.skipped)
                // In an outage everybody who writes has legs outstanding to new soon: nobody would be left to tell of it.
                if request.decision.side == .legacy, worker.new.breaker.isOpen { metrics.shadowKeptAway() }
            }
        } else if request.kind == .read, user == nil, snapshot.rollout.shadowHundredths >= 10_000 {
            request.isShadowed = true
        }
    }

    /// The gateway's time is over, and the client's request is not: it ends like one whose backend broke off.
    /// - Returns: whether there was a request.
    func cutOff() -> Bool {
        let wasServing = isServing
        if isServing {
            record?.problem = "cut-off"
            bookUnfinished()
            isServing = false
            if request.endsWithConnection { client.endsInReset() }
        }
        client.close()
        return wasServing
    }

    /// Books the request once its answer is out.
    @inline(__always)
    private func finish() {
        // A tunnel that was cut off has been booked.
        guard isServing else { return }
        isServing = false
        metrics.requestsInFlight(by: -1)
        let nanoseconds = clinux_monotonic_nanoseconds() &- request.started
        metrics.request(kind: request.kind.telemetry, status: request.answered, nanoseconds: nanoseconds)
        bookOutcome(failed: request.answered >= 500, nanoseconds)
        if let record { endRecord(record, status: request.answered, nanoseconds) }
        if let spans { endSpans(spans, status: request.answered, problem: nil) }
        keptUser?.forget()
        body.clear()
        body.releaseIfEmpty()
        client.output.releaseIfLarge()
    }

    /// Books a request whose client has not got its whole answer, as nginx's 499: it left, or the backend broke off.
    private func bookUnfinished() {
        metrics.requestsInFlight(by: -1)
        let nanoseconds = clinux_monotonic_nanoseconds() &- request.started
        metrics.request(kind: request.kind.telemetry, status: 499, nanoseconds: nanoseconds)
        // What a client that left would have seen, nobody knows.
        if request.brokeOff { bookOutcome(failed: true, nanoseconds) }
        if let record {
            if record.problem == nil { record.problem = request.brokeOff ? "backend-broke-off" : "client-gone" }
            endRecord(record, status: 499, nanoseconds)
        }
        if let spans {
            endSpans(
                spans, status: request.answered, problem: request.brokeOff ? "backend-broke-off" : "client-gone")
        }
    }

    /// Counts what the client of a read or write saw in the end.
    @inline(__always)
    private func bookOutcome(failed: Bool, _ nanoseconds: UInt64) {
        guard request.kind == .read || request.kind == .write, !request.isRefused else { return }
        metrics.clientAnswer(
            request.kind == .read ? .read : .write, meantFor: request.meantFor.backend, failed: failed)
        if request.isAccepted { metrics.clientWrite(request.meantFor.backend, nanoseconds: nanoseconds) }
        guard request.isOfNewUser else { return }
        metrics.requestOfNewUser()
        // Meant for new, and answered by legacy because new fails too often: else an outage of new would count least when it is
        // whole, and the gates would see nothing of it.
        switch request.decision.reason {
        case .breakerOpen: metrics.fallback(request.kind == .read ? .read : .write, reason: .breakerOpen)
        case .behind:
            metrics.requestWhileBehind()
            if request.kind == .read, worker.new.breaker.isOpen { metrics.readWhileBehindBroken() }
        default: break
        }
    }

    // MARK: The end

    func closeGently() async { await client.closeGently() }
}

extension RouteKind {
    var telemetry: RequestKind {
        switch self {
        case .read: .read
        case .write: .write
        case .legacy: .legacy
        case .new: .new
        case .split: .split
        }
    }
}

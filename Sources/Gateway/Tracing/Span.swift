import CLinux
import Configuration
package import HTTPWire
package import Rollout
import Routing
import Synchronization

/// One span of a trace, as it is exported: what the gateway did for a request, or one leg of it. Nothing in it is a
/// client's own word but the ids of the trace.
package struct Span: Sendable {
    package enum Kind: Sendable {
        /// The request as the client saw it.
        case server
        /// One backend that was asked.
        case client
    }

    package var kind: Kind
    package var trace: TraceParent
    package var id: UInt64
    /// 0 for the first of its trace.
    package var parent: UInt64
    package var method: Method
    /// The pattern of the route that matched.
    package var route: String?
    /// The request's kind, or which leg this is.
    package var role: StaticString
    package var side: Side?
    package var reason: Reason?
    /// 0: there was no answer.
    package var status = 0
    /// What went wrong, where no status says it.
    package var problem: StaticString?
    /// Nanoseconds since 1970.
    package var start: Int64
    package var end: Int64
}

/// Spans on their way to who exports them. Any thread.
///
/// Limit: `limit` spans; what comes then is dropped and counted.
package final class SpanQueue: Sendable {
    package static let limit = 2_048
    /// So many are worth waking somebody.
    private static let plenty = 256

    private let spans = Mutex<[Span]>([])
    private let exported = Atomic<UInt64>(0)
    private let lost = Atomic<UInt64>(0)
    /// Wakes who exports.
    package let wakeUp = WakeUp()

    package init() {}

    func push(_ span: Span) {
        let count = spans.withLock { spans in
            guard spans.count < SpanQueue.limit else { return 0 }
            spans.append(span)
            return spans.count
        }
        if count == 0 { lost.add(1, ordering: .relaxed) }
        if count == SpanQueue.plenty { wakeUp.signal() }
    }

    /// The oldest spans, which are then the caller's.
    package func take(atMost count: Int) -> [Span] {
        spans.withLock { spans in
            let taken = Array(spans.prefix(count))
            spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Spans that a collector has taken, and spans that nobody will, since the start.
    package var figures: (exported: UInt64, dropped: UInt64) {
        (exported.load(ordering: .relaxed), lost.load(ordering: .relaxed))
    }

    package func note(exported count: Int) { exported.add(UInt64(count), ordering: .relaxed) }
    package func note(dropped count: Int) { lost.add(UInt64(count), ordering: .relaxed) }
}

/// The spans of the request at hand: of one whose trace is sampled, and only where spans are exported. Confined to its loop.
final class RequestSpans {
    let trace: TraceParent
    /// The id of the span that is the request itself.
    let id: UInt64
    let method: Method
    let route: String?
    private let wallStart: Int64
    private let monotonicStart: UInt64
    /// The id that the leg under way was sent with; 0 before it is sent.
    var leg: UInt64 = 0

    init(_ trace: TraceParent, id: UInt64, method: Method, route: String?, started: UInt64) {
        self.trace = trace
        self.id = id
        self.method = method
        self.route = route
        monotonicStart = started
        wallStart = clinux_wall_milliseconds() * 1_000_000
    }

    /// A moment of the monotonic clock on the clock that all spans of the request share.
    func wall(_ monotonic: UInt64) -> Int64 { wallStart + Int64(bitPattern: monotonic &- monotonicStart) }
}

extension Worker {
    /// A leg that was sent for a request, or later for its write, has ended.
    func legEnded(_ span: Span, status: Int, failure: UpstreamFailure?) {
        var span = span
        span.status = status
        span.problem = failure?.word
        spans.push(span)
    }
}

extension UpstreamFailure {
    /// The word for `error.type`.
    var word: StaticString {
        switch self {
        case .connect: "connect"
        case .timeout: "timeout"
        case .broken: "broken"
        case .malformed: "malformed"
        case .exhausted: "exhausted"
        case .clientGone: "client-gone"
        }
    }
}

extension ClientSession {
    /// Begins the span of the request at hand, whose trace is sampled.
    func beginSpans(_ trace: TraceParent) {
        let route = request.route >= 0 ? snapshot.compiledRoutes[request.route].route.pattern.path.text : nil
        spans = RequestSpans(
            trace, id: loop.random.span(), method: client.head.method, route: route, started: request.started)
    }

    /// The leg that is being sent, as a span that ends now.
    func legSpan(_ spans: RequestSpans, _ side: Side, role: StaticString, since started: UInt64) -> Span {
        // One that found no connection was never sent.
        let id = spans.leg == 0 ? loop.random.span() : spans.leg
        spans.leg = 0
        return Span(
            kind: .client, trace: spans.trace, id: id, parent: spans.id, method: spans.method,
            route: spans.route, role: role, side: side, reason: nil, start: spans.wall(started),
            end: spans.wall(clinux_monotonic_nanoseconds()))
    }

    /// A backend that was asked for the client's own answer has answered, or failed.
    func exportLeg(_ side: Side, since started: UInt64, status: Int, failure: UpstreamFailure?) {
        guard let spans else { return }
        let role: StaticString =
            side != request.meantFor ? "fallback" : request.kind == .write ? "authoritative" : request.kind.name
        worker.legEnded(legSpan(spans, side, role: role, since: started), status: status, failure: failure)
    }

    /// Ends the span of the request at hand.
    func endSpans(_ spans: RequestSpans, status: Int, problem: StaticString?) {
        self.spans = nil
        worker.spans.push(
            Span(
                kind: .server, trace: spans.trace, id: spans.id, parent: spans.trace.parent, method: spans.method,
                route: spans.route, role: request.kind.name, side: request.decision.side,
                reason: request.decision.reason, status: status, problem: problem,
                start: spans.wall(request.started), end: spans.wall(clinux_monotonic_nanoseconds())))
    }
}

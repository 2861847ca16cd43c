import HTTPWire
import Rollout
import Routing
import Telemetry

/// What the gateway has found out about the request at hand. Reused for every request of a connection.
struct RequestContext {
    var kind = RouteKind.read
    /// Index of the route that matched; -1 when none did.
    var route = -1
    var decision = Decision(side: .legacy, reason: .anonymous)
    /// The side that was decided on, whoever answers in the end: a fallback does not change it.
    var meantFor = Side.legacy
    /// The user is on new by percent or pin, whoever serves this request.
    var isOfNewUser = false
    /// A read of legacy that waits until legacy has what the user was told.
    var waitsForLegacy = false
    /// It has been found out who asks, where something had to be verified for that.
    var isIdentified = false
    /// A source named the user, which is asked only where something does not hold.
    var isNamed = false
    /// A token or a signed cookie came along that does not hold.
    var rejection: IdentityRejection?
    /// It was answered 401 for that.
    var isRefused = false
    /// The user's reads are shadowed.
    var isShadowed = false
    /// Monotonic nanoseconds.
    var started: UInt64 = 0
    /// The client keeps the connection after this request.
    var keepAlive = true
    /// The client speaks HTTP/1.0: no chunked coding, no interim answers.
    var isHTTP10 = false
    var isHead = false
    var isIdempotent = false
    /// The request's head still stands at the front of the client's input.
    var headInPlace = true
    /// The request's body has been taken in whole (or there is none).
    var bodyComplete = true
    /// The trace that the request belongs to; nil for one that belongs to none that is known.
    var trace: TraceParent?
    /// Backends get a `traceparent` line of the gateway's in place of the client's.
    var isTraced = false
    /// The client's `tracestate` lines belong to no trace that goes on.
    var dropsTraceState = false
    /// The request's id where the client sent none: the same towards both backends and in answers of the gateway's own.
    var id: (high: UInt64, low: UInt64) = (0, 0)
    /// The body did not come with the head: the rollout may have moved meanwhile.
    var hasWaitedForBody = false
    /// The client's body stopped arriving while it was streamed.
    var bodyTimedOut = false
    /// Status that the client was answered with; 0 before that.
    var answered = 0
    /// A write that the journal has accepted: what its client waits for is told.
    var isAccepted = false
    /// The backend broke off in the middle of an answer that the client has got a part of.
    var brokeOff = false
    /// The answer's end is that of the connection: only how that ends can tell a whole answer from one that broke off.
    var endsWithConnection = false
}

/// Why a backend gave no usable answer. The one place that says what may be tried again.
enum UpstreamFailure: Error {
    /// No connection could be made (refused, unreachable, unresolvable, connect time-out): nothing was sent.
    case connect
    /// Every connection of the pool was busy for the whole connect time-out: nothing was sent.
    case exhausted
    /// The backend did not answer in time; it may have acted.
    case timeout
    /// The connection broke after something was sent; it may have acted.
    case broken
    /// The answer breaks the rules of HTTP/1.1; it may have acted.
    case malformed
    /// The client went away and the transfer was given up.
    case clientGone

    /// The backend cannot have seen the request.
    var nothingWasSent: Bool { self == .connect || self == .exhausted }
}

/// Why reading from or writing to a socket did not come to an end.
enum IOFailure: Error {
    /// The peer has closed its side.
    case closed
    /// The connection was reset or broke.
    case reset
    /// The deadline passed.
    case timeout
    /// Somebody on this side has given the transfer up (the client went away).
    case aborted
    /// The connection could not be made.
    case refused
}

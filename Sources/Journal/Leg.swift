/// What has become of one backend's copy of a write.
package enum LegState: String, Sendable, CaseIterable {
    /// Not yet known to hold; it will be sent (again).
    case pending
    /// The backend has it.
    case applied
    /// The authoritative backend refused it, so the client was told no.
    case refused
    /// The backend has that or something newer.
    case superseded
    /// Refused for good; waits for an operator.
    case parked
    /// Never to be sent: the write was not accepted, or the stage does not dual-write.
    case skipped
    /// Waits until the user's history has been copied.
    case awaitingCopy = "awaiting-copy"

    /// An outstanding leg blocks its lane and makes its user `behind`.
    package var isOutstanding: Bool { self == .pending || self == .awaitingCopy }
}

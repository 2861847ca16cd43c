package import Rollout

/// Asks the journal for a page of changes whose leg of one side is outstanding, in the order of acceptance.
package struct OutstandingQuery: Sendable, Equatable {
    /// Whose changes.
    package enum Scope: Sendable, Equatable {
        case everyone
        /// One user; nil: the anonymous writes.
        case user(String?)
    }

    package var side: Side
    package var scope: Scope
    /// Only changes after this one.
    package var after: Sequence64
    /// Only changes up to this one.
    package var through: Sequence64
    /// Changes that were taken over from other gateways: only those of takeovers up to this one. What came with later ones has
    /// not been told yet, and must not be met in a page before.
    package var throughTakeover: Int64
    /// At most so many.
    package var limit: Int

    package init(
        side: Side, scope: Scope = .everyone, after: Sequence64 = 0, through: Sequence64 = .max,
        throughTakeover: Int64 = .max, limit: Int
    ) {
        self.side = side
        self.scope = scope
        self.after = after
        self.through = through
        self.throughTakeover = throughTakeover
        self.limit = limit
    }
}

/// An outstanding change as a start counts it: without records, legs' details and bodies.
package struct OutstandingPlace: Sendable, Equatable {
    package var sequence: Sequence64
    /// When it was accepted, in milliseconds since 1970.
    package var acceptedMilliseconds: Int64
    package var user: String?
    /// The sides whose leg is outstanding.
    package var sides: SideSet
    /// Whether the journal knows what the client was told; else the authoritative leg comes first.
    package var isAnswered: Bool

    package init(
        sequence: Sequence64, acceptedMilliseconds: Int64, user: String?, sides: SideSet, isAnswered: Bool
    ) {
        self.sequence = sequence
        self.acceptedMilliseconds = acceptedMilliseconds
        self.user = user
        self.sides = sides
        self.isAnswered = isAnswered
    }
}

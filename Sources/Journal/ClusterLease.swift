/// A gateway's lease as the gateway sees it, without I/O: what has happened goes in, what is to be done comes out. Instants are
/// those of the monotonic clock, in nanoseconds. Not thread-safe.
///
/// The right to deliver is counted from the moment in which a renewal was sent, so that a slow answer or a stopped process can
/// only shorten it. After a gap in that right the others may have stopped waiting for this gateway: it *arrives* anew, that is,
/// it looks up what is outstanding and makes itself known, before it has the right again.
package struct ClusterLease: Sendable {
    package struct Row: Sendable, Equatable {
        /// The gateway's id in the store.
        package var id: Int64
        /// When the last renewal that succeeded was sent.
        package var renewedAt: UInt64
        /// When the right to deliver ends.
        package var until: UInt64 { renewedAt + ClusterTimes.rightNanoseconds }
    }

    package enum State: Sendable, Equatable {
        /// Has no row in the store: before the first join, or fenced. Exits: `arriving` (joined), `left`.
        case outside
        /// Has a row that lives, but does not yet know what the others know. Exits: `held` (arrived), `lapsed`
        /// (arrived too late), `outside` (ended), `left`.
        case arriving(Row)
        /// May deliver. Exits: `lapsed` (the time ran out), `arriving` (renewed too late), `outside` (ended), `left`.
        case held(Row)
        /// The time has run out; the row may still be ours, because nobody has taken it. Exits: `arriving` (renewed), `outside`
        /// (ended), `left`.
        case lapsed(id: Int64)
        /// Given up. No exit.
        case left
    }

    package enum Action: Sendable, Equatable {
        case nothing
        /// Take over, look up and make known, then say `arrived`.
        case arrive(id: Int64)
        /// Tell the right to deliver.
        case extend(until: UInt64)
        /// Tell that the lease was taken, then join anew.
        case fence(id: Int64)
    }

    package private(set) var state = State.outside

    package init() {}

    /// The id in the store; nil outside.
    package var id: Int64? {
        switch state {
        case .arriving(let row), .held(let row): row.id
        case .lapsed(let id): id
        case .outside, .left: nil
        }
    }

    /// Whether this gateway may deliver.
    package func isHeld(at now: UInt64) -> Bool {
        guard case .held(let row) = state else { return false }
        return now < row.until
    }

    /// A row was made.
    package mutating func joined(_ id: Int64, sentAt: UInt64) -> Action {
        switch state {
        case .outside:
            state = .arriving(Row(id: id, renewedAt: sentAt))
            return .arrive(id: id)
        case .left: return .nothing  // It was left while the join was under way; whoever leaves ends the row.
        case .arriving, .held, .lapsed: preconditionFailure("joined as \(id) in state \(state)")
        }
    }

    /// The store has renewed the row.
    /// - Parameters:
    ///   - sentAt: when the renewal was sent.
    ///   - now: when its answer was there.
    package mutating func renewed(_ id: Int64, sentAt: UInt64, now: UInt64) -> Action {
        let row = Row(id: id, renewedAt: sentAt)
        guard id == self.id else { return .nothing }  // Fenced or left while the renewal was under way.
        switch state {
        case .arriving(let last):
            state = .arriving(row)
            // After a gap the others have forgotten of this gateway what it has made known so far.
            return now < last.until ? .nothing : .arrive(id: id)
        case .held(let last) where now < last.until:
            state = .held(row)
            return .extend(until: row.until)
        case .held, .lapsed:
            // The answer came too late to be of use, or after a gap.
            guard now < row.until else {
                state = .lapsed(id: id)
                return .nothing
            }
            state = .arriving(row)
            return .arrive(id: id)
        case .outside, .left: return .nothing
        }
    }

    /// All that `arrive` asked for is done.
    package mutating func arrived(_ id: Int64, now: UInt64) -> Action {
        guard case .arriving(let row) = state, row.id == id else { return .nothing }  // Fenced or left meanwhile.
        guard now < row.until else {
            // The store went away meanwhile; what was looked up is old by now.
            state = .lapsed(id: id)
            return .nothing
        }
        state = .held(row)
        return .extend(until: row.until)
    }

    /// The store says that the row was ended by another gateway, or is gone. Asks for a fence once.
    package mutating func ended(_ id: Int64) -> Action {
        guard id == self.id else { return .nothing }  // Both the renewal and a commit find out; one of them is second.
        state = .outside
        return .fence(id: id)
    }

    /// Time has passed.
    package mutating func passed(_ now: UInt64) {
        if case .held(let row) = state, now >= row.until { state = .lapsed(id: row.id) }
    }

    /// The gateway gives its lease up.
    /// - Returns: the id of the row to end; nil when there is none.
    package mutating func leave() -> Int64? {
        defer { state = .left }
        return id
    }
}

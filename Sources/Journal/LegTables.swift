package import Rollout

/// The lanes, the counts of outstanding legs, and the windows that bound both: what is known in memory about legs that are not
/// settled. Pure and not thread-safe; every operation costs O(lanes of the change), a page O(its legs).
///
/// The life of a leg here: `admit` (accepted), then, of a second leg, `conclude` (the client is being told), `count(down)` and
/// `leave` (it holds, is parked or is skipped), and `answered` when the journal has been told what the client was told. A
/// deferred leg waits in the journal until a page brings it back.
package struct LegTables: Sendable {
    package internal(set) var lanes = LaneTable()
    package internal(set) var outstanding = Outstanding()
    /// By `Side.index`. An array, because a member of an element is read in place, while a subscript of our own would copy the
    /// whole window with all its collections.
    var windows: [DeliveryWindow]
    /// Legs of other gateways that come before some of this one's, in the lanes that they share.
    var foreign: [Sequence64: SideSet] = [:]
    /// The newest change that was admitted.
    package internal(set) var newest: Sequence64 = 0
    /// The newest takeover that was told. Takeovers are told in the order of their numbers.
    var newestTakeover: Int64 = 0

    package init(limits: WindowLimits = WindowLimits()) {
        windows = Side.allCases.map { _ in DeliveryWindow(limits: limits) }
    }

    // MARK: Acceptance

    /// Enters an accepted change into its lanes, in the order of acceptance.
    /// - Parameters:
    ///   - side: the side that decides.
    ///   - sides: the legs that are outstanding.
    /// - Returns: the legs that found no room and wait in the journal.
    package mutating func admit(
        _ sequence: Sequence64, user: String?, records: [String], side: Side, sides: SideSet
    ) -> SideSet {
        admit(sequence, user: user, records: records, side: side, sides: sides, isLeftOver: false)
    }

    /// Enters a change that an earlier process accepted and did not answer. It may have been acknowledged, by either side: until
    /// it is decided, its legs count as outstanding on both.
    /// - Returns: the legs that are outstanding.
    package mutating func admit(left change: OutstandingChange) -> SideSet {
        var sides: SideSet = []
        for side in Side.allCases where change.legs[side].state.isOutstanding { sides.insert(SideSet(side)) }
        let deferred = admit(
            change.sequence, user: change.user, records: change.records, side: change.side, sides: sides,
            isLeftOver: true)
        for side in Side.allCases where sides.subtracting(deferred).contains(SideSet(side)) {
            outstanding.add(
                change.sequence, user: change.user, side, acceptedMilliseconds: change.acceptedMilliseconds)
        }
        return sides
    }

    private mutating func admit(
        _ sequence: Sequence64, user: String?, records: [String], side: Side, sides: SideSet, isLeftOver: Bool
    ) -> SideSet {
        var deferred: SideSet = []
        for each in Side.allCases where sides.contains(SideSet(each)) {
            if defers(sequence, user: user, each, isSecond: each != side, isLeftOver: isLeftOver) {
                deferred.insert(SideSet(each))
            }
        }
        newest = max(newest, sequence)
        let entering = sides.subtracting(deferred)
        if !entering.isEmpty {
            lanes.enter(sequence, keys: LaneKey.lanes(user: user, records: records), sides: entering)
        }
        return deferred
    }

    private mutating func defers(
        _ sequence: Sequence64, user: String?, _ side: Side, isSecond: Bool, isLeftOver: Bool
    ) -> Bool {
        // Nothing of a user overtakes what is deferred; not even a leg that decides, which then waits for its turn in vain. One that
        // was taken over may have its place in the lanes already, where another gateway's leg has waited.
        let waits =
            windows[side.index].hasDeferred(user)
            || isSecond && !lanes.contains(sequence, side)
                && windows[side.index].isFull(
                    // What a start finds left over is older than `newest`.
                    for: user, heldOfUser: heldCount(user, side), last: min(newest, sequence - 1))
        if waits {
            windows[side.index].countDeferred(DeliveryWindow.key(user), by: 1)
            windows[side.index].underway[sequence] = .undecided(user: user, countsNow: isLeftOver)
            // What is left over is older than what pages have passed; everything else is newer than all that was told.
            if isLeftOver { windows[side.index].lowerHorizon(to: sequence - 1, DeliveryWindow.key(user)) }
            notePlace(sequence, user, side)
        } else {
            adopt(sequence, side)
            if isSecond { windows[side.index].held.insert(sequence) }
            // From here on a page could show it.
            if windows[side.index].horizon != nil { windows[side.index].underway[sequence] = .elsewhere }
        }
        return waits
    }

    private func heldCount(_ user: String?, _ side: Side) -> Int {
        // Spares the look-up while it cannot matter.
        windows[side.index].held.count < windows[side.index].limits.crowded ? 0 : outstanding.count(user: user, side)
    }

    /// Enters a leg that was settled once and is to be sent again (an operator replays a parked one).
    package mutating func readmit(_ sequence: Sequence64, user: String?, records: [String], _ side: Side) {
        windows[side.index].held.insert(sequence)
        windows[side.index].page?.settled.insert(sequence)
        lanes.enter(
            sequence, keys: LaneKey.lanes(user: user, records: records), sides: SideSet(side), atTail: true)
    }

    // MARK: What became of a write

    /// Where a leg is that has become outstanding.
    package enum Place: Sendable, Equatable {
        /// In memory: it needs a delivery. `isNew`: it did not count as outstanding before.
        case held(isNew: Bool)
        /// In the journal, from where a page brings it back. `isNew`: it was in memory until now.
        case deferred(isNew: Bool)
    }

    /// The other side has taken the write: this leg is outstanding, before the client can know.
    /// - Parameter status: what the client is told.
    package mutating func conclude(
        _ sequence: Sequence64, user: String?, _ side: Side, acceptedMilliseconds: Int64, status: Int
    ) -> Place {
        if case .undecided = windows[side.index].underway[sequence] {
            windows[side.index].underway[sequence] = .outstanding(status: status)
            windows[side.index].notice(acceptedMilliseconds: acceptedMilliseconds)
            return .deferred(isNew: false)
        }
        if !windows[side.index].held.contains(sequence), evicts(sequence, user, side) {
            // Nobody is behind it in its lanes, so nobody is released.
            _ = lanes.leave(sequence, side)
            windows[side.index].countDeferred(DeliveryWindow.key(user), by: 1)
            windows[side.index].underway[sequence] = .outstanding(status: status)
            windows[side.index].notice(acceptedMilliseconds: acceptedMilliseconds)
            return .deferred(isNew: true)
        }
        windows[side.index].held.insert(sequence)
        return .held(
            isNew: outstanding.add(sequence, user: user, side, acceptedMilliseconds: acceptedMilliseconds))
    }

    /// Whether the leg of a fallback goes back to the journal: the window is full, a page will come by, and nobody waits behind it.
    private func evicts(_ sequence: Sequence64, _ user: String?, _ side: Side) -> Bool {
        guard let horizon = windows[side.index].horizon, sequence > horizon,
            sequence > windows[side.index].asides[DeliveryWindow.key(user)]?.horizon ?? horizon,
            windows[side.index].held.count >= windows[side.index].limits.windowMax
        else { return false }
        return lanes.isLast(sequence, side)
    }

    /// A leg in memory counts as outstanding.
    /// - Returns: false when it did already.
    package mutating func add(_ sequence: Sequence64, user: String?, _ side: Side, acceptedMilliseconds: Int64) -> Bool
    {
        outstanding.add(sequence, user: user, side, acceptedMilliseconds: acceptedMilliseconds)
    }

    /// A leg that counted as outstanding does not any more.
    /// - Returns: false when it did not count.
    package mutating func settle(_ sequence: Sequence64, user: String?, _ side: Side) -> Bool {
        guard outstanding.remove(sequence, user: user, side) else { return false }
        if !windows[side.index].asides.isEmpty {
            windows[side.index].noteHeld(user, count: outstanding.count(user: user, side))
        }
        return true
    }

    /// What `leave` did.
    package struct Departure: Sendable {
        /// Changes whose leg of that side has become first in all its lanes.
        package var released: [Sequence64] = []
        /// The leg was a deferred one, of this user, and does not count any more.
        package var dropped: String??
    }

    /// A leg holds, is parked or will never be sent.
    package mutating func leave(_ sequence: Sequence64, _ side: Side) -> Departure {
        windows[side.index].held.remove(sequence)
        windows[side.index].page?.settled.insert(sequence)
        var departure = Departure()
        if case .undecided(let user, _) = windows[side.index].underway[sequence] {
            windows[side.index].underway[sequence] = .elsewhere
            windows[side.index].countDeferred(DeliveryWindow.key(user), by: -1)
            windows[side.index].forgetPlaced(sequence, DeliveryWindow.key(user))
            // It may have been what set its user aside, and nothing of this user need be held that would end it.
            windows[side.index].noteHeld(user, count: outstanding.count(user: user, side))
            windows[side.index].openIfDone()
            departure.dropped = .some(user)
            if isForeign(sequence, side) {
                adopt(sequence, side)
                departure.released = release(sequence, side)
            }
        } else {
            departure.released = release(sequence, side)
        }
        return departure
    }

    /// Takes a leg out of its lanes.
    /// - Returns: changes of this gateway whose leg has become first in all its lanes.
    mutating func release(_ sequence: Sequence64, _ side: Side) -> [Sequence64] {
        let released = lanes.leave(sequence, side)
        return foreign.isEmpty ? released : released.filter { !isForeign($0, side) }
    }

    /// The journal has been told what the client was told: its rows say the rest.
    /// - Returns: the legs that have come back from there already and need a delivery now.
    package mutating func answered(_ sequence: Sequence64) -> SideSet {
        var sides: SideSet = []
        for side in Side.allCases where !windows[side.index].underway.isEmpty {
            let stage = windows[side.index].underway[sequence]
            if case .awaitsAnswer = stage { sides.insert(SideSet(side)) }
            if windows[side.index].page == nil {
                windows[side.index].underway[sequence] = nil
                continue
            }
            windows[side.index].page?.answered.append(sequence)
            switch stage {
            case .outstanding(let status): windows[side.index].underway[sequence] = .answered(status: status)
            case .awaitsAnswer: windows[side.index].underway[sequence] = .elsewhere
            case .elsewhere, .undecided, .answered, nil: break
            }
        }
        return sides
    }

    // MARK: Facts

    /// Whether a leg may be sent now. False for one that only keeps its place, whoever's it is.
    package func isFirst(_ sequence: Sequence64, _ side: Side) -> Bool {
        lanes.isFirst(sequence, side) && !isForeign(sequence, side)
    }

    /// Whether legs of a user to a side are outstanding.
    package func hasOutstanding(_ user: String?, _ side: Side) -> Bool {
        outstanding.count(user: user, side) > 0 || windows[side.index].hasDeferred(user)
    }

    /// Legs that are only in the journal.
    package func deferred(_ side: Side) -> Int { windows[side.index].deferred }

    /// Second legs in memory.
    package func held(_ side: Side) -> Int { windows[side.index].held.count }

    /// Whether every outstanding leg is in memory, or would be if it came now.
    package func isOpen(_ side: Side) -> Bool {
        windows[side.index].horizon == nil && windows[side.index].asides.isEmpty
    }

    /// All outstanding legs of a side, and when the oldest was accepted (or a little earlier); milliseconds since 1970.
    package func backlog(_ side: Side) -> (count: Int, oldestMilliseconds: Int64?) {
        let held = outstanding.oldestAcceptedMilliseconds(side)
        let deferred = windows[side.index].deferredSince
        return (
            outstanding.total(side) + windows[side.index].deferred,
            held.map { min($0, deferred ?? $0) } ?? deferred
        )
    }
}

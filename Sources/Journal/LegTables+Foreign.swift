package import Rollout

/// Changes of other gateways on the same store: they hold their place in the lanes of this gateway's changes.
extension LegTables {
    /// Enters a change that comes before one that is about to be admitted. In the order of acceptance, with `admit`.
    package mutating func enter(foreign change: OutstandingChange) {
        var sides: SideSet = []
        for side in Side.allCases
        where change.legs[side].state.isOutstanding && !lanes.contains(change.sequence, side) {
            sides.insert(SideSet(side))
        }
        guard !sides.isEmpty else { return }
        foreign[change.sequence, default: []].formUnion(sides)
        lanes.enter(
            change.sequence, keys: LaneKey.lanes(user: change.user, records: change.records), sides: sides)
    }

    /// Legs of another gateway's change are settled.
    /// - Returns: changes whose leg has become first in all its lanes, by side.
    package mutating func settle(foreign sequence: Sequence64, _ sides: SideSet) -> [(
        side: Side, released: [Sequence64]
    )] {
        guard var known = foreign[sequence] else { return [] }
        var released: [(side: Side, released: [Sequence64])] = []
        for side in Side.allCases where known.intersection(sides).contains(SideSet(side)) {
            known.remove(SideSet(side))
            released.append((side: side, released: release(sequence, side)))
        }
        foreign[sequence] = known.isEmpty ? nil : known
        return released
    }

    /// Changes of others that this gateway waits for.
    package var foreignSequences: [Sequence64] { Array(foreign.keys) }

    // MARK: Taking over

    /// Changes of a gateway that is gone are this one's now. In the order of acceptance, while this gateway runs. Those that were
    /// not answered are admitted one by one (`admit(left:)`) afterwards. Of the others, what stands in the lanes already is sent
    /// from there, unless older legs of its user are deferred: those are not in the lanes, and must not be overtaken. Then it is
    /// deferred like all the rest, but keeps its place, because legs of this gateway may wait behind it.
    /// - Parameter takeover: its number; each has a higher one than those told before.
    /// - Returns: the legs with a place in the lanes, by side: they need a delivery.
    package mutating func count(
        takenOver changes: [OutstandingChange], takeover: Int64
    ) -> [(side: Side, change: OutstandingChange)] {
        newestTakeover = max(newestTakeover, takeover)
        var deliveries: [(side: Side, change: OutstandingChange)] = []
        for change in changes {
            newest = max(newest, change.sequence)
            let key = DeliveryWindow.key(change.user)
            for side in Side.allCases where change.legs[side].state.isOutstanding {
                guard change.answeredStatus != nil else { continue }
                if isForeign(change.sequence, side), !windows[side.index].hasDeferred(change.user) {
                    adopt(change.sequence, side)
                    hold(change, side)
                    deliveries.append((side: side, change: change))
                    continue
                }
                windows[side.index].lowerHorizon(to: change.sequence - 1, key)
                windows[side.index].countDeferred(key, by: 1)
                windows[side.index].notice(acceptedMilliseconds: change.acceptedMilliseconds)
                notePlace(change.sequence, change.user, side)
            }
        }
        return deliveries
    }

    private mutating func hold(_ change: OutstandingChange, _ side: Side) {
        windows[side.index].held.insert(change.sequence)
        outstanding.add(change.sequence, user: change.user, side, acceptedMilliseconds: change.acceptedMilliseconds)
        if windows[side.index].horizon != nil { windows[side.index].underway[change.sequence] = .elsewhere }
    }

    /// A leg was deferred. If it has kept a place in the lanes, its user's legs come back before all others'.
    mutating func notePlace(_ sequence: Sequence64, _ user: String?, _ side: Side) {
        if isForeign(sequence, side) { windows[side.index].notePlaced(sequence, user) }
    }

    /// A leg is this gateway's now, with its place in the lanes where it has one.
    mutating func adopt(_ sequence: Sequence64, _ side: Side) {
        guard var known = foreign[sequence] else { return }
        known.remove(SideSet(side))
        foreign[sequence] = known.isEmpty ? nil : known
    }

    /// Whether a leg holds its place here for another gateway.
    func isForeign(_ sequence: Sequence64, _ side: Side) -> Bool {
        foreign[sequence]?.contains(SideSet(side)) ?? false
    }
}

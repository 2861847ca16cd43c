package import Rollout

/// Order per lane on both backends: a leg may be sent when it is the first outstanding one of its side in every lane that
/// its change touches. Not thread-safe.
///
/// Each lane is one queue per side. A change enters all its lanes at once, at the tail, so the change that has been in the
/// table for longest is first everywhere: there is no deadlock however many lanes a batch touches. Every operation costs
/// O(lanes of the change). Slots are reused, and given back as a whole when the table is empty.
package struct LaneTable: Sendable {
    private static let none: Int32 = -1

    /// A change's place in one lane, on both sides.
    private struct Place {
        var sequence: Sequence64
        var lane: Int32
        /// The same change's next place; while the slot is free: the next free slot.
        var sibling: Int32
        var previous = PerSide(LaneTable.none)
        var next = PerSide(LaneTable.none)
    }

    private struct Lane {
        var key: LaneKey
        /// How many places refer to this lane.
        var places: Int32 = 0
        /// The change that took a place last: how a lane named twice by one change is seen.
        var latest: Sequence64?
        var head = PerSide(LaneTable.none)
        var tail = PerSide(LaneTable.none)
    }

    private struct Entry {
        var firstPlace = LaneTable.none
        var sides: SideSet = []
        /// In how many lanes another leg is before this one.
        var blocked: PerSide<Int32> = PerSide(0)
    }

    private var entries: [Sequence64: Entry] = [:]
    private var laneIndices: [LaneKey: Int32] = [:]
    private var places: [Place] = []
    private var lanes: [Lane] = []
    private var freePlaces: [Int32] = []
    private var freeLanes: [Int32] = []

    package init() {}

    /// Changes with at least one leg in the table.
    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }
    /// Lanes with at least one change.
    package var laneCount: Int { laneIndices.count }

    /// Puts legs of a change into every lane that it touches, behind all that were accepted before it.
    ///
    /// Mostly that is the tail. Not for changes of other gateways and for those that were taken over: what was accepted after them
    /// may be in the lane already. A leg that comes back (an operator replays a parked one) goes to the tail like a new one. Entering a leg that is in the table already changes nothing.
    /// - Parameters:
    ///   - keys: at least one; a lane named twice counts once. For a change that is in the table: the same keys as before.
    ///   - sides: the legs that are outstanding.
    ///   - atTail: behind everything, whatever was accepted when.
    package mutating func enter(
        _ sequence: Sequence64, keys: [LaneKey], sides: SideSet = .both, atTail: Bool = false
    ) {
        var entry = entries[sequence] ?? Entry()
        let arriving = sides.subtracting(entry.sides)
        guard !arriving.isEmpty else { return }
        if entry.sides.isEmpty { entry.firstPlace = takePlaces(sequence, keys) }
        for side in Side.allCases where arriving.contains(SideSet(side)) {
            entry.blocked[side] = insert(entry.firstPlace, side, atTail: atTail)
        }
        entry.sides.formUnion(arriving)
        entries[sequence] = entry
    }

    /// Whether a leg may be sent now. False when it is not in the table.
    package func isFirst(_ sequence: Sequence64, _ side: Side) -> Bool {
        guard let entry = entries[sequence], entry.sides.contains(SideSet(side)) else { return false }
        return entry.blocked[side] == 0
    }

    /// Whether a leg is in the table.
    package func contains(_ sequence: Sequence64, _ side: Side) -> Bool {
        entries[sequence]?.sides.contains(SideSet(side)) ?? false
    }

    /// Whether nobody waits behind a leg in any of its lanes. False when it is not in the table.
    package func isLast(_ sequence: Sequence64, _ side: Side) -> Bool {
        guard let entry = entries[sequence], entry.sides.contains(SideSet(side)) else { return false }
        var index = entry.firstPlace
        while index != Self.none {
            guard places[Int(index)].next[side] == Self.none else { return false }
            index = places[Int(index)].sibling
        }
        return true
    }

    /// A leg is no longer outstanding (it holds, was skipped or was parked), whether or not it was first.
    /// - Returns: the changes whose leg of that side has now become first in all their lanes, in the order of the lanes.
    package mutating func leave(_ sequence: Sequence64, _ side: Side) -> [Sequence64] {
        guard var entry = entries[sequence], entry.sides.contains(SideSet(side)) else { return [] }
        var released: [Sequence64] = []
        var index = entry.firstPlace
        while index != Self.none {
            if let successor = unlink(index, side) { unblock(successor, side, &released) }
            index = places[Int(index)].sibling
        }
        entry.sides.remove(SideSet(side))
        if entry.sides.isEmpty {
            entries[sequence] = nil
            freePlaces(from: entry.firstPlace)
        } else {
            entries[sequence] = entry
        }
        return released
    }
}

extension LaneTable {
    /// Allots one place per distinct lane and chains them. Returns the first.
    private mutating func takePlaces(_ sequence: Sequence64, _ keys: [LaneKey]) -> Int32 {
        precondition(!keys.isEmpty, "change \(sequence) touches no lane")
        var first = Self.none
        for key in keys {
            let lane = laneIndex(key)
            guard lanes[Int(lane)].latest != sequence else { continue }
            lanes[Int(lane)].latest = sequence
            lanes[Int(lane)].places += 1
            let place = Place(sequence: sequence, lane: lane, sibling: first)
            if let reused = freePlaces.popLast() {
                places[Int(reused)] = place
                first = reused
            } else {
                first = Int32(places.count)
                places.append(place)
            }
        }
        return first
    }

    private mutating func laneIndex(_ key: LaneKey) -> Int32 {
        if let index = laneIndices[key] { return index }
        let index: Int32
        if let reused = freeLanes.popLast() {
            lanes[Int(reused)] = Lane(key: key)
            index = reused
        } else {
            index = Int32(lanes.count)
            lanes.append(Lane(key: key))
        }
        laneIndices[key] = index
        return index
    }

    /// Puts a chain of places into their lanes. Returns in how many of them another leg comes first.
    private mutating func insert(_ firstPlace: Int32, _ side: Side, atTail: Bool) -> Int32 {
        var blocked: Int32 = 0
        var index = firstPlace
        while index != Self.none {
            let (lane, sequence) = (Int(places[Int(index)].lane), places[Int(index)].sequence)
            var previous = lanes[lane].tail[side]
            while !atTail, previous != Self.none, places[Int(previous)].sequence > sequence {
                previous = places[Int(previous)].previous[side]
            }
            let next = previous == Self.none ? lanes[lane].head[side] : places[Int(previous)].next[side]
            places[Int(index)].previous[side] = previous
            places[Int(index)].next[side] = next
            if previous == Self.none {
                lanes[lane].head[side] = index
                if next != Self.none { block(places[Int(next)].sequence, side) }
            } else {
                places[Int(previous)].next[side] = index
                blocked += 1
            }
            if next == Self.none {
                lanes[lane].tail[side] = index
            } else {
                places[Int(next)].previous[side] = index
            }
            index = places[Int(index)].sibling
        }
        return blocked
    }

    private mutating func block(_ sequence: Sequence64, _ side: Side) {
        guard var entry = entries[sequence] else { preconditionFailure("lane holds unknown change \(sequence)") }
        entry.blocked[side] += 1
        entries[sequence] = entry
    }

    /// Takes a place out of its lane. Returns the change that has become first in that lane through it.
    private mutating func unlink(_ index: Int32, _ side: Side) -> Sequence64? {
        let place = places[Int(index)]
        let lane = Int(place.lane)
        let (previous, next) = (place.previous[side], place.next[side])
        if next == Self.none {
            lanes[lane].tail[side] = previous
        } else {
            places[Int(next)].previous[side] = previous
        }
        guard previous == Self.none else {
            places[Int(previous)].next[side] = next
            return nil
        }
        lanes[lane].head[side] = next
        return next == Self.none ? nil : places[Int(next)].sequence
    }

    private mutating func unblock(_ sequence: Sequence64, _ side: Side, _ released: inout [Sequence64]) {
        guard var entry = entries[sequence] else { preconditionFailure("lane holds unknown change \(sequence)") }
        entry.blocked[side] -= 1
        entries[sequence] = entry
        if entry.blocked[side] == 0 { released.append(sequence) }
    }

    private mutating func freePlaces(from firstPlace: Int32) {
        var index = firstPlace
        while index != Self.none {
            let place = places[Int(index)]
            freePlaces.append(index)
            let lane = Int(place.lane)
            lanes[lane].places -= 1
            // The change may come back while the lane lives on.
            if lanes[lane].latest == place.sequence { lanes[lane].latest = nil }
            if lanes[lane].places == 0 {
                laneIndices[lanes[lane].key] = nil
                freeLanes.append(place.lane)
            }
            index = place.sibling
        }
        if entries.isEmpty, places.count > 1024 { self = LaneTable() }
    }
}

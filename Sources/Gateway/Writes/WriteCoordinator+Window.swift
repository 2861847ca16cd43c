package import Journal
package import Rollout

/// What a start finds in the journal, and the legs that come back from it page by page.
extension WriteCoordinator {
    // MARK: A start

    /// Counts what an earlier process has left; pages bring it in. Before anything is admitted, in the order of acceptance.
    package func count(left places: [OutstandingPlace]) {
        withLegs { $0.count(left: places) }
        for place in places where place.isAnswered { count(place.user, place.sides) }
    }

    /// Enters a change that an earlier process accepted and did not answer. It may have been acknowledged, by either side: until
    /// it is decided, neither may be thought to have it.
    package func enter(left change: OutstandingChange) {
        let sides = withLegs { $0.admit(left: change) }
        count(change.user, sides)
    }

    private func count(_ user: String?, _ sides: SideSet) {
        for side in Side.allCases where sides.contains(SideSet(side)) { count(user, side, by: 1) }
    }

    /// Counts one change that an earlier process has left and whose answer is known by now.
    func count(left change: OutstandingChange) {
        var sides: SideSet = []
        for side in Side.allCases where change.legs[side].state.isOutstanding { sides.insert(SideSet(side)) }
        guard !sides.isEmpty else { return }
        count(left: [
            OutstandingPlace(
                sequence: change.sequence, acceptedMilliseconds: change.acceptedMilliseconds, user: change.user,
                sides: sides, isAnswered: true)
        ])
    }

    /// Counts changes of a gateway that is gone, in the order of acceptance; pages bring in those that were answered.
    /// - Returns: legs that have their place in the lanes already and need a delivery.
    package func count(
        takenOver changes: [OutstandingChange], takeover: Int64, behind foreign: [OutstandingChange]
    ) -> [(side: Side, change: OutstandingChange)] {
        let deliveries = withLegs { legs in
            for change in foreign { legs.enter(foreign: change) }
            return legs.count(takenOver: changes, takeover: takeover)
        }
        if !foreign.isEmpty { standing.cluster?.watch(foreign.map(\.sequence)) }
        for change in changes where change.answeredStatus != nil {
            for side in Side.allCases where change.legs[side].state.isOutstanding { count(change.user, side, by: 1) }
        }
        return deliveries
    }

    /// Whether legs of a user (nil: the anonymous ones) to legacy wait in the journal: what is put back must not overtake them.
    package func hasDeferredToLegacy(user: String?) -> Bool { withLegs { $0.hasDeferred(user, .legacy) } }

    /// Asks for pages, where any are wanted.
    package func refill() {
        guard let refill = refillAction else { return }
        for side in Side.allCases { refill(side) }
    }

    // MARK: Pages

    /// The page to read now, if any. Whoever gets one hands it to `take` or `pageFailed`.
    func nextPage(_ side: Side) -> OutstandingQuery? { withLegs { $0.nextPage(side) } }

    /// Enters the legs of a page into their lanes.
    /// - Returns: those that need a delivery, and whether the page brought anything at all.
    func take(_ rows: [OutstandingChange], _ side: Side) -> (deliveries: [OutstandingChange], isEmpty: Bool) {
        let (refill, actions) = takePage(rows, side)
        for user in refill.uncounted { count(user, side, by: -1) }
        for action in actions { action() }
        return (refill.deliveries, refill.isEmpty)
    }

    func pageFailed(_ side: Side) { withLegs { $0.pageFailed(side) } }
}

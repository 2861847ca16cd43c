package import Rollout

/// How deferred legs come back from the journal, and what a start finds in it.
extension LegTables {
    // MARK: Pages

    /// The page to read now, if any: one at a time a side. Whoever gets one must hand it to `take` or `pageFailed`.
    ///
    /// What the journal was told before this call must be in the page; `take` sorts out what it is told afterwards.
    package mutating func nextPage(_ side: Side) -> OutstandingQuery? {
        guard windows[side.index].page == nil, windows[side.index].deferred > 0 else { return nil }
        let limits = windows[side.index].limits
        let held = windows[side.index].held.count
        // Held legs may wait behind these, so there may never be room for the page that brings them.
        if let placed = windows[side.index].placedAside() {
            return ask(
                OutstandingQuery(
                    side: side, scope: .user(placed.user), after: placed.horizon, through: newest,
                    throughTakeover: newestTakeover, limit: limits.userMax))
        }
        guard held <= limits.windowMax - limits.pageMax else {
            windows[side.index].isFilling = false
            return nil
        }
        let query: OutstandingQuery
        if let aside = windows[side.index].takeReady() {
            query = OutstandingQuery(
                side: side, scope: .user(aside.user), after: aside.horizon, through: newest,
                throughTakeover: newestTakeover, limit: limits.userMax)
        } else if let horizon = windows[side.index].horizon,
            windows[side.index].deferred > windows[side.index].deferredAside,
            windows[side.index].isFilling || held < limits.refillBelow
        {
            windows[side.index].isFilling = true
            query = OutstandingQuery(
                side: side, after: horizon, through: newest, throughTakeover: newestTakeover, limit: limits.pageMax)
        } else {
            return nil
        }
        return ask(query)
    }

    private mutating func ask(_ query: OutstandingQuery) -> OutstandingQuery {
        windows[query.side.index].page = DeliveryWindow.Page(request: query)
        return query
    }

    /// What a page brought back.
    package struct Refill: Sendable {
        /// Legs that need a delivery, in the order of acceptance, with the status that the client was told.
        package var deliveries: [OutstandingChange] = []
        /// Changes that are in their lanes now and whose session, or left-over delivery, waits for its turn there.
        package var entered: [Sequence64] = []
        /// Users of deferred legs that do not count as outstanding until their write is decided.
        package var uncounted: [String?] = []
        /// Nothing came back; ask again after a pause.
        package var isEmpty: Bool { deliveries.isEmpty && entered.isEmpty }
    }

    /// Takes the legs of the page that was asked for last.
    package mutating func take(_ rows: [OutstandingChange], _ side: Side) -> Refill {
        guard let page = windows[side.index].page else { return Refill() }
        var refill = Refill()
        for row in rows
        where !page.settled.contains(row.sequence)
            && (!lanes.contains(row.sequence, side) || isForeign(row.sequence, side))
        {
            take(row, side, page.request.scope, &refill)
        }
        let last = rows.last.map(\.sequence)
        let read = rows.count < page.request.limit ? page.request.through : last ?? page.request.after
        let end = min(read, page.lowered ?? read)
        switch page.request.scope {
        case .everyone:
            windows[side.index].horizon = end
            // What is left is younger than this page, but for users set aside.
            if windows[side.index].asides.isEmpty, windows[side.index].deferred > 0, let row = rows.last {
                windows[side.index].deferredSince = row.acceptedMilliseconds
            }
        case .user(let user):
            windows[side.index].advance(
                DeliveryWindow.key(user), to: end, held: outstanding.count(user: user, side))
        }
        endPage(side)
        return refill
    }

    private mutating func take(
        _ row: OutstandingChange, _ side: Side, _ scope: OutstandingQuery.Scope, _ refill: inout Refill
    ) {
        let key = DeliveryWindow.key(row.user)
        if scope == .everyone {
            guard windows[side.index].asides[key] == nil else { return }
            if windows[side.index].isCrowded(by: outstanding.count(user: row.user, side)) {
                // Older legs that have come in meanwhile are not in this page.
                let before = row.sequence - 1
                windows[side.index].setAside(
                    row.user, key, horizon: min(before, windows[side.index].page?.lowered ?? before))
                return
            }
        }
        let stage = windows[side.index].underway[row.sequence]
        switch stage {
        case .elsewhere, .awaitsAnswer: return
        // Only who admitted a change may decide what an unanswered one comes to, and that is not known here.
        case nil where row.answeredStatus == nil: return
        // Nobody counted it here: it is not this gateway's.
        case nil where windows[side.index].deferred(key) == 0: return
        case nil, .undecided, .outstanding, .answered: break
        }
        adopt(row.sequence, side)
        windows[side.index].countDeferred(key, by: -1)
        windows[side.index].forgetPlaced(row.sequence, key)
        lanes.enter(row.sequence, keys: LaneKey.lanes(user: row.user, records: row.records), sides: SideSet(side))
        if case .undecided(_, let countsNow) = stage {
            takeUndecided(row, side, countsNow: countsNow, &refill)
        } else {
            takeOutstanding(row, side, stage, &refill)
        }
    }

    /// Whoever waits for the side that decides will `conclude` it.
    private mutating func takeUndecided(
        _ row: OutstandingChange, _ side: Side, countsNow: Bool, _ refill: inout Refill
    ) {
        windows[side.index].underway[row.sequence] = .elsewhere
        if row.side != side { windows[side.index].held.insert(row.sequence) }
        refill.entered.append(row.sequence)
        if countsNow {
            outstanding.add(row.sequence, user: row.user, side, acceptedMilliseconds: row.acceptedMilliseconds)
        } else {
            refill.uncounted.append(row.user)
        }
    }

    private mutating func takeOutstanding(
        _ row: OutstandingChange, _ side: Side, _ stage: DeliveryWindow.Stage?, _ refill: inout Refill
    ) {
        windows[side.index].held.insert(row.sequence)
        outstanding.add(row.sequence, user: row.user, side, acceptedMilliseconds: row.acceptedMilliseconds)
        if case .outstanding = stage {
            windows[side.index].underway[row.sequence] = .awaitsAnswer
            refill.entered.append(row.sequence)
            return
        }
        var row = row
        if case .answered(let status) = stage {
            row.answeredStatus = status
            windows[side.index].underway[row.sequence] = .elsewhere
        }
        refill.deliveries.append(row)
    }

    /// The page could not be read: it will be asked for again.
    package mutating func pageFailed(_ side: Side) {
        guard let page = windows[side.index].page else { return }
        endPage(side)
        if case .user(let user) = page.request.scope { windows[side.index].markReady(DeliveryWindow.key(user)) }
    }

    private mutating func endPage(_ side: Side) {
        let answered = windows[side.index].page?.answered ?? []
        windows[side.index].page = nil
        for sequence in answered { windows[side.index].underway[sequence] = nil }
        windows[side.index].openIfDone()
    }

    // MARK: A start

    /// Counts what an earlier process has left. All of it is deferred; pages bring it in. Before anything is admitted, in the
    /// order of acceptance. Unanswered changes are not counted here but admitted, one by one, afterwards.
    package mutating func count(left places: [OutstandingPlace]) {
        for place in places {
            newest = max(newest, place.sequence)
            guard place.isAnswered else { continue }
            let key = DeliveryWindow.key(place.user)
            for side in Side.allCases where place.sides.contains(SideSet(side)) {
                windows[side.index].lowerHorizon(to: place.sequence - 1, key)
                windows[side.index].countDeferred(key, by: 1)
                windows[side.index].notice(acceptedMilliseconds: place.acceptedMilliseconds)
            }
        }
    }
}

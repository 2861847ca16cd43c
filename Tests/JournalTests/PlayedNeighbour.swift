import Journal
import Rollout

/// Another gateway on the same store, that dies now and then and is replaced. What it keeps is durable at once: only what the
/// gateway under test learns of it, and when, is of interest.
struct PlayedNeighbour {
    /// Its name; those before it are gone.
    var name = 1
    /// What a takeover moves at once.
    let pageMax: Int
    /// Takeovers that are done and were not told yet, in their order.
    var reports: [Int64] = []
    /// The page of the first report, read and not told yet.
    var page: (changes: [OutstandingChange], foreign: [OutstandingChange])?
    /// How many changes there were when it was read.
    var pageRows = 0
    var lastTakeover: Int64 = 0
    /// The last takeover that was told.
    var told: Int64 = 0
    var watch = ClusterWatch()
    var glance: (asked: [Sequence64], outstanding: [Sequence64: SideSet])?
    var takenOver = 0
}

extension PlayedGateway {
    mutating func neighbourStep(accepts: Bool = true) {
        switch roll(20) {
        case 0..<5: if accepts { neighbourAccepts() }
        case 5..<10: neighbourMoves()
        case 10..<12: takeOver()
        case 12: neighbour?.name += 1
        case 13..<16: report()
        default: look()
        }
    }

    // MARK: What it does

    private mutating func neighbourAccepts() {
        let name = neighbour?.name ?? 1
        let user = roll(8) == 0 ? nil : "user \(roll(6))"
        let side: Side = user == nil || roll(2) == 0 ? .legacy : .new
        append(
            Row(
                sequence: Sequence64(rows.count + 1), user: user,
                records: (0..<roll(3)).map { _ in "record \(roll(3))" },
                side: side, legs: Legs(acceptedOn: side, dualWrite: roll(10) > 0), owner: name))
    }

    /// It sees of others what is durable.
    private func isFirstToNeighbour(_ row: Row, _ side: Side) -> Bool {
        !rows[..<(Int(row.sequence) - 1)].contains {
            $0.legs[side].state.isOutstanding && !$0.lanes.isDisjoint(with: row.lanes)
        }
    }

    private mutating func neighbourMoves() {
        let own = rows.filter { $0.owner == neighbour?.name && $0.legs.hasOutstanding }
        guard let sequence = pick(own.map(\.sequence)) else { return }
        var row = row(sequence)
        let side = row.answeredStatus == nil ? row.side : row.side.other
        for side in row.answeredStatus == nil && side == .new ? [.new, .legacy] : [side] {
            guard row.legs[side].state.isOutstanding, isFirstToNeighbour(row, side) else { continue }
            guard !(side == .new && isNewDown) else { continue }
            send(sequence, side)
            row.legs[side].state = .applied
            row.legs[side].lastStatus = 200
            decided.insert(sequence)
            // It may die before it has kept what it told its client.
            if roll(5) > 0 { row.answeredStatus = 200 }
            break
        }
        rows[Int(sequence) - 1] = row
        truth[Int(sequence) - 1] = row.legs
    }

    // MARK: What this gateway hears

    mutating func enterForeign(of row: Row) {
        let foreign = row.foreign.map { self.row($0) }
        // As they were when the change was accepted: outstanding. What became of them since is told by the watch.
        for change in foreign {
            var change = change.outstanding
            let accepted = Legs(acceptedOn: change.side, dualWrite: true)
            for side in Side.allCases where !change.legs[side].state.isOutstanding && roll(2) == 0 {
                change.legs[side] = accepted[side]
            }
            tables.enter(foreign: change)
        }
        neighbour?.watch.add(foreign.map(\.sequence), now: 0)
    }

    /// A page of what those that are gone have left becomes this gateway's.
    private mutating func takeOver() {
        guard let name = neighbour?.name, let gone = rows.first(where: { isLeft($0, by: name) })?.owner else { return }
        neighbour?.lastTakeover += 1
        let number = neighbour?.lastTakeover ?? 0
        neighbour?.reports.append(number)
        for row in rows.filter({ isLeft($0, by: name) && $0.owner == gone }).prefix(neighbour?.pageMax ?? 1) {
            rows[Int(row.sequence) - 1].owner = 0
            rows[Int(row.sequence) - 1].takeover = number
            neighbour?.takenOver += 1
        }
    }

    private func isLeft(_ row: Row, by name: Int) -> Bool {
        row.owner != 0 && row.owner != name && row.legs.hasOutstanding
    }

    private mutating func report() {
        guard let number = neighbour?.reports.first else { return }
        guard let page = neighbour?.page else {
            let changes = rows.filter { $0.takeover == number && $0.legs.hasOutstanding }
            let foreign = rows.filter { earlier in
                earlier.owner != 0 && earlier.legs.hasOutstanding
                    && changes.contains {
                        earlier.sequence < $0.sequence && !$0.lanes.isDisjoint(with: earlier.lanes)
                    }
            }
            neighbour?.page = (changes.map(\.outstanding), foreign.map(\.outstanding))
            neighbour?.pageRows = rows.count
            return
        }
        neighbour?.page = nil
        neighbour?.reports.removeFirst()
        tell(page.changes, number, behind: page.foreign)
    }

    /// As the data plane does it.
    private mutating func tell(_ changes: [OutstandingChange], _ number: Int64, behind foreign: [OutstandingChange]) {
        // As `ClusterEvents.awaitAdmissions`: what was accepted since the page was read may be admitted later.
        admitAll(upTo: neighbour?.pageRows ?? 0)
        neighbour?.told = number
        for change in foreign { tables.enter(foreign: change) }
        neighbour?.watch.add(foreign.map(\.sequence), now: 0)
        let changes = changes.map { change in
            guard change.answeredStatus == nil,
                !change.legs[change.side].state.isOutstanding
                    || !change.legs[change.side.other].state.isOutstanding
                        && change.legs[change.side.other].state == .applied
            else { return change }
            var change = change
            change.answeredStatus = 200
            facts.append(.answered(change.sequence, status: 200, change.legs))
            return change
        }
        for (side, change) in tables.count(takenOver: changes, takeover: number) {
            deliveries.insert(Leg(sequence: change.sequence, side: side))
        }
        for change in changes where change.answeredStatus == nil {
            leftOver.insert(change.sequence)
            _ = tables.admit(left: change)
        }
    }

    private mutating func look() {
        guard let glance = neighbour?.glance else {
            guard let asked = neighbour?.watch.next(), !asked.isEmpty else { return }
            var outstanding: [Sequence64: SideSet] = [:]
            for sequence in asked {
                for side in Side.allCases where row(sequence).legs[side].state.isOutstanding {
                    outstanding[sequence, default: []].insert(SideSet(side))
                }
            }
            neighbour?.glance = (asked, outstanding)
            return
        }
        neighbour?.glance = nil
        let news = neighbour?.watch.answered(glance.asked, outstanding: glance.outstanding, now: 0) ?? []
        for (sequence, sides) in news { _ = tables.settle(foreign: sequence, sides) }
    }

    // MARK: Whose a change is

    /// Whether the store shows a change to this gateway when it asks for a page.
    func isShown(_ row: Row, to query: OutstandingQuery) -> Bool {
        row.owner == 0 && (row.takeover ?? 0) <= query.throughTakeover
    }

    /// Whether this gateway has heard that a change is its own.
    func isKnownHere(_ row: Row) -> Bool { row.owner == 0 && (row.takeover ?? 0) <= neighbour?.told ?? 0 }
}

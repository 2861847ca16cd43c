import TestSupport
import Journal
import Rollout

/// A gateway in one thread, as far as `LegTables` can tell: sessions, deliveries, a journal whose facts become durable late and
/// whose pages are older than the moment they arrive, and crashes. Everything is chosen from a seed; plain lists say what is true.
struct PlayedGateway {
    struct Row {
        var sequence: Sequence64
        var user: String?
        var records: [String]
        var side: Side
        var legs: Legs
        var answeredStatus: Int?
        /// Which gateway's it is; this one is 0.
        var owner = 0
        /// In which takeover it came to this gateway.
        var takeover: Int64?
        /// Others' outstanding changes in its lanes, as the store told with its acceptance.
        var foreign: [Sequence64] = []

        var lanes: Set<LaneKey> { Set(LaneKey.lanes(user: user, records: records)) }
        var outstanding: OutstandingChange {
            OutstandingChange(
                sequence: sequence, acceptedMilliseconds: sequence, user: user, records: records, side: side,
                legs: legs, answeredStatus: answeredStatus)
        }
    }
    enum Session: Equatable {
        case waits(Side)
        case answered(by: Side)
    }
    struct Leg: Hashable {
        var sequence: Sequence64
        var side: Side
    }
    enum Fact {
        case answered(Sequence64, status: Int?, Legs)
        case leg(Leg, LegState)
    }

    var random: SeededGenerator
    let limits: WindowLimits
    var tables: LegTables
    /// What the disk has.
    var rows: [Row] = []
    /// Posted, not yet on the disk.
    var facts: [Fact] = []
    /// Durable, and not yet admitted.
    var admitted = 0
    var sessions: [Sequence64: Session] = [:]
    var leftOver: Set<Sequence64> = []
    var deliveries: Set<Leg> = []
    /// What has really become of each leg.
    var truth: [Legs] = []
    /// Decided, and the client was told.
    var decided: Set<Sequence64> = []
    /// Legs that this process has settled: never to be sent again by it.
    var settled: Set<Leg> = []
    var pages: [Side: (query: OutstandingQuery, rows: [OutstandingChange]?)] = [:]
    var stuckUser: String?
    var isNewDown = false
    var problems: [String] = []
    var deferredMost = 0
    /// Another gateway on the same store, where there is one.
    var neighbour: PlayedNeighbour?

    init(seed: UInt64, limits: WindowLimits) {
        random = SeededGenerator(seed: seed)
        self.limits = limits
        tables = LegTables(limits: limits)
    }

    mutating func roll(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    mutating func pick<Element: Comparable>(_ set: some Collection<Element>) -> Element? {
        set.isEmpty ? nil : set.sorted()[roll(set.count)]
    }

    func row(_ sequence: Sequence64) -> Row { rows[Int(sequence) - 1] }

    // MARK: Steps

    mutating func step() {
        if neighbour != nil, roll(3) == 0 { return neighbourStep() }
        switch roll(100) {
        case 0..<20: accept()
        case 20..<30: admitAll()
        case 30..<52: moveSession()
        case 52..<76: moveDelivery()
        case 76..<84: askForPages()
        case 84..<90: readPage()
        case 90..<96: takePage()
        case 96..<99: if let count = facts.isEmpty ? nil : roll(facts.count) + 1 { keep(count) }
        default: isNewDown = roll(3) > 0
        }
    }

    mutating func accept() {
        guard rows[admitted...].count(where: { $0.owner == 0 }) < 3, sessions.count < 12 else { return }
        let user = roll(8) == 0 ? nil : "user \(roll(6))"
        let records = (0..<roll(3)).map { _ in "record \(roll(3))" }
        let side: Side = user == nil || roll(2) == 0 ? .legacy : .new
        let legs = Legs(acceptedOn: side, dualWrite: roll(10) > 0)
        append(Row(sequence: Sequence64(rows.count + 1), user: user, records: records, side: side, legs: legs))
    }

    mutating func append(_ row: Row) {
        var row = row
        row.foreign = rows.filter {
            ($0.owner != row.owner || $0.takeover != nil) && $0.legs.hasOutstanding
                && !$0.lanes.isDisjoint(with: row.lanes)
        }.map(\.sequence)
        rows.append(row)
        truth.append(row.legs)
    }

    mutating func admitAll(upTo count: Int? = nil) {
        let end = max(count ?? rows.count, admitted)
        for row in rows[admitted..<end] where row.owner == 0 && row.takeover == nil {
            enterForeign(of: row)
            var sides: SideSet = []
            for side in Side.allCases where row.legs[side].state.isOutstanding { sides.insert(SideSet(side)) }
            _ = tables.admit(row.sequence, user: row.user, records: row.records, side: row.side, sides: sides)
            sessions[row.sequence] = .waits(row.side)
        }
        admitted = end
    }

    mutating func moveSession() {
        guard let sequence = pick(sessions.keys), let session = sessions[sequence] else { return }
        let row = row(sequence)
        switch session {
        case .answered(let side):
            sessions[sequence] = nil
            var legs = truth[Int(sequence) - 1]
            legs[side].lastStatus = 200
            answer(sequence, 200, legs)
        case .waits(let side):
            if tables.isFirst(sequence, side), roll(4) > 0 {
                send(sequence, side)
                switch side == .new && isNewDown ? 9 : roll(10) {
                case 0..<7: conclude(sequence, side)
                case 7: giveUp(sequence, refusedBy: side)
                default: fallBack(sequence, row, side)
                }
            } else if roll(6) == 0 {
                fallBack(sequence, row, side)
            }
        }
    }

    mutating func fallBack(_ sequence: Sequence64, _ row: Row, _ side: Side) {
        let canFallBack = side == .new && row.side == .new && row.legs[.legacy].state.isOutstanding
        if canFallBack { sessions[sequence] = .waits(.legacy) } else { giveUp(sequence, refusedBy: nil) }
    }

    mutating func conclude(_ sequence: Sequence64, _ side: Side) {
        let row = row(sequence)
        truth[Int(sequence) - 1][side].state = .applied
        decided.insert(sequence)
        let other = side.other
        if truth[Int(sequence) - 1][other].state.isOutstanding {
            let place = tables.conclude(
                sequence, user: row.user, other, acceptedMilliseconds: sequence, status: 200)
            if case .held = place { deliveries.insert(Leg(sequence: sequence, side: other)) }
        }
        leave(Leg(sequence: sequence, side: side))
        sessions[sequence] = .answered(by: side)
    }

    mutating func giveUp(_ sequence: Sequence64, refusedBy side: Side?) {
        for each in Side.allCases {
            truth[Int(sequence) - 1][each].state = each == side ? .refused : .skipped
            leave(Leg(sequence: sequence, side: each))
        }
        sessions[sequence] = nil
        answer(sequence, side == nil ? nil : 404, truth[Int(sequence) - 1])
    }

    mutating func answer(_ sequence: Sequence64, _ status: Int?, _ legs: Legs) {
        facts.append(.answered(sequence, status: status, legs))
        let returned = tables.answered(sequence)
        for side in Side.allCases where returned.contains(SideSet(side)) {
            deliveries.insert(Leg(sequence: sequence, side: side))
        }
    }

    mutating func leave(_ leg: Leg) {
        settled.insert(leg)
        _ = tables.leave(leg.sequence, leg.side)
    }

    mutating func moveDelivery() {
        if let sequence = pick(leftOver), roll(3) == 0 { return decideLeftOver(sequence) }
        let ready = deliveries.filter { tables.isFirst($0.sequence, $0.side) }
        guard let sequence = pick(Set(ready.map(\.sequence))),
            let leg = ready.first(where: { $0.sequence == sequence })
        else { return }
        let row = row(leg.sequence)
        if leg.side == .new, isNewDown || row.user != nil && row.user == stuckUser { return }
        send(leg.sequence, leg.side)
        let state: LegState = roll(20) == 0 ? .parked : .applied
        truth[Int(leg.sequence) - 1][leg.side].state = state
        deliveries.remove(leg)
        facts.append(.leg(leg, state))
        _ = tables.settle(leg.sequence, user: row.user, leg.side)
        leave(leg)
    }

    mutating func decideLeftOver(_ sequence: Sequence64) {
        let row = row(sequence)
        guard tables.isFirst(sequence, row.side) else { return }
        send(sequence, row.side)
        leftOver.remove(sequence)
        let other = row.side.other
        let isAccepted = roll(8) > 0
        truth[Int(sequence) - 1][row.side].state = isAccepted ? .applied : .refused
        if isAccepted {
            decided.insert(sequence)
            if truth[Int(sequence) - 1][other].state.isOutstanding {
                let place = tables.conclude(
                    sequence, user: row.user, other, acceptedMilliseconds: sequence, status: 200)
                if case .held = place { deliveries.insert(Leg(sequence: sequence, side: other)) }
            }
            answer(sequence, 200, truth[Int(sequence) - 1])
            _ = tables.settle(sequence, user: row.user, row.side)
            leave(Leg(sequence: sequence, side: row.side))
        } else {
            if truth[Int(sequence) - 1][other].state.isOutstanding {
                truth[Int(sequence) - 1][other].state = .parked
            }
            for side in Side.allCases {
                _ = tables.settle(sequence, user: row.user, side)
                leave(Leg(sequence: sequence, side: side))
            }
            answer(sequence, 404, truth[Int(sequence) - 1])
        }
    }

    // MARK: Journal

    mutating func keep(_ count: Int) {
        for fact in facts.prefix(count) {
            switch fact {
            case .answered(let sequence, let status, let legs):
                rows[Int(sequence) - 1].legs = legs
                rows[Int(sequence) - 1].answeredStatus = status
            case .leg(let leg, let state): rows[Int(leg.sequence) - 1].legs[leg.side].state = state
            }
        }
        facts.removeFirst(count)
    }

    mutating func askForPages() {
        for side in Side.allCases {
            guard let query = tables.nextPage(side) else { continue }
            pages[side] = (query, nil)
            // The barrier: what was posted before is on the disk before the page is read.
            keep(facts.count)
        }
    }

    mutating func readPage() {
        guard let side = pick(pages.keys.map(\.rawValue)).flatMap({ Side(rawValue: $0) }), let page = pages[side] else {
            return
        }
        let query = page.query
        let found = rows.filter {
            guard isShown($0, to: query), $0.sequence > query.after, $0.sequence <= query.through else { return false }
            if case .user(let user) = query.scope, user != $0.user { return false }
            return $0.legs[side].state.isOutstanding
        }
        pages[side]?.rows = found.prefix(query.limit).map(\.outstanding)
    }

    mutating func takePage() {
        guard let side = Side.allCases.first(where: { pages[$0]?.rows != nil }), let rows = pages[side]?.rows else {
            return
        }
        pages[side] = nil
        if roll(10) == 0 { return tables.pageFailed(side) }
        for change in tables.take(rows, side).deliveries {
            if change.answeredStatus == nil { problems.append("\(change.sequence): delivered, but not answered") }
            deliveries.insert(Leg(sequence: change.sequence, side: side))
        }
    }

    /// The process ends, and what was not on the disk is lost; another one starts.
    mutating func crash() {
        facts = []
        sessions = [:]
        deliveries = []
        settled = []
        pages = [:]
        truth = rows.map(\.legs)
        decided = Set(rows.filter { $0.answeredStatus != nil }.map(\.sequence))
        tables = LegTables(limits: limits)
        let open = rows.filter { $0.legs.hasOutstanding }
        tables.count(
            left: open.map { row in
                var sides: SideSet = []
                for side in Side.allCases where row.legs[side].state.isOutstanding { sides.insert(SideSet(side)) }
                return OutstandingPlace(
                    sequence: row.sequence, acceptedMilliseconds: row.sequence, user: row.user, sides: sides,
                    isAnswered: row.answeredStatus != nil)
            })
        leftOver = []
        for row in open where row.answeredStatus == nil {
            if !row.legs[row.side].state.isOutstanding {
                // The other side had taken it over and the leg that was to decide was settled since: only the answer is missing.
                facts.append(.answered(row.sequence, status: 200, row.legs))
                decided.insert(row.sequence)
                tables.count(
                    left: [
                        OutstandingPlace(
                            sequence: row.sequence, acceptedMilliseconds: row.sequence, user: row.user,
                            sides: SideSet(row.side.other), isAnswered: true)
                    ])
                continue
            }
            leftOver.insert(row.sequence)
            _ = tables.admit(
                left: OutstandingChange(
                    sequence: row.sequence, acceptedMilliseconds: row.sequence, user: row.user, records: row.records,
                    side: row.side, legs: row.legs, answeredStatus: nil))
        }
        admitted = rows.count
    }

    // MARK: What must hold

    /// A leg is being sent.
    mutating func send(_ sequence: Sequence64, _ side: Side) {
        if settled.contains(Leg(sequence: sequence, side: side)) {
            problems.append("\(sequence) to \(side): sent again after it was settled")
        }
        let lanes = Set(LaneKey.lanes(user: row(sequence).user, records: row(sequence).records))
        for earlier in rows[..<(Int(sequence) - 1)]
        where truth[Int(earlier.sequence) - 1][side].state.isOutstanding {
            if !lanes.isDisjoint(with: LaneKey.lanes(user: earlier.user, records: earlier.records)) {
                problems.append("\(sequence) to \(side): overtook \(earlier.sequence)")
            }
        }
    }

    mutating func check() {
        for side in Side.allCases {
            deferredMost = max(deferredMost, tables.deferred(side))
            let bound = limits.windowMax + sessions.count + leftOver.count + 12
            if tables.held(side) > bound { problems.append("\(tables.held(side)) legs to \(side) held") }
            var users: Set<String?> = []
            var count = 0
            for row in rows.prefix(admitted) where truth[Int(row.sequence) - 1][side].state.isOutstanding {
                guard isKnownHere(row) else { continue }
                guard decided.contains(row.sequence) else { continue }
                users.insert(row.user)
                count += 1
            }
            for user in users where !tables.hasOutstanding(user, side) {
                problems.append("\(user ?? "nobody") does not wait for \(side)")
            }
            if tables.backlog(side).count < count { problems.append("backlog of \(side) too small") }
        }
    }

    /// Lets everything that is under way come to its end.
    mutating func finish(maximum: Int = 20_000) {
        isNewDown = false
        var left = maximum
        // Looking at everything costs more than a few steps too many.
        while left > 0, left % 16 != 0 || !isQuiet {
            left -= 1
            if neighbour != nil, roll(3) == 0 {
                neighbourStep(accepts: false)
                continue
            }
            switch roll(8) {
            case 0: admitAll()
            case 1...2: moveSession()
            case 3...5: moveDelivery()
            case 6: askForPages()
            default:
                readPage()
                takePage()
            }
        }
        keep(facts.count)
    }

    private var isQuiet: Bool {
        admitted == rows.count && sessions.isEmpty && leftOver.isEmpty && pages.isEmpty && facts.count >= 0
            && rows.allSatisfy { row in
                !truth[Int(row.sequence) - 1].hasOutstanding
                    || (stuckUser != nil && row.user == stuckUser)
            }
    }
}

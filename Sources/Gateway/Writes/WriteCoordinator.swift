package import Journal
package import Rollout
import Synchronization

/// The one place where all loops meet over writes: acceptance through the journal, the lanes that keep the order, and
/// the counts of outstanding legs. Safe from any thread; the lock is held for table look-ups only.
package final class WriteCoordinator: Sendable {
    private struct Tables: ~Copyable {
        var legs: LegTables
        /// Who is told when a leg has become the first of its lanes.
        var turns: [Turn: @Sendable () -> Void] = [:]
        /// Who reads pages of deferred legs.
        var refill: (@Sendable (Side) -> Void)?

        init(limits: WindowLimits) { legs = LegTables(limits: limits) }

        mutating func takeTurns(_ sequences: [Sequence64], _ side: Side) -> [@Sendable () -> Void] {
            sequences.compactMap { turns.removeValue(forKey: Turn(sequence: $0, side: side)) }
        }
    }
    private struct Turn: Hashable {
        var sequence: Sequence64
        var side: Side
    }

    package let journal: any WriteJournal
    #if DEBUG
        /// For a test that takes this safeguard away, to see that it is missed: nobody is behind, nobody drains.
        nonisolated(unsafe) var ignoresOutstanding = false
    #endif
    /// How this gateway stands with the others of its store.
    package let standing = ClusterStanding()
    /// Closed while legacy is given what it lacks.
    package let legacyGate = LegacyGate()
    private let tables: Mutex<Tables>
    // Owned for this object's whole life and only touched through atomics: how many legs are outstanding per side, and a
    // counting filter over users, so that the common "nothing outstanding" needs no lock.
    private nonisolated(unsafe) let totals: UnsafeMutablePointer<Atomic<Int>>
    private nonisolated(unsafe) let filter: UnsafeMutablePointer<Atomic<Int>>
    // As `totals`: how many legs were settled since the start.
    private nonisolated(unsafe) let settlements: UnsafeMutablePointer<Atomic<Int>>
    private static let filterSize = 4096

    /// - Parameter limits: how many second legs of a side are kept in memory.
    package init(journal: any WriteJournal, limits: WindowLimits = WindowLimits()) {
        self.journal = journal
        tables = Mutex(Tables(limits: limits))
        totals = .allocate(capacity: 2)
        settlements = .allocate(capacity: 2)
        filter = .allocate(capacity: 2 * WriteCoordinator.filterSize)
        for i in 0..<2 { (totals + i).initialize(to: Atomic(0)) }
        for i in 0..<2 { (settlements + i).initialize(to: Atomic(0)) }
        for i in 0..<2 * WriteCoordinator.filterSize { (filter + i).initialize(to: Atomic(0)) }
    }

    deinit {
        totals.deinitialize(count: 2)
        totals.deallocate()
        settlements.deinitialize(count: 2)
        settlements.deallocate()
        filter.deinitialize(count: 2 * WriteCoordinator.filterSize)
        filter.deallocate()
    }

    // MARK: Order

    /// Enters changes into their lanes, in the order of acceptance; the journal's `onAdmitted`.
    package func enter(_ admitted: AdmittedGroup) {
        let deferred = tables.withLock { tables in
            var foreign = admitted.foreign[...]
            return admitted.changes.compactMap { sequence, submission -> (user: String?, sides: SideSet)? in
                while let first = foreign.first, first.sequence < sequence {
                    tables.legs.enter(foreign: first)
                    foreign = foreign.dropFirst()
                }
                let records = submission.records.map(\.record)
                let sides = tables.legs.admit(
                    sequence, user: submission.user, records: records, side: submission.side,
                    sides: submission.dualWrite ? .both : SideSet(submission.side))
                if legacyGate.isClosed, !submission.dualWrite {
                    legacyGate.admit(sequence, submission, records, &tables.legs)
                }
                return sides.isEmpty ? nil : (submission.user, sides)
            }
        }
        for (user, sides) in deferred {
            for side in Side.allCases where sides.contains(SideSet(side)) { count(user, side, by: 1) }
        }
        if !admitted.foreign.isEmpty { standing.cluster?.watch(admitted.foreign.map(\.sequence)) }
    }

    /// Legs of other gateways' changes are settled: whoever waited behind them may go.
    package func settle(foreign settled: [(sequence: Sequence64, sides: SideSet)]) {
        let actions = tables.withLock { tables in
            settled.flatMap { change in
                tables.legs.settle(foreign: change.sequence, change.sides).flatMap { released in
                    tables.takeTurns(released.released, released.side)
                }
            }
        }
        for action in actions { action() }
    }

    /// Enters legs of one change that an operator sends again.
    package func enter(_ sequence: Sequence64, user: String?, records: [String], sides: SideSet) {
        tables.withLock { tables in
            for side in Side.allCases where sides.contains(SideSet(side)) {
                tables.legs.readmit(sequence, user: user, records: records, side)
            }
        }
    }

    /// Whether a leg is on its way.
    package func isOutstanding(_ sequence: Sequence64, _ side: Side) -> Bool {
        tables.withLock { $0.legs.lanes.contains(sequence, side) }
    }

    /// Whether the leg may be sent now; if not, `action` is called (once, on any thread) when it may.
    func whenFirst(_ sequence: Sequence64, _ side: Side, _ action: @escaping @Sendable () -> Void) -> Bool {
        tables.withLock { tables in
            if tables.legs.isFirst(sequence, side) { return true }
            tables.turns[Turn(sequence: sequence, side: side)] = action
            return false
        }
    }

    /// Whether the leg may be sent now.
    func isFirst(_ sequence: Sequence64, _ side: Side) -> Bool {
        tables.withLock { $0.legs.isFirst(sequence, side) }
    }

    /// Gives up waiting. False when the action has been called, or is about to be.
    func stopWaiting(_ sequence: Sequence64, _ side: Side) -> Bool {
        tables.withLock { $0.turns.removeValue(forKey: Turn(sequence: sequence, side: side)) != nil }
    }

    /// The leg holds, is parked or will never be sent: the next in its lanes may go.
    func leave(_ sequence: Sequence64, _ side: Side) {
        let (departure, actions, refill) = tables.withLock { tables in
            let departure = tables.legs.leave(sequence, side)
            let actions = tables.takeTurns(departure.released, side)
            return (departure, actions, tables.legs.deferred(side) > 0 ? tables.refill : nil)
        }
        if let user = departure.dropped { count(user, side, by: -1) }
        for action in actions { action() }
        refill?(side)
    }

    // MARK: What is outstanding

    /// The other side has taken the write: this leg does not hold yet, and its user has been (or is about to be) told.
    /// - Parameter status: what the client is told.
    /// - Returns: whether the leg is in memory and needs a delivery; if not, the journal brings it back when there is room.
    func conclude(
        _ sequence: Sequence64, user: String?, _ side: Side, acceptedMilliseconds: Int64, status: Int
    ) -> Bool {
        let place = tables.withLock {
            $0.legs.conclude(
                sequence, user: user, side, acceptedMilliseconds: acceptedMilliseconds, status: status)
        }
        switch place {
        case .held(let isNew):
            if isNew { count(user, side, by: 1) }
            return true
        case .deferred(let isNew):
            if isNew { count(user, side, by: 1) }
            return false
        }
    }

    /// Tells the journal what became of a write. After `conclude` and `leave`.
    /// - Returns: sides whose deferred leg has come back already: its delivery begins now.
    /// - Parameter kept: called when it is durable, on a thread of the journal.
    func post(answered update: JournalUpdate, kept: (@Sendable () -> Void)? = nil) -> SideSet {
        if let kept { journal.post(update, kept: kept) } else { journal.post(update) }
        // After that: a page that begins in between must still find the change here.
        return tables.withLock { $0.legs.answered(update.sequence) }
    }

    /// A leg is no longer outstanding: its user does not wait for it any more, and the next in its lanes may go.
    func settled(_ sequence: Sequence64, user: String?, _ side: Side) {
        removeOutstanding(sequence, user: user, side)
        leave(sequence, side)
    }

    /// Tells the journal of a write that was not accepted, and lets its lanes go on when that is durable, not before: after a
    /// crash it would be sent again, and undo what later writes of its lanes have done.
    /// - Parameter kept: called when it is, on a thread of the journal.
    func post(refused update: JournalUpdate, kept: @escaping @Sendable () -> Void = {}) {
        let sequence = update.sequence
        journal.post(update) { [self] in
            for side in Side.allCases { leave(sequence, side) }
            _ = tables.withLock { $0.legs.answered(sequence) }
            kept()
        }
    }

    /// A leg that the user has been (or is about to be) told of does not hold yet.
    package func addOutstanding(_ sequence: Sequence64, user: String?, _ side: Side, acceptedMilliseconds: Int64) {
        let isNew = tables.withLock {
            $0.legs.add(sequence, user: user, side, acceptedMilliseconds: acceptedMilliseconds)
        }
        if isNew { count(user, side, by: 1) }
    }

    /// A leg that counted as outstanding holds, is parked or is skipped.
    package func removeOutstanding(_ sequence: Sequence64, user: String?, _ side: Side) {
        guard tables.withLock({ $0.legs.settle(sequence, user: user, side) }) else { return }
        count(user, side, by: -1)
        if standing.hasAnnounced, let user, !hasOwnOutstanding(user: user, side) { standing.settledAll(user, side) }
        settlements[Int(side.rawValue)].wrappingAdd(1, ordering: .relaxed)
    }

    // For the files next to this one, which have no access to the lock.

    func withLegs<Value: Sendable>(_ body: (inout LegTables) -> Value) -> Value { tables.withLock { body(&$0.legs) } }

    func takePage(
        _ rows: [OutstandingChange], _ side: Side
    ) -> (refill: LegTables.Refill, actions: [@Sendable () -> Void]) {
        tables.withLock { tables in
            let refill = tables.legs.take(rows, side)
            let first = refill.entered.filter { tables.legs.isFirst($0, side) }
            return (refill, tables.takeTurns(first, side))
        }
    }

    /// - Parameter refill: called, on any thread and without the lock, when a page of this side may be wanted.
    func setRefill(_ refill: @escaping @Sendable (Side) -> Void) { tables.withLock { $0.refill = refill } }

    var refillAction: (@Sendable (Side) -> Void)? { tables.withLock { $0.refill } }

    /// Keeps what spares the lock in step with the tables.
    func count(_ user: String?, _ side: Side, by amount: Int) {
        totals[Int(side.rawValue)].wrappingAdd(amount, ordering: .sequentiallyConsistent)
        if let user { filter[slot(user, side)].wrappingAdd(amount, ordering: .sequentiallyConsistent) }
    }

    @inline(__always)
    func mayHaveOutstanding(_ side: Side) -> Bool {
        totals[Int(side.rawValue)].load(ordering: .relaxed) != 0 || standing.mayHaveForeign(side)
            || (side == .legacy && legacyGate.isClosed)
    }

    @inline(__always)
    var mayHaveOutstanding: Bool { mayHaveOutstanding(.legacy) || mayHaveOutstanding(.new) }

    /// Whether legs of this user to a side are outstanding, at this gateway or another one of the store.
    func hasOutstanding(_ user: UserID, _ side: Side) -> Bool {
        #if DEBUG
            if ignoresOutstanding { return false }
        #endif
        if standing.mayHaveForeign(side), standing.hasForeign(user.text, side) { return true }
        if side == .legacy, legacyGate.isClosed, legacyGate.owes(user: user.text) { return true }
        // An id that is no valid UTF-8 was counted under its repaired text, so it is looked for there.
        let index = user.isASCII ? slot(user.hash, side) : slot(user.text, side)
        guard filter[index].load(ordering: .sequentiallyConsistent) > 0 else { return false }
        let text = user.text
        return tables.withLock { $0.legs.hasOutstanding(text, side) }
    }

    func hasOutstanding(user: String, _ side: Side) -> Bool {
        guard mayHaveOutstanding(side) else { return false }
        if side == .legacy, legacyGate.owes(user: user) { return true }
        return standing.hasForeign(user, side) || hasOwnOutstanding(user: user, side)
    }

    /// Whether legs of this user to a side are outstanding at this gateway.
    func hasOwnOutstanding(user: String, _ side: Side) -> Bool {
        tables.withLock { $0.legs.hasOutstanding(user, side) }
    }

    func hasOutstanding(_ user: UserID) -> Bool { hasOutstanding(user, .legacy) || hasOutstanding(user, .new) }

    /// Whether legs of a user (nil: the anonymous ones) to either side are outstanding.
    package func isAwaited(user: String?) -> Bool {
        guard let user else {
            return tables.withLock { tables in Side.allCases.contains { tables.legs.hasOutstanding(nil, $0) } }
        }
        return hasOutstanding(user: user, .legacy) || hasOutstanding(user: user, .new)
    }

    /// For metrics and `status`: legs outstanding, and when the oldest was accepted (milliseconds since 1970).
    package func backlog(_ side: Side) -> (count: Int, oldestMilliseconds: Int64?) {
        tables.withLock { $0.legs.backlog(side) }
    }

    /// For metrics: outstanding legs that are only in the journal.
    package func deferred(_ side: Side) -> Int { tables.withLock { $0.legs.deferred(side) } }

    /// For metrics: legs settled since the start.
    package func settled(_ side: Side) -> Int { settlements[Int(side.rawValue)].load(ordering: .relaxed) }

    private func slot(_ user: String, _ side: Side) -> Int {
        var user = user
        let hash = user.withUTF8 { bytes in bytes.baseAddress.map { userHash($0, bytes.count) } ?? userHashOfNothing }
        return slot(hash, side)
    }

    private func slot(_ hash: UInt64, _ side: Side) -> Int {
        Int(side.rawValue) * WriteCoordinator.filterSize + Int(hash % UInt64(WriteCoordinator.filterSize))
    }

    private var userHashOfNothing: UInt64 {
        var nothing: UInt8 = 0
        return userHash(&nothing, 0)
    }
}

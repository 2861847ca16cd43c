package import Journal
package import Rollout
import Synchronization

/// The one place where all loops meet over writes: acceptance through the journal, the lanes that keep the order, and
/// the counts of outstanding legs. Safe from any thread; the lock is held for table look-ups only.
package final class WriteCoordinator: Sendable {
    private struct Tables: ~Copyable {
        var lanes = LaneTable()
        var outstanding = Outstanding()
        /// Who is told when a leg has become the first of its lanes.
        var turns: [Turn: @Sendable () -> Void] = [:]
    }
    private struct Turn: Hashable {
        var sequence: Sequence64
        var side: Side
    }

    package let journal: any WriteJournal
    /// Closed while legacy is given what it lacks.
    package let legacyGate = LegacyGate()
    private let tables = Mutex(Tables())
    // Owned for this object's whole life and only touched through atomics: how many legs are outstanding per side, and a
    // counting filter over users, so that the common "nothing outstanding" needs no lock.
    private nonisolated(unsafe) let totals: UnsafeMutablePointer<Atomic<Int>>
    private nonisolated(unsafe) let filter: UnsafeMutablePointer<Atomic<Int>>
    private static let filterSize = 4096

    package init(journal: any WriteJournal) {
        self.journal = journal
        totals = .allocate(capacity: 2)
        filter = .allocate(capacity: 2 * WriteCoordinator.filterSize)
        for i in 0..<2 { (totals + i).initialize(to: Atomic(0)) }
        for i in 0..<2 * WriteCoordinator.filterSize { (filter + i).initialize(to: Atomic(0)) }
    }

    deinit {
        totals.deinitialize(count: 2)
        totals.deallocate()
        filter.deinitialize(count: 2 * WriteCoordinator.filterSize)
        filter.deallocate()
    }

    // MARK: Order

    /// Enters changes into their lanes, in the order of acceptance; the journal's `onAdmitted`.
    package func enter(_ admitted: AdmittedGroup) {
        tables.withLock { tables in
            for (sequence, submission) in admitted.changes {
                let keys = LaneKey.lanes(user: submission.user, records: submission.records.map(\.record))
                tables.lanes.enter(sequence, keys: keys, sides: legacyGate.places(of: submission, sequence, keys))
            }
        }
    }

    /// Enters legs of one change (at start-up, and when an operator replays a parked one).
    package func enter(_ sequence: Sequence64, user: String?, records: [String], sides: SideSet) {
        tables.withLock { $0.lanes.enter(sequence, keys: LaneKey.lanes(user: user, records: records), sides: sides) }
    }

    /// Whether a leg is on its way.
    package func isOutstanding(_ sequence: Sequence64, _ side: Side) -> Bool {
        tables.withLock { $0.lanes.contains(sequence, side) }
    }

    /// Whether the leg may be sent now; if not, `action` is called (once, on any thread) when it may.
    func whenFirst(_ sequence: Sequence64, _ side: Side, _ action: @escaping @Sendable () -> Void) -> Bool {
        tables.withLock { tables in
            if tables.lanes.isFirst(sequence, side) { return true }
            tables.turns[Turn(sequence: sequence, side: side)] = action
            return false
        }
    }

    /// Gives up waiting. False when the action has been called, or is about to be.
    func stopWaiting(_ sequence: Sequence64, _ side: Side) -> Bool {
        tables.withLock { $0.turns.removeValue(forKey: Turn(sequence: sequence, side: side)) != nil }
    }

    /// The leg holds, is parked or will never be sent: the next in its lanes may go.
    func leave(_ sequence: Sequence64, _ side: Side) {
        let actions = tables.withLock { tables in
            tables.lanes.leave(sequence, side).compactMap { next in
                tables.turns.removeValue(forKey: Turn(sequence: next, side: side))
            }
        }
        for action in actions { action() }
    }

    // MARK: What is outstanding

    /// A leg that the user has been (or is about to be) told of does not hold yet.
    package func addOutstanding(_ sequence: Sequence64, user: String?, _ side: Side, acceptedMilliseconds: Int64) {
        tables.withLock { $0.outstanding.add(sequence, user: user, side, acceptedMilliseconds: acceptedMilliseconds) }
        totals[Int(side.rawValue)].wrappingAdd(1, ordering: .sequentiallyConsistent)
        if let user { filter[slot(user, side)].wrappingAdd(1, ordering: .sequentiallyConsistent) }
    }

    /// Every `addOutstanding` is followed by exactly one of these.
    package func removeOutstanding(_ sequence: Sequence64, user: String?, _ side: Side) {
        tables.withLock { $0.outstanding.remove(sequence, user: user, side) }
        totals[Int(side.rawValue)].wrappingSubtract(1, ordering: .sequentiallyConsistent)
        if let user { filter[slot(user, side)].wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    }

    @inline(__always)
    func mayHaveOutstanding(_ side: Side) -> Bool {
        totals[Int(side.rawValue)].load(ordering: .relaxed) != 0 || (side == .legacy && legacyGate.isClosed)
    }

    @inline(__always)
    var mayHaveOutstanding: Bool { mayHaveOutstanding(.legacy) || mayHaveOutstanding(.new) }

    /// Whether legs of this user to a side are outstanding.
    func hasOutstanding(_ user: UserID, _ side: Side) -> Bool {
        if side == .legacy, legacyGate.isClosed, legacyGate.owes(user: user.text) { return true }
        // An id that is no valid UTF-8 was counted under its repaired text, so it is looked for there.
        let index = user.isASCII ? slot(user.hash, side) : slot(user.text, side)
        guard filter[index].load(ordering: .sequentiallyConsistent) > 0 else { return false }
        let text = user.text
        return tables.withLock { $0.outstanding.count(user: text, side) > 0 }
    }

    func hasOutstanding(user: String, _ side: Side) -> Bool {
        guard mayHaveOutstanding(side) else { return false }
        if side == .legacy, legacyGate.owes(user: user) { return true }
        return tables.withLock { $0.outstanding.count(user: user, side) > 0 }
    }

    func hasOutstanding(_ user: UserID) -> Bool { hasOutstanding(user, .legacy) || hasOutstanding(user, .new) }

    /// Whether legs of a user (nil: the anonymous ones) to either side are outstanding.
    package func isAwaited(user: String?) -> Bool {
        guard let user else {
            return tables.withLock { tables in
                Side.allCases.contains { tables.outstanding.count(user: nil, $0) > 0 }
            }
        }
        return hasOutstanding(user: user, .legacy) || hasOutstanding(user: user, .new)
    }

    /// For metrics and `status`: legs outstanding, and when the oldest was accepted (milliseconds since 1970).
    package func backlog(_ side: Side) -> (count: Int, oldestMilliseconds: Int64?) {
        tables.withLock { ($0.outstanding.total(side), $0.outstanding.oldestAcceptedMilliseconds(side)) }
    }

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

package import Journal
import Rollout
import Synchronization

/// Keeps the order on legacy while it is given what it lacks (a reverse sync after legacy was not written for a while).
///
/// The changes that legacy lacks are in the journal and not yet in the lanes. A newer write of the same lane must not reach
/// legacy before them: while the gate is closed, writes that go to legacy wait outside until nothing of their lanes is
/// missing any more, at most the backend's time-out (then 503, as behind any leg that does not get through).
///
/// Life: `close` (everything is taken to be missing, so that a rollback need not read a journal first) → `count(after:)` and
/// `add` for all that is missing → `lift` → `putBack` for each → `open`. Safe from any thread.
package final class LegacyGate: Sendable {
    private struct Closed: Sendable {
        var owed = OwedLegs()
        /// What is missing is known; until then everything is.
        var isCounted = false
        /// The last change that the count looks at; nil: not known yet.
        var last: Sequence64?
        /// Later changes that were still accepted without legacy and are counted: those under way at the switch.
        var late: Set<Sequence64> = []
    }

    private let state = Mutex<Closed?>(nil)
    private let closed = Atomic<Bool>(false)

    package init() {}

    /// Whether legacy may lack something.
    @inline(__always)
    package var isClosed: Bool { closed.load(ordering: .acquiring) }

    /// Changes that are counted and not yet put back.
    package var missing: Int { isClosed ? state.withLock { $0?.owed.total ?? 0 } : 0 }

    /// Closes, and takes everything to be missing. Closing a closed gate begins anew.
    package func close() {
        state.withLock { $0 = Closed() }
        closed.store(true, ordering: .sequentiallyConsistent)
    }

    /// What was accepted up to `last` is counted by `add`; later changes are counted as they are accepted. On the journal's
    /// thread, where nothing is accepted meanwhile.
    package func count(after last: Sequence64) { state.withLock { $0?.last = last } }

    /// A change that legacy may lack.
    package func add(user: String?, records: [String]) {
        let keys = LaneKey.lanes(user: user, records: records)
        state.withLock { $0?.owed.add(keys: keys, user: user) }
    }

    /// Everything that is missing has been counted: other lanes are free.
    package func lift() { state.withLock { $0?.isCounted = true } }

    /// A counted change has its place in the lanes now, or need not go there.
    package func putBack(_ sequence: Sequence64, user: String?, records: [String]) {
        let keys = LaneKey.lanes(user: user, records: records)
        state.withLock { state in
            guard var closed = state.take(), let last = closed.last else { return }
            if sequence <= last || closed.late.remove(sequence) != nil { closed.owed.remove(keys: keys, user: user) }
            state = consume closed
        }
    }

    /// Nothing is missing any more.
    package func open() {
        closed.store(false, ordering: .sequentiallyConsistent)
        state.withLock { $0 = nil }
    }

    // MARK: For the data plane

    /// Whether a write must not reach legacy yet.
    func holds(_ keys: [LaneKey]) -> Bool {
        guard isClosed else { return false }
        return state.withLock { closed in
            guard let closed else { return false }
            return !closed.isCounted || closed.owed.isOwed(keys: keys)
        }
    }

    /// Whether legacy may lack something that this user was told of.
    func owes(user: String) -> Bool {
        guard isClosed else { return false }
        return state.withLock { closed in
            guard let closed else { return false }
            return !closed.isCounted || closed.owed.isOwed(user: user)
        }
    }

    /// A change was accepted without a leg to legacy. On the journal's thread, in the order of acceptance.
    ///
    /// A write that was under way when legacy was written again does not know of it. Where its lanes are clear it holds a place
    /// for legacy all the same, so that nothing newer gets there before it; else it is missing like those before it. Either
    /// way the reverse sync sends it.
    func admit(_ sequence: Sequence64, _ submission: Submission, _ records: [String], _ legs: inout LegTables) {
        let isClear = !legs.hasDeferred(submission.user, .legacy)
        guard holdsPlace(sequence, submission, records, isClear: isClear) else { return }
        legs.readmit(sequence, user: submission.user, records: records, .legacy)
    }

    /// Whether the change takes a place for legacy; if not, it may be one more that is missing.
    /// - Parameter isClear: nothing of this user waits in the journal for its way to legacy.
    func holdsPlace(_ sequence: Sequence64, _ submission: Submission, _ records: [String], isClear: Bool) -> Bool {
        guard submission.side == .new, !submission.dualWrite else { return false }
        let keys = LaneKey.lanes(user: submission.user, records: records)
        return state.withLock { state in
            guard var closed = state.take() else { return false }
            defer { state = closed }
            guard let last = closed.last, sequence > last else { return false }
            if isClear, closed.isCounted, !closed.owed.isOwed(keys: keys) { return true }
            closed.owed.add(keys: keys, user: submission.user)
            closed.late.insert(sequence)
            return false
        }
    }
}

import CLinux
package import Gateway
import Journal
import Rollout
package import JournalThreads
import Synchronization

/// Brings legacy, in order, what it lacks because it was not written for a while, and compares the backends afterwards
/// (contract §2: `reverse-sync`). One run at a time. Safe from any thread.
///
/// A run only moves legs from `skipped` to `pending`; from there on they are legs like any other, and survive anything. So
/// running it again after a crash does the rest.
package final class ReverseSync: Sendable {
    struct State: Sendable {
        var report = ReverseSyncReport()
        var isStopping = false
        /// A run by itself is wanted as soon as the present one has ended.
        var isCatchUpWanted = false
    }

    let dataPlane: DataPlane
    let journal: ThreadedJournal
    let controller: RolloutController
    let state = Mutex(State())

    /// How long looking for what is missing may take before it answers "at least".
    static let countMilliseconds: UInt64 = 3000
    /// How long the answer to a rollback waits to be told what legacy lacks. The rollback itself waits for nothing.
    static let tellMilliseconds: UInt64 = 1000
    /// Changes that legacy may lack when it is written again without force: that many are put back within moments.
    static let resumeMax = 1000
    /// Changes in one page of the journal.
    static let page = 2000

    package init(dataPlane: DataPlane, journal: ThreadedJournal, controller: RolloutController) {
        self.dataPlane = dataPlane
        self.journal = journal
        self.controller = controller
    }

    package var report: ReverseSyncReport { state.withLock { $0.report } }

    /// Legs are being brought to legacy, or are about to be.
    package var isSending: Bool {
        state.withLock { $0.isCatchUpWanted || $0.report.phase == .counting || $0.report.phase == .sending }
    }

    /// Starts a run that somebody asked for.
    /// - Parameter isGated: legacy is written and lacks something all the same: newer writes have to wait for it.
    /// - Returns: false when one is under way.
    package func start(_ order: ReverseSyncOrder, isGated: Bool) -> Bool {
        let isFree = state.withLock { state in
            guard !state.report.isRunning, !state.isCatchUpWanted else { return false }
            begin(&state, order, isAutomatic: false)
            return true
        }
        guard isFree else { return false }
        if isGated { dataPlane.shared.coordinator.legacyGate.close() }
        startThread(name: "reverse-sync") { [self] in run(order, isGated: isGated) }
        return true
    }

    /// Legacy is written again, and `LegacyGate` is closed: what is missing goes there now. A run that is under way ends first.
    package func legacyIsWrittenAgain() {
        let mayStart = state.withLock { state in
            if state.report.isRunning {
                state.isStopping = true
                state.isCatchUpWanted = true
                return false
            }
            begin(&state, ReverseSync.ownOrder, isAutomatic: true)
            return true
        }
        if mayStart { startThread(name: "reverse-sync") { [self] in run(ReverseSync.ownOrder, isGated: true) } }
    }

    /// Before anybody connects: what was under way when the gateway died goes on.
    package func resume() async {
        guard await controller.state.legacyWrites else { return }
        // A page that says nothing is missing decides nothing: there may be more.
        let first = try? await journal.read { reader throws(JournalError) in
            try reader.unshared(after: 0, skippedOnly: true, limit: ReverseSync.page)
        }
        guard let first, first.count == ReverseSync.page || first.contains(where: { $0.isMissing || !$0.isAnswered })
        else { return }
        dataPlane.shared.coordinator.legacyGate.close()
        legacyIsWrittenAgain()
    }

    /// Ends the present run as soon as it can; what it has put back goes on by itself.
    package func stop() { state.withLock { $0.isStopping = true } }

    private static var ownOrder: ReverseSyncOrder {
        var order = ReverseSyncOrder(actor: "gateway", reason: "legacy is written again")
        // Both backends may be in trouble, or a rollback would not have come: nobody loads them further unasked.
        order.verifies = false
        return order
    }

    private func begin(_ state: inout State, _ order: ReverseSyncOrder, isAutomatic: Bool) {
        var report = ReverseSyncReport()
        report.run = state.report.run + 1
        report.phase = .counting
        report.isAutomatic = isAutomatic
        report.sinceMilliseconds = order.sinceMilliseconds
        report.startedMilliseconds = clinux_wall_milliseconds()
        state.report = report
        state.isStopping = false
        state.isCatchUpWanted = false
    }

    /// On the thread of the run.
    private func run(_ order: ReverseSyncOrder, isGated: Bool) {
        ReverseSyncRun(sync: self, order: order, isGated: isGated).perform()
        let again = state.withLock { state in
            guard state.isCatchUpWanted else { return false }
            begin(&state, ReverseSync.ownOrder, isAutomatic: true)
            return true
        }
        if again { run(ReverseSync.ownOrder, isGated: true) }
    }

    // MARK: What is missing

    /// What the run that has just begun by itself found missing, as soon as it has counted; nil when that takes too long.
    package func counted() async -> MissingChanges? {
        let deadline = clinux_monotonic_nanoseconds() + ReverseSync.tellMilliseconds * 1_000_000
        while state.withLock({ $0.isCatchUpWanted || $0.report.phase == .counting }) {
            guard clinux_monotonic_nanoseconds() < deadline else { return nil }
            try? await Task.sleep(for: .milliseconds(5))
        }
        var missing = MissingChanges()
        missing.count = report.total
        return missing
    }

    /// Counts what legacy lacks; nil when the journal cannot be read.
    /// - Parameter since: milliseconds since 1970; nil: all that the journal holds.
    package func lookForMissing(since: Int64?) async -> MissingChanges? {
        var missing = MissingChanges()
        var last: Sequence64 = 0
        let deadline = clinux_monotonic_nanoseconds() + ReverseSync.countMilliseconds * 1_000_000
        do throws(JournalError) {
            missing.parked = try await journal.read { reader throws(JournalError) in try reader.counts().parkedLegacy }
            while true {
                let after = last
                let page = try await journal.read { reader throws(JournalError) in
                    try reader.unshared(after: after, skippedOnly: true, limit: ReverseSync.page)
                }
                for change in page where change.isMissing {
                    guard change.acceptedMilliseconds >= since ?? .min else {
                        missing.olderCount += 1
                        continue
                    }
                    missing.count += 1
                    missing.oldestMilliseconds = missing.oldestMilliseconds ?? change.acceptedMilliseconds
                    missing.newestMilliseconds = change.acceptedMilliseconds
                }
                guard page.count == ReverseSync.page, let newest = page.last?.sequence else { return missing }
                if clinux_monotonic_nanoseconds() > deadline {
                    missing.isComplete = false
                    return missing
                }
                last = newest
            }
        } catch {
            return nil
        }
    }
}

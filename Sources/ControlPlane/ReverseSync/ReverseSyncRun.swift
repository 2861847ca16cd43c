import CLinux
import Gateway
import Journal
import Rollout
import JournalThreads
import Synchronization

/// One run of a reverse sync, on a thread of its own: it may block.
///
/// Where legacy is not written, what is missing is put back in order while new changes go on being left out: they are newer
/// than everything that is put back, and a later run takes them. Where legacy is written again (`isGated`), `LegacyGate` keeps
/// newer writes of a lane back until what it lacks is in it.
final class ReverseSyncRun {
    /// Legs that are put back at a time: what a run adds to the memory, and how far ahead of legacy it may be.
    static let inFlightMax = 1024
    /// Changes that wait because new is still deciding over them, or over one before them; beyond it the whole run waits.
    static let postponedMax = 10_000

    let sync: ReverseSync
    let order: ReverseSyncOrder
    private let isGated: Bool
    private var inFlight: [Sequence64] = []
    private var postponed: [Sequence64] = []
    private var postponedLanes: Set<LaneKey> = []
    /// Parked legs that were sent again: they have to be compared, too.
    private(set) var replayed: [Sequence64] = []
    private var last: Sequence64 = 0

    /// - Parameter isGated: legacy is written, and the gate is closed.
    init(sync: ReverseSync, order: ReverseSyncOrder, isGated: Bool) {
        self.sync = sync
        self.order = order
        self.isGated = isGated
    }

    private var gate: LegacyGate { sync.dataPlane.shared.coordinator.legacyGate }
    private var coordinator: WriteCoordinator { sync.dataPlane.shared.coordinator }

    func perform() {
        while true {
            do throws(JournalError) {
                try count()
                try send()
                if isGated, !isStopping { gate.open() }
                settle()
                noteParked()
                break
            } catch {
                // The gate may not stay closed for ever, nor be opened before all is in its lanes: on with it.
                guard isGated, !isStopping else { return end(failure: error.message) }
                logLine("reverse sync: \(error.message); it begins anew")
                usleep(1_000_000)
                (postponed, postponedLanes) = ([], [])
                gate.close()
            }
        }
        if isStopping { return end(failure: "it was stopped; running it again does the rest") }
        if order.verifies {
            update { $0.phase = .verifying }
            Verification(sync: sync, order: order, replayed: replayed, last: last).perform()
        }
        end(failure: nil)
    }

    // MARK: Counting

    /// Counts what is missing; gated: tells the gate, which then lets other lanes pass.
    private func count() throws(JournalError) {
        let (gate, isGated) = (gate, isGated)
        // What an earlier run has put back must read as pending; the journal's thread keeps that before this work.
        last = try sync.write { store throws(JournalError) in
            let last = try store.counts().lastSequence
            if isGated { gate.count(after: last) }
            return last
        }
        var total = 0
        try forEach(skippedOnly: true) { change throws(JournalError) in
            if isGated { gate.add(user: change.user, records: change.records) }
            if change.isMissing, isWanted(change) { total += 1 }
        }
        if isGated { gate.lift() }
        update { report in
            report.total = total
            report.phase = .sending
            report.sendingSinceNanoseconds = clinux_monotonic_nanoseconds()
        }
    }

    private func isWanted(_ change: UnsharedChange) -> Bool {
        change.acceptedMilliseconds >= order.sinceMilliseconds ?? .min
    }

    /// Every change up to `last` that was accepted while legacy was not written.
    private func forEach(
        skippedOnly: Bool, _ body: (UnsharedChange) throws(JournalError) -> Void
    ) throws(JournalError) {
        var cursor: Sequence64 = 0
        while !isStopping {
            let page = try sync.unshared(after: cursor, skippedOnly: skippedOnly)
            for change in page {
                guard change.sequence <= last else { return }
                try body(change)
            }
            guard page.count == ReverseSync.page, let newest = page.last?.sequence else { return }
            cursor = newest
        }
    }

    // MARK: Sending

    private func send() throws(JournalError) {
        if order.includesParked { try sendParked() }
        // Nothing can come any more behind what is seen from here on, once this has passed.
        if isGated { try sync.waitForSubmissions() }
        var cursor: Sequence64 = 0
        while !isStopping {
            let page = try sync.unshared(after: cursor, skippedOnly: true)
            for change in page {
                if isStopping { return }
                guard isGated || change.sequence <= last else { return try sendPostponed() }
                cursor = change.sequence
                try putBackOrPostpone(change)
            }
            // Gated: once more, until a page is empty.
            if page.count < ReverseSync.page, !isGated || page.isEmpty { return try sendPostponed() }
        }
    }

    /// New may still be deciding over a change (after a crash, for as long as it is away): then it and what comes after it in its
    /// lanes wait until the others are through.
    private func putBackOrPostpone(_ change: UnsharedChange) throws(JournalError) {
        let keys = LaneKey.lanes(user: change.user, records: change.records)
        let isBlocked = !change.isAnswered || !postponedLanes.isDisjoint(with: keys)
        guard isBlocked else { return try putBack(change) }
        while postponed.count >= ReverseSyncRun.postponedMax, !isStopping { try retryPostponed() }
        postponed.append(change.sequence)
        postponedLanes.formUnion(keys)
    }

    private func sendPostponed() throws(JournalError) {
        while !postponed.isEmpty, !isStopping { try retryPostponed() }
    }

    private func retryPostponed() throws(JournalError) {
        usleep(20_000)
        let waiting = postponed
        (postponed, postponedLanes) = ([], [])
        for sequence in waiting where !isStopping {
            let found = try sync.unshared(after: sequence - 1, skippedOnly: true, limit: 1).first
            if let found, found.sequence == sequence { try putBackOrPostpone(found) }
        }
    }

    private func putBack(_ change: UnsharedChange) throws(JournalError) {
        if change.isMissing, isWanted(change), let stored = try sync.load(change.sequence) {
            waitForRoom(user: change.user)
            if isStopping { return }
            sync.dataPlane.putBack(stored)
            sent(change.sequence)
        }
        // Only now: from here on the lanes themselves keep the order.
        gate.putBack(change.sequence, user: change.user, records: change.records)
    }

    private func sendParked() throws(JournalError) {
        var cursor: Sequence64 = 0
        while !isStopping {
            let after = cursor
            let page = try sync.read { reader throws(JournalError) in
                try reader.parked(after: after, limit: ReverseSync.page)
            }
            for sequence in page {
                guard !isStopping, let change = try sync.load(sequence), change.legs.legacy.state == .parked,
                    change.acceptedMilliseconds >= order.sinceMilliseconds ?? .min
                else { continue }
                waitForRoom(user: change.submission.user)
                sync.dataPlane.replay(change, .legacy)
                update { $0.total += 1 }
                if replayed.count < Verification.recordsMax { replayed.append(sequence) }
                sent(sequence)
            }
            guard page.count == ReverseSync.page, let newest = page.last else { return }
            cursor = newest
        }
    }

    private func sent(_ sequence: Sequence64) {
        inFlight.append(sequence)
        update { report in
            report.sent += 1
            // Under a gate some come that were not there yet to be counted.
            report.total = max(report.total, report.sent)
        }
    }

    /// Waits until fewer legs are on their way, and until none of this user is only in the journal (the window was full, or the
    /// gateway has just started): those are older, and must not be overtaken.
    private func waitForRoom(user: String?) {
        while inFlight.count >= ReverseSyncRun.inFlightMax, !isStopping {
            reap()
            if inFlight.count >= ReverseSyncRun.inFlightMax { usleep(5000) }
        }
        while coordinator.hasDeferredToLegacy(user: user), !isStopping { usleep(5000) }
    }

    /// Forgets what is no longer on its way.
    private func reap() {
        let coordinator = coordinator
        inFlight.removeAll { !coordinator.isOutstanding($0, .legacy) }
        let left = inFlight.count
        update { $0.done = $0.sent - left }
    }

    /// Waits until legacy has answered to everything.
    private func settle() {
        while !isStopping {
            reap()
            if inFlight.isEmpty { break }
            usleep(10_000)
        }
        update { $0.sentUntilNanoseconds = clinux_monotonic_nanoseconds() }
    }

    /// Which legs of this run legacy refused for good.
    private func noteParked() {
        guard !isStopping else { return }
        _ = sync.journal.flush(timeoutMilliseconds: 2000)
        var (parked, count): ([Sequence64], Int) = ([], 0)
        func look(_ sequence: Sequence64) {
            count += 1
            if parked.count < ReverseSyncReport.listedMax { parked.append(sequence) }
        }
        // What cannot be read now is in `journal --parked` all the same.
        try? forEach(skippedOnly: false) { change throws(JournalError) in
            if change.legs.legacy.state == .parked, isWanted(change) { look(change.sequence) }
        }
        for sequence in replayed {
            if let change = try? sync.load(sequence), change.submission.dualWrite, change.legs.legacy.state == .parked {
                look(sequence)
            }
        }
        update { report in
            report.parked = parked
            report.parkedCount = count
        }
    }

    // MARK: The end

    private var isStopping: Bool { sync.state.withLock { $0.isStopping } }

    private func update(_ change: (inout ReverseSyncReport) -> Void) { sync.state.withLock { change(&$0.report) } }

    private func end(failure: String?) {
        let report = sync.state.withLock { state in
            var report = state.report
            report.failure = failure
            report.phase = failure == nil ? .done : .failed
            report.endedMilliseconds = clinux_wall_milliseconds()
            return report
        }
        // The event first: who sees the end must find it.
        sync.note(report, order)
        update { $0 = report }
    }
}

import TestSupport
import Journal
import JournalThreads
import Rollout
import StoreSQLite

/// The journal of one life of the gateway, in the one thread of the simulation: the real store, queue and group commit, and
/// the journal thread's way with them, group by group, in played time. Belongs to its thread; `Sendable` is only what the protocol wants.
final class SimulatedJournal: WriteJournal, @unchecked Sendable {
    private let store: SQLiteStore
    private let timeline: Timeline
    private let limits = JournalLimits()
    private let switches: Switches
    private var random: SeededGenerator
    private var queue = WriteQueue()
    private var core = GroupCommit()
    private var retryAt: UInt64 = 0
    private var isBusy = false
    private var onAdmitted: (AdmittedGroup) -> Void = { _ in }
    /// Reads under way, answered with a failure when the gateway dies.
    private var reads: [Int: () -> Void] = [:]
    private var readCount = 0
    /// Completions of the group that is being written.
    private var waiting: [WriteQueue.Write] = []
    /// Work that runs after that group.
    private var works: [WriteQueue.Work] = []
    /// Who waits for updates that are in the queue, and for those of the group or retained.
    private var arriving: [@Sendable () -> Void] = []
    private var awaiting: [@Sendable () -> Void] = []
    private(set) var isDead = false
    /// Told of every place that was given out and is durable.
    var onAccepted: (Sequence64, String) -> Void = { _, _ in }
    /// Called after every transaction: the power may have failed in it.
    var onCommit: () -> Void = {}
    /// Told why a group was not kept.
    var onFailure: (JournalError) -> Void = { _ in }

    init(store: SQLiteStore, timeline: Timeline, switches: Switches, random: SeededGenerator) {
        self.store = store
        self.timeline = timeline
        self.switches = switches
        self.random = random
    }

    func start(onAdmitted: @escaping @Sendable (AdmittedGroup) -> Void) { self.onAdmitted = onAdmitted }

    func submit(_ submission: Submission, completion: @escaping @Sendable (Admission) -> Void) {
        guard !isDead else { return completion(.unavailable("dead")) }
        guard queue.append(.init(submission: submission, completion: completion), limits: limits) else {
            return completion(.unavailable("full"))
        }
        consider()
    }

    func post(_ update: JournalUpdate) {
        guard !isDead else { return }
        queue.append(update, at: timeline.now)
        consider()
    }

    func post(_ update: JournalUpdate, kept: @escaping @Sendable () -> Void) {
        guard !isDead else { return kept() }
        queue.append(update, at: timeline.now, isAwaited: true)
        arriving.append(kept)
        consider()
    }

    func perform(_ work: @escaping @Sendable ((any JournalStore)?) -> Void) {
        guard !isDead else { return work(nil) }
        queue.append(work)
        consider()
    }

    func load(_ sequence: Sequence64, completion: @escaping @Sendable (Result<StoredChange?, JournalError>) -> Void) {
        let switches = switches
        read(completion) { store throws(JournalError) in switches.changed(try store.load(sequence)) }
    }

    func outstanding(
        _ query: OutstandingQuery, completion: @escaping @Sendable (Result<[OutstandingChange], JournalError>) -> Void
    ) {
        // As `ThreadedJournal`: first what was posted before is kept, then the page is read.
        let switches = switches
        perform { [self] store in
            if store == nil { return completion(.failure(JournalError(.closed, "the gateway is dead"))) }
            guard core.retained.isEmpty else { return completion(.failure(JournalError(.other, "not kept yet"))) }
            read(completion) { store throws(JournalError) in
                var page = try store.outstanding(query)
                for index in page.indices {
                    page[index].records = switches.lanes(page[index].sequence, page[index].records)
                }
                return page
            }
        }
    }

    private func read<Value>(
        _ completion: @escaping (Result<Value, JournalError>) -> Void,
        _ work: @escaping (SQLiteStore) throws(JournalError) -> Value
    ) {
        let dead = JournalError(.closed, "the gateway is dead")
        guard !isDead else { return completion(.failure(dead)) }
        readCount += 1
        let number = readCount
        reads[number] = { completion(.failure(dead)) }
        timeline.after(microseconds: 20 + random.below(2_000)) { [self] in
            guard reads.removeValue(forKey: number) != nil else { return }
            do throws(JournalError) { completion(.success(try work(store))) } catch { completion(.failure(error)) }
        }
    }

    /// Nothing waits for the disk.
    var isIdle: Bool { !isBusy && queue.isEmpty && core.retained.isEmpty }

    /// The process is gone: nothing is kept any more, and nobody is told that anything was.
    func die() {
        isDead = true
        let left = queue.takeAll()
        let writes = waiting + left.writes
        waiting = []
        for write in writes { write.completion(.unavailable("dead")) }
        for work in works + left.works { work(nil) }
        works = []
        for kept in awaiting + arriving { kept() }
        (awaiting, arriving) = ([], [])
        for number in reads.keys.sorted() { reads.removeValue(forKey: number)?() }
        onAdmitted = { _ in }
        onCommit = {}
        onFailure = { _ in }
    }
}

// MARK: - The journal thread

extension SimulatedJournal {
    /// `JournalWriter.nextGroup`: takes a group when there is something urgent, or the updates have waited long enough.
    private func consider() {
        guard !isDead, !isBusy else { return }
        if queue.isUrgent || queue.updates.count >= limits.groupUpdates { return begin() }
        let due: UInt64
        if !core.retained.isEmpty {
            due = retryAt
        } else if !queue.updates.isEmpty {
            due = queue.updatesSince + limits.updateDelayMilliseconds * 1_000_000
        } else {
            return
        }
        if timeline.now >= due { return begin() }
        timeline.after(microseconds: Int((due - timeline.now + 999) / 1000)) { [weak self] in self?.consider() }
    }

    private func begin() {
        isBusy = true
        let group = queue.take(limits, at: timeline.now)
        awaiting += arriving
        arriving = []
        waiting = group.writes
        works = group.works
        timeline.after(microseconds: 10 + random.below(300)) { [self] in if !isDead { commit(group) } }
    }

    private func commit(_ group: WriteQueue.Group) {
        var group = group
        for index in group.writes.indices {
            group.writes[index].submission = switches.changed(group.writes[index].submission)
        }
        let isWork = !group.writes.isEmpty || !group.updates.isEmpty || !core.retained.isEmpty
        let outcome = isWork ? core.commit(group, to: store, now: timeline.wall) : nil
        if case .success(let committed) = outcome?.result {
            for change in GroupCommit.admitted(group, committed).changes {
                onAccepted(change.sequence, change.submission.target)
            }
        }
        onCommit()
        guard !isDead else { return }
        // What the disk has may take its time to become known.
        timeline.after(microseconds: 10 + random.below(2_000)) { [self] in
            if !isDead { deliver(outcome?.result, group) }
        }
    }

    private func deliver(_ result: Result<CommittedGroup, JournalError>?, _ group: WriteQueue.Group) {
        waiting = []
        switch result {
        case .success(let committed):
            let ready = awaiting
            awaiting = []
            for kept in ready { kept() }
            let admitted = GroupCommit.admitted(group, committed)
            if !admitted.changes.isEmpty { onAdmitted(admitted) }
            for (admission, write) in zip(committed.admissions, group.writes) { write.completion(admission) }
        case .failure(let error):
            onFailure(error)
            retryAt = timeline.now + limits.retryMilliseconds * 1_000_000
            if error.kind == .full { store.makeRoom() }
            for write in group.writes { write.completion(.unavailable(error.message)) }
        case nil: break
        }
        works = []
        for work in group.works { work(store) }
        if !group.works.isEmpty { onCommit() }
        isBusy = false
        consider()
    }
}

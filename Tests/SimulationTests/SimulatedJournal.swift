import Journal
import Rollout

@testable import StoreSQLite

/// The journal of one life of the gateway, in the one thread of the simulation: the real store and queue, and the journal
/// thread's way with them, group by group, in played time. Belongs to its thread; `Sendable` is only what the protocol wants.
final class SimulatedJournal: WriteJournal, @unchecked Sendable {
    private let store: SQLiteStore
    private let timeline: Timeline
    private let limits = JournalLimits()
    private let switches: Switches
    private var random: SeededGenerator
    private var queue = WriteQueue()
    private var retained: [JournalUpdate] = []
    private var retryAt: UInt64 = 0
    private var isBusy = false
    private var onAdmitted: ([(Sequence64, Submission)]) -> Void = { _ in }
    /// Reads under way, answered with a failure when the gateway dies.
    private var reads: [Int: () -> Void] = [:]
    private var readCount = 0
    /// Completions of the group that is being written.
    private var waiting: [WriteQueue.Write] = []
    private(set) var isDead = false
    /// Told of every place that was given out and is durable.
    var onAccepted: (Sequence64, String) -> Void = { _, _ in }
    /// Called after every transaction: the power may have failed in it.
    var onCommit: () -> Void = {}
    var trace: ((String) -> Void)?

    init(store: SQLiteStore, timeline: Timeline, switches: Switches, random: SeededGenerator) {
        self.store = store
        self.timeline = timeline
        self.switches = switches
        self.random = random
    }

    func start(onAdmitted: @escaping @Sendable ([(Sequence64, Submission)]) -> Void) { self.onAdmitted = onAdmitted }

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

    func perform(_ work: @escaping @Sendable ((any JournalStore)?) -> Void) {
        guard !isDead else { return work(nil) }
        queue.append(work)
        consider()
    }

    func load(_ sequence: Sequence64, completion: @escaping @Sendable (Result<StoredChange?, JournalError>) -> Void) {
        read(completion) { store throws(JournalError) in try store.load(sequence) }
    }

    func outstanding(
        after sequence: Sequence64, limit: Int,
        completion: @escaping @Sendable (Result<[OutstandingChange], JournalError>) -> Void
    ) {
        read(completion) { store throws(JournalError) in try store.outstanding(after: sequence, limit: limit) }
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
    var isIdle: Bool { !isBusy && queue.isEmpty && retained.isEmpty }

    /// The process is gone: nothing is kept any more, and nobody is told that anything was.
    func die() {
        isDead = true
        let writes = waiting + queue.takeAll().writes
        waiting = []
        for write in writes { write.completion(.unavailable("dead")) }
        for number in reads.keys.sorted() { reads.removeValue(forKey: number)?() }
        onAdmitted = { _ in }
        onCommit = {}
    }
}

// MARK: - The journal thread

extension SimulatedJournal {
    /// `JournalWriter.nextGroup`: takes a group when there is something urgent, or the updates have waited long enough.
    private func consider() {
        guard !isDead, !isBusy else { return }
        if queue.isUrgent || queue.updates.count >= limits.groupUpdates { return begin() }
        let due: UInt64
        if !retained.isEmpty {
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
        let group = queue.take(limits)
        waiting = group.writes
        timeline.after(microseconds: 10 + random.below(300)) { [self] in if !isDead { commit(group) } }
    }

    private func commit(_ group: WriteQueue.Group) {
        let updates = fold(retained + group.updates)
        let outcome: Result<[Admission], JournalError>
        do throws(JournalError) {
            let submissions = group.writes.map { switches.changed($0.submission) }
            outcome = .success(
                submissions.isEmpty && updates.isEmpty
                    ? [] : try store.commit(submissions, updates: updates, now: timeline.wall))
        } catch {
            outcome = .failure(error)
        }
        if case .success(let admissions) = outcome {
            for (admission, write) in zip(admissions, group.writes) {
                if case .accepted(let sequence) = admission { onAccepted(sequence, write.submission.target) }
            }
        }
        onCommit()
        guard !isDead else { return }
        // What the disk has may take its time to become known.
        timeline.after(microseconds: 10 + random.below(2_000)) { [self] in
            if !isDead { deliver(outcome, group, updates) }
        }
    }

    private func deliver(
        _ outcome: Result<[Admission], JournalError>, _ group: WriteQueue.Group, _ updates: [JournalUpdate]
    ) {
        waiting = []
        switch outcome {
        case .success(let admissions):
            retained = []
            var admitted: [(Sequence64, Submission)] = []
            for (admission, write) in zip(admissions, group.writes) {
                if case .accepted(let sequence) = admission { admitted.append((sequence, write.submission)) }
            }
            if !admitted.isEmpty { onAdmitted(admitted) }
            for (admission, write) in zip(admissions, group.writes) { write.completion(admission) }
        case .failure(let error):
            trace?("journal: \(error.message)")
            retained = updates
            retryAt = timeline.now + limits.retryMilliseconds * 1_000_000
            if error.kind == .full { store.makeRoom() }
            for write in group.writes { write.completion(.unavailable(error.message)) }
        }
        for work in group.works { work(store) }
        if !group.works.isEmpty { onCommit() }
        isBusy = false
        consider()
    }
}

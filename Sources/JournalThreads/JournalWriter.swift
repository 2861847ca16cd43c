package import Journal

/// The journal thread: takes all that has arrived while it was busy as one group, one transaction, one fsync.
///
/// Safe from any thread. Completions and hooks run on the journal thread.
package final class JournalWriter: @unchecked Sendable {
    // Everything below `monitor` is only touched inside `monitor.locked`; the store and `core` only by the journal thread.
    /// nil once the journal is closed: the file and its lock are given back then, whoever still holds this object.
    private var store: (any JournalStore)?
    private let limits: JournalLimits
    private let onGroup: @Sendable (GroupReport) -> Void
    private let now: @Sendable () -> Int64
    private var core = GroupCommit()
    private var retryAt: UInt64 = 0
    private var pruneAt: UInt64 = 0
    private var roomAt: UInt64 = 0
    private var pace = CommitPace()

    private let monitor = Monitor()
    private var queue = WriteQueue()
    /// The journal thread waits for so many writes, and need not be woken by one more before.
    private var awaitedWrites = 0
    private var isClosing = false
    private var closeDeadline: UInt64 = .max
    private var thread: Thread?
    private var sums = JournalFigures()
    private var postedUpdates: UInt64 = 0
    private var keptUpdates: UInt64 = 0
    /// Who waits for which update, in order. As many as legs were refused and are not durable yet.
    private var waiters: [(update: UInt64, kept: @Sendable () -> Void)] = []
    private var retention: Retention?
    private var onAdmitted: @Sendable (AdmittedGroup) -> Void = { _ in }

    /// How often settled rows are looked through, in nanoseconds.
    private static let pruneInterval: UInt64 = 60_000_000_000
    /// The pause between two steps while old rows are left, in nanoseconds.
    private static let pruneStep: UInt64 = 50_000_000

    /// - Parameters:
    ///   - store: belongs to the journal thread from now on.
    ///   - retention: settled rows older than this are pruned while the journal runs; nil: never.
    ///   - now: the wall clock, in milliseconds since 1970.
    ///   - onGroup: called after each transaction.
    package init(
        store: sending any JournalStore, limits: JournalLimits = JournalLimits(), retention: Retention? = nil,
        now: @escaping @Sendable () -> Int64 = { wallMilliseconds() },
        onGroup: @escaping @Sendable (GroupReport) -> Void = { _ in }
    ) {
        self.store = store
        self.limits = limits
        self.retention = retention
        self.now = now
        self.onGroup = onGroup
    }

    // MARK: From any thread

    /// Starts the thread. What was submitted before waits until then.
    package func start(onAdmitted: @escaping @Sendable (AdmittedGroup) -> Void) {
        monitor.locked {
            precondition(thread == nil, "the journal was started twice")
            self.onAdmitted = onAdmitted
            thread = Thread(name: "journal") { [self] in run() }
        }
    }

    package func submit(_ submission: Submission, completion: @escaping @Sendable (Admission) -> Void) {
        let refusal: String? = monitor.locked {
            guard !isClosing else { return "the journal is closing" }
            guard queue.append(.init(submission: submission, completion: completion), limits: limits) else {
                sums.rejected += 1
                return "too many writes wait for the disk"
            }
            if queue.writes.count >= awaitedWrites { monitor.wakeAll() }
            return nil
        }
        if let refusal { completion(.unavailable(refusal)) }
    }

    package func post(_ update: JournalUpdate) {
        monitor.locked {
            queue.append(update, at: monotonicNanoseconds())
            postedUpdates += 1
            if queue.updates.count == 1 || queue.updates.count == limits.groupUpdates { monitor.wakeAll() }
        }
    }

    package func post(_ update: JournalUpdate, kept: @escaping @Sendable () -> Void) {
        let isClosed = monitor.locked {
            queue.append(update, at: monotonicNanoseconds(), isAwaited: true)
            postedUpdates += 1
            if thread == nil, isClosing { return true }
            waiters.append((update: postedUpdates, kept: kept))
            monitor.wakeAll()
            return false
        }
        if isClosed { kept() }
    }

    /// Runs work on the journal thread, between two groups. It gets nil when the journal is closed before its turn.
    package func perform(_ work: @escaping @Sendable ((any JournalStore)?) -> Void) {
        let isClosed = monitor.locked {
            if isClosing { return true }
            queue.append(work)
            monitor.wakeAll()
            return false
        }
        if isClosed { work(nil) }
    }

    /// Calls back on the journal thread when everything posted before is durable, or with the reason why it cannot be now.
    package func whenKept(_ completion: @escaping @Sendable (JournalError?) -> Void) {
        // Runs after the group that took what was posted before; what that group could not keep is in `retained`.
        perform { [self] store in
            if store == nil {
                completion(JournalError(.closed, "the journal is closed"))
            } else if !core.retained.isEmpty {
                completion(JournalError(.other, "the journal cannot be written now"))
            } else {
                completion(nil)
            }
        }
    }

    /// Changes how long settled rows are kept; nil: for ever.
    package func setRetention(_ retention: Retention?) {
        monitor.locked {
            self.retention = retention
            monitor.wakeAll()
        }
    }

    package var figures: JournalFigures {
        monitor.locked {
            var figures = sums
            figures.queueDepth = queue.writes.count
            return figures
        }
    }

    /// Waits until every update posted so far is durable.
    /// - Returns: false when that took too long.
    package func flush(timeoutMilliseconds: UInt64) -> Bool {
        let deadline = monotonicNanoseconds() + timeoutMilliseconds * 1_000_000
        return monitor.locked {
            let target = postedUpdates
            while keptUpdates < target {
                guard monotonicNanoseconds() < deadline else { return false }
                monitor.wait(until: deadline)
            }
            return true
        }
    }

    /// Takes no further writes, keeps what has arrived, and ends the thread. Waits for it.
    /// - Parameter timeoutMilliseconds: how long updates are tried again on a disk that refuses them.
    /// - Returns: false when updates were left that could not be kept. Their legs are sent again after the next start.
    @discardableResult
    package func close(timeoutMilliseconds: UInt64 = 5_000) -> Bool {
        let ending: Thread? = monitor.locked {
            isClosing = true
            closeDeadline = monotonicNanoseconds() + timeoutMilliseconds * 1_000_000
            monitor.wakeAll()
            defer { thread = nil }
            return thread
        }
        ending?.join()
        store = nil
        // Only a journal that was never started has anything left here.
        let left = monitor.locked { queue.takeAll() }
        for write in left.writes { write.completion(.unavailable("the journal is closed")) }
        for work in left.works { work(nil) }
        let waiting = monitor.locked {
            defer { waiters = [] }
            return waiters
        }
        for waiter in waiting { waiter.kept() }
        return monitor.locked { keptUpdates == postedUpdates }
    }
}

// MARK: On the journal thread

extension JournalWriter {
    private func run() {
        guard let store else { return }
        while let group = nextGroup() {
            if !group.writes.isEmpty || !group.updates.isEmpty || !core.retained.isEmpty { commit(group, to: store) }
            for work in group.works { work(store) }
            pruneWhenDue(store)
        }
    }

    /// Waits for work. nil: closing, and nothing is left that could still be done.
    private func nextGroup() -> WriteQueue.Group? {
        monitor.locked {
            while true {
                let now = monotonicNanoseconds()
                if isClosing, queue.isEmpty, core.retained.isEmpty || now >= closeDeadline { return nil }
                if queue.isUrgent || queue.updates.count >= limits.groupUpdates {
                    let deadline = isClosing ? now : pace.deadline(for: queue, limits)
                    if now >= deadline { return queue.take(limits, at: now, isLast: isClosing) }
                    awaitedWrites = pace.awaitedWrites(limits)
                    monitor.wait(until: deadline)
                    awaitedWrites = 0
                    continue
                }
                var deadline = retention == nil ? UInt64.max : pruneAt
                if !core.retained.isEmpty {
                    deadline = min(deadline, retryAt)
                } else if !queue.updates.isEmpty {
                    deadline =
                        isClosing ? now : min(deadline, queue.updatesSince + limits.updateDelayMilliseconds * 1_000_000)
                }
                if now >= deadline { return queue.take(limits, at: now, isLast: isClosing) }
                if deadline == .max { monitor.wait() } else { monitor.wait(until: deadline) }
            }
        }
    }

    private func commit(_ group: WriteQueue.Group, to store: any JournalStore) {
        let begin = monotonicNanoseconds()
        let outcome = core.commit(group, to: store, now: now())
        let end = monotonicNanoseconds()
        pace.committed(writes: group.writes.count, at: end)
        switch outcome.result {
        case .success(let committed):
            account(group, updates: outcome.updates, nanoseconds: end - begin, failure: nil)
            tellWaiters()
            let admitted = GroupCommit.admitted(group, committed)
            if !admitted.changes.isEmpty { onAdmitted(admitted) }
            for (admission, write) in zip(committed.admissions, group.writes) { write.completion(admission) }
        case .failure(let error):
            retryAt = end + limits.retryMilliseconds * 1_000_000
            // At most every half second: a checkpoint on a disk that stays full is work for nothing.
            if error.kind == .full, end > roomAt {
                roomAt = end + 500_000_000
                store.makeRoom()
            }
            account(group, updates: outcome.updates, nanoseconds: end - begin, failure: error)
            for write in group.writes { write.completion(.unavailable(error.message)) }
        }
    }

    private func account(_ group: WriteQueue.Group, updates: Int, nanoseconds: UInt64, failure: JournalError?) {
        let depth = monitor.locked {
            if failure == nil {
                sums.groups += 1
                sums.submissions += UInt64(group.writes.count)
                sums.updates += UInt64(updates)
                sums.largestGroup = max(sums.largestGroup, group.writes.count)
                sums.commitNanoseconds += nanoseconds
                // All that was posted is either kept now or still in the queue.
                keptUpdates = postedUpdates - UInt64(queue.updates.count)
                monitor.wakeAll()
            } else {
                sums.failedGroups += 1
            }
            sums.retainedUpdates = core.retained.count
            return queue.writes.count
        }
        onGroup(
            GroupReport(
                submissions: group.writes.count, updates: updates, commitNanoseconds: nanoseconds, queueDepth: depth,
                failure: failure))
    }

    private func tellWaiters() {
        let ready = monitor.locked { () -> [(update: UInt64, kept: @Sendable () -> Void)] in
            guard let first = waiters.first, first.update <= keptUpdates else { return [] }
            let count = waiters.prefix { $0.update <= keptUpdates }.count
            defer { waiters.removeFirst(count) }
            return Array(waiters.prefix(count))
        }
        for waiter in ready { waiter.kept() }
    }

    /// One small step of pruning between two groups. A failure is tried again at the next turn: pruning is never urgent.
    private func pruneWhenDue(_ store: any JournalStore) {
        let begin = monotonicNanoseconds()
        guard begin >= pruneAt, let retention = monitor.locked({ self.retention }) else { return }
        let hasMore = (try? store.prune(retention, now: now()).hasMore) ?? false
        pruneAt = monotonicNanoseconds() + (hasMore ? Self.pruneStep : Self.pruneInterval)
    }
}

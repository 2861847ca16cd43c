package import Journal
internal import JournalThreads
package import SyncModel

/// The one thread that writes. A transaction takes every request that waits: what comes while one is committed goes with the next, and waits for one fsync in
/// place of its own. Safe from any thread.
///
/// Limits: `groupChanges` a transaction, `waitingChanges` in the queue; beyond it a request is refused, and may come again.
package final class SyncWriter: @unchecked Sendable {
    /// A transaction begins with at least one request, and takes more until it has so many changes.
    package static let groupChanges = 4_000
    package static let waitingChanges = 40_000

    package typealias Completion = @Sendable (Result<BatchOutcome, JournalError>) -> Void
    private typealias Request = (changes: [SyncChange], completion: Completion)

    /// What it has done so far.
    package struct Figures: Sendable {
        package var groups: Int64 = 0
        package var applied: Int64 = 0
        package var retried: Int64 = 0
        package var refused: Int64 = 0
        package var failedGroups: Int64 = 0
        package var turnedAway: Int64 = 0
        package var waitingChanges = 0
    }

    // The store belongs to the thread; the rest is only touched inside `monitor.locked`.
    private let store: any SyncStoring
    private let now: @Sendable () -> Int64
    private let onGroup: @Sendable (_ changes: Int, _ nanoseconds: UInt64) -> Void
    private let monitor = Monitor()
    private var queue: [Request] = []
    private var waiting = 0
    private var sums = Figures()
    private var isClosing = false
    private var thread: Thread?

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - onGroup: called on the thread after each transaction.
    package init(
        store: sending any SyncStoring, now: @escaping @Sendable () -> Int64 = { wallMilliseconds() },
        onGroup: @escaping @Sendable (_ changes: Int, _ nanoseconds: UInt64) -> Void = { _, _ in }
    ) {
        self.store = store
        self.now = now
        self.onGroup = onGroup
    }

    package func start() {
        monitor.locked { thread = Thread(name: "sync-writer") { [self] in run() } }
    }

    /// Queues a request; it is answered exactly once, on the writer's thread or at once when it is turned away.
    package func submit(_ changes: [SyncChange], completion: @escaping Completion) {
        let refusal: JournalError? = monitor.locked {
            if isClosing { return JournalError(.closed, "the service ends") }
            guard waiting == 0 || waiting + changes.count <= Self.waitingChanges else {
                sums.turnedAway += 1
                return JournalError(.busy, "too many changes wait for the disk")
            }
            waiting += changes.count
            queue.append((changes, completion))
            monitor.wakeAll()
            return nil
        }
        if let refusal { completion(.failure(refusal)) }
    }

    package var figures: Figures {
        monitor.locked {
            var figures = sums
            figures.waitingChanges = waiting
            return figures
        }
    }

    /// Keeps what has arrived and ends the thread. Waits for it.
    package func close() {
        let ending: Thread? = monitor.locked {
            isClosing = true
            monitor.wakeAll()
            defer { thread = nil }
            return thread
        }
        ending?.join()
    }

    private func run() {
        while let group = next() { keep(group) }
    }

    /// nil: closing, and nothing is left.
    private func next() -> [Request]? {
        monitor.locked {
            while queue.isEmpty {
                if isClosing { return nil }
                monitor.wait()
            }
            var count = 0
            var changes = 0
            while count < queue.count, count == 0 || changes + queue[count].changes.count <= Self.groupChanges {
                changes += queue[count].changes.count
                count += 1
            }
            defer {
                queue.removeFirst(count)
                waiting -= changes
            }
            return Array(queue.prefix(count))
        }
    }

    private func keep(_ group: [Request]) {
        let begin = monotonicNanoseconds()
        do throws(JournalError) {
            let outcomes = try store.apply(group.map(\.changes), now: now())
            onGroup(group.reduce(0) { $0 + $1.changes.count }, monotonicNanoseconds() - begin)
            account(outcomes)
            for (request, outcome) in zip(group, outcomes) { request.completion(.success(outcome)) }
        } catch {
            monitor.locked { sums.failedGroups += 1 }
            // What one request has done to a group is not the others' fault: each alone.
            if group.count > 1, error.kind == .other { return group.forEach { keep([$0]) } }
            for request in group { request.completion(.failure(error)) }
        }
    }

    private func account(_ outcomes: [BatchOutcome]) {
        monitor.locked {
            sums.groups += 1
            for outcome in outcomes {
                if outcome.isRefused {
                    sums.refused += 1
                    continue
                }
                let applied = outcome.verdicts.count { $0 == .applied }
                sums.applied += Int64(applied)
                sums.retried += Int64(outcome.verdicts.count - applied)
            }
        }
    }
}

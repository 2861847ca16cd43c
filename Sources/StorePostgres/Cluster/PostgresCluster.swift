package import Journal
internal import JournalThreads

/// The gateways that share a PostgreSQL store, as one of them sees the others. Safe from any thread.
///
/// Two threads with a connection each. `cluster-lease` renews the lease and hears notifications: its statements are short, so
/// that nothing keeps it from renewing. `cluster-work` does all that may take longer. What both share is touched inside
/// `monitor.locked` only; events are told inside `telling.locked`, so that they come one at a time and nothing is told in the
/// name of a lease that was lost meanwhile. `telling` may hold `monitor`, never the other way round.
package final class PostgresCluster: JournalCluster, @unchecked Sendable {
    struct Shared {
        var lease = ClusterLease()
        var agenda = ClusterAgenda()
        var figures = ClusterState(members: 1, isConnected: false)
        var events: ClusterEvents?
        var isLeaving = false
        /// Whether a glance, since the lease was last gained, has shown nobody else.
        var isAlone = false
    }

    let name: String
    let membership: Membership
    /// Called at the beginning of every turn of both threads.
    let onTurn: @Sendable () -> Void
    let monitor = Monitor()
    let telling = Monitor()
    let wake: WakeUp

    // Inside `monitor.locked`.
    var shared = Shared()
    private var threads: [Thread] = []

    // The lease thread's own; `start` and `leave` use them while it does not run.
    let leaseConnection: PostgresConnection
    var leaseTurn = LeaseTurn()
    // The working thread's own.
    let workConnection: PostgresConnection

    /// How long a round trip of the lease's connection may take, in milliseconds. Below the time that a lease lasts without.
    static let leaseTimeoutMilliseconds: UInt64 = 2_000
    /// How long taking a page over may take in the store, in milliseconds.
    static let takeOverTimeoutMilliseconds: UInt64 = 10_000
    /// How long `start` waits for everything that it has to know.
    static let startNanoseconds: UInt64 = 90_000_000_000

    /// Does not connect yet. The schema must be ready (`PostgresSchema.prepare`).
    /// - Parameters:
    ///   - name: tells this gateway's data directory from all others, over restarts.
    ///   - membership: gets the gateway's id; the journal's store goes by it.
    ///   - onTurn: called at the beginning of every turn of both threads. A test that blocks in it has a stopped process.
    /// - Throws: `other` when there are no descriptors left.
    package init(
        _ address: PostgresAddress, name: String, membership: Membership, onTurn: @escaping @Sendable () -> Void = {}
    ) throws(JournalError) {
        self.name = name
        self.membership = membership
        self.onTurn = onTurn
        wake = try WakeUp()
        leaseConnection = PostgresConnection(
            address, setup: PostgresSchema.Channel.allCases.map { "LISTEN \($0.rawValue);" }.joined())
        // What has been seen and announced is worth nothing after a crash of the store, and clients wait for it.
        workConnection = PostgresConnection(address, setup: "SET synchronous_commit TO off;")
    }

    package func start(_ events: ClusterEvents) throws(JournalError) {
        monitor.locked { shared.events = events }
        try join(endsNamesakes: true)
        monitor.locked {
            threads = [
                Thread(name: "cluster-lease") { [self] in runLease() },
                Thread(name: "cluster-work") { [self] in runWork() },
            ]
        }
        let deadline = monotonicNanoseconds() + Self.startNanoseconds
        let isReady: Bool = monitor.locked {
            while !shared.lease.isHeld(at: monotonicNanoseconds()) {
                guard monotonicNanoseconds() < deadline else { return false }
                monitor.wait(until: deadline)
            }
            return true
        }
        // The lease is held a moment before it is told of: whoever starts has heard of it.
        telling.locked {}
        guard isReady else {
            leave()
            throw leaseConnection.failure(
                .unreachable,
                "did not tell within \(Self.startNanoseconds / 1_000_000_000) s what a gateway must know to start")
        }
    }

    package func watch(_ sequences: [Sequence64]) {
        guard !sequences.isEmpty else { return }
        monitor.locked {
            shared.agenda.watch.add(sequences, now: monotonicNanoseconds())
            monitor.wakeAll()
        }
    }

    package func announce(completion: @escaping @Sendable (Bool) -> Void) {
        let answer: Bool? = monitor.locked {
            let now = monotonicNanoseconds()
            guard !shared.isLeaving else { return false }
            shared.figures.announcements += 1
            // Whoever joins makes itself known first, and looks only then: while the last glance shows nobody else and the
            // lease holds, nobody else serves.
            if shared.isAlone, shared.lease.isHeld(at: now) { return true }
            guard shared.agenda.announcements.add(now: now, completion) else {
                shared.figures.lateAnnouncements += 1
                return false
            }
            monitor.wakeAll()
            return nil
        }
        if let answer { completion(answer) }
    }

    package func acknowledge(_ version: Int64) {
        monitor.locked {
            shared.agenda.acknowledged = version
            monitor.wakeAll()
        }
    }

    package func tell(_ failing: FailingGates) {
        monitor.locked {
            guard shared.agenda.failing != failing.gates || shared.agenda.label != failing.gateway else { return }
            shared.agenda.failing = failing.gates
            shared.agenda.label = failing.gateway
            monitor.wakeAll()
        }
    }

    package func isAcknowledged(_ version: Int64, timeoutMilliseconds: Int64) async -> Bool {
        let deadline = monotonicNanoseconds() + UInt64(max(0, timeoutMilliseconds)) * 1_000_000
        return await withCheckedContinuation { continuation in
            let isAsked = monitor.locked {
                guard !shared.isLeaving, shared.agenda.questions.count < ClusterAgenda.questionLimit else {
                    return false
                }
                shared.agenda.questions.append(
                    .init(version: version, deadline: deadline) { continuation.resume(returning: $0) })
                shared.agenda.checkAt = 0
                monitor.wakeAll()
                return true
            }
            if !isAsked { continuation.resume(returning: false) }
        }
    }

    package func refreshForeign() async -> Bool {
        await withCheckedContinuation { continuation in
            let isAsked = monitor.locked {
                guard !shared.isLeaving, shared.agenda.askers.count < ClusterAgenda.askerLimit else { return false }
                shared.agenda.askers.append { continuation.resume(returning: $0) }
                monitor.wakeAll()
                return true
            }
            if !isAsked { continuation.resume(returning: false) }
        }
    }

    package var state: ClusterState {
        monitor.locked {
            var figures = shared.figures
            figures.watched = shared.agenda.watch.count
            return figures
        }
    }

    package func leave() {
        let ending: [Thread] = monitor.locked {
            shared.isLeaving = true
            monitor.wakeAll()
            defer { threads = [] }
            return threads
        }
        wake.signal()
        for thread in ending { thread.join() }
        let (id, waiting): (Int64?, [@Sendable (Bool) -> Void]) = monitor.locked {
            let waiting = shared.agenda.passed(.max) + shared.agenda.askers
            shared.agenda.askers = []
            // Whoever listens may hold on to this object.
            shared.events = nil
            return (shared.lease.leave(), waiting)
        }
        membership.leave()
        for answer in waiting { answer(false) }
        // Should it fail, the others see the lease run out.
        if let id { _ = try? leaseConnection.query(ClusterQueries.leave, PostgresParameters().int64(id)) }
        leaseConnection.close()
        workConnection.close()
    }
}

import CLinux
package import Configuration
package import Journal
package import Rollout
import Synchronization
package import Telemetry

/// The data plane as the control plane sees it: loops, workers and what they share. Safe from any thread.
package final class DataPlane: Sendable {
    package let shared: SharedState
    /// Counters of each loop, in the order of the loops.
    package let metrics: [LoopMetrics]
    let loops: [EventLoop]
    let workers: [Worker]
    /// Certificates and keys in force.
    package let tls: TLSStanding
    private let backends: Mutex<(legacy: SharedBackend, new: SharedBackend)>
    private let listening = Mutex<[UInt16]>([])
    private let stopped = Atomic<Bool>(false)
    /// The loops run: what is published is waited for.
    private let isRunning = Atomic<Bool>(false)
    /// The loops' threads have come to their end.
    private let ended: CountDown

    /// Makes loops and workers; nothing runs and nothing is bound yet.
    /// - Parameters:
    ///   - workers: number of event loops, one thread each.
    ///   - window: how many second legs of a side are kept in memory.
    ///   - tls: certificates and keys of listeners and backends.
    package init(
        snapshot: Snapshot, journal: any WriteJournal, workers count: Int, window: WindowLimits = WindowLimits(),
        tls: TLSStanding = TLSStanding(TLSMaterial())
    ) {
        let shared = SharedState(settings: snapshot.settings, journal: journal, window: window, tls: tls.current)
        self.tls = tls
        let loops = (0..<count).map { _ in EventLoop() }
        let metrics = (0..<count).map { _ in LoopMetrics() }
        self.shared = shared
        self.loops = loops
        ended = CountDown(count)
        self.metrics = metrics
        backends = Mutex((legacy: shared.legacy, new: shared.new))
        workers = zip(loops, metrics).map {
            Worker(loop: $0, snapshot: snapshot, shared: shared, metrics: $1, workers: count)
        }
    }

    // MARK: Life

    /// Listens on the addresses on every loop and starts the threads. Blocks for name resolution.
    /// - Parameter sockets: owns what is listened on; closing them there as well is what lets clients be refused.
    /// - Throws: an address that cannot be bound, with the reason.
    package func start(
        listeners: [ListenerSettings], from sockets: ListeningSockets = ListeningSockets()
    ) throws(ListenError) -> [UInt16] {
        clinux_return_large_blocks()
        let (legacy, new) = backends.withLock { ($0.legacy, $0.new) }
        legacy.endpoint.refresh()
        new.endpoint.refresh()
        var ports: [UInt16] = []
        for (index, listener) in listeners.enumerated() {
            let bound = try sockets.listen(on: listener.address, as: .client, loops: workers.count)
            ports.append(bound.port)
            let port = ClientPort(
                tls: tls.ports.indices.contains(index) ? tls.ports[index] : nil, http2: listener.http2, index: index)
            for (worker, descriptors) in zip(workers, bound.loops) {
                worker.loop.execute {
                    for descriptor in descriptors {
                        worker.listen(descriptor, at: port, takesTurns: bound.isShared)
                    }
                }
            }
        }
        isRunning.store(true, ordering: .sequentiallyConsistent)
        for loop in loops {
            startThread(name: "loop") { [ended] in
                loop.run()
                ended.one()
            }
        }
        startThread(name: "resolver") { [self] in refreshNames() }
        startRefill()
        return ports
    }

    /// Names may move while the gateway runs: they are looked up every half minute, off the loops.
    private func refreshNames() {
        while !stopped.load(ordering: .relaxed) {
            for _ in 0..<60 {
                usleep(500_000)
                if stopped.load(ordering: .relaxed) { return }
            }
            let (legacy, new) = backends.withLock { ($0.legacy, $0.new) }
            legacy.endpoint.refresh()
            new.endpoint.refresh()
        }
    }

    /// Stops accepting, lets requests under way finish, at most for `milliseconds`, and returns. Blocks.
    /// - Returns: whether every client was done in time, and how many requests were cut off.
    package func drain(milliseconds: Int64) -> (isDrained: Bool, cutOff: Int) {
        stopped.store(true, ordering: .relaxed)
        let left = CountDown(workers.count)
        for worker in workers { worker.loop.execute { worker.drain { left.one() } } }
        let isDrained = left.wait(milliseconds: milliseconds)
        let cut = Total()
        let flushed = CountDown(workers.count)
        for worker in workers {
            worker.loop.execute {
                cut.value.add(worker.cutOff(), ordering: .relaxed)
                worker.accessLog.flush()
                flushed.one()
            }
        }
        _ = flushed.wait(milliseconds: 2000)
        // Nobody may post to the journal while it closes.
        for loop in loops { loop.stop() }
        _ = ended.wait(milliseconds: 2000)
        return (isDrained, cut.value.load(ordering: .relaxed))
    }

    /// Calls back from a loop's thread, in one of its next turns.
    package func ask(loop index: Int, _ answered: @escaping @Sendable () -> Void) { loops[index].execute(answered) }

    // MARK: Changes

    /// Puts a snapshot in force on every loop and returns when all have it. Blocks for microseconds to a few
    /// milliseconds, at most a second (a loop that does not answer within that is logged).
    package func publish(_ snapshot: Snapshot) {
        let left = CountDown(workers.count)
        for worker in workers {
            worker.loop.execute {
                worker.adopt(snapshot)
                left.one()
            }
        }
        guard isRunning.load(ordering: .sequentiallyConsistent) else { return }
        if !left.wait(milliseconds: 1000) { logLine("a loop has not taken over a change within 1 s") }
    }

    /// Publishes a reloaded configuration, with new pools where a backend, its certificates or the breaker changed.
    package func reload(_ snapshot: Snapshot, from old: Settings) {
        let settings = snapshot.settings
        let breakerChanged = settings.fallback.breaker != old.fallback.breaker
        let material = tls.current
        let tlsChanged = backends.withLock { ($0.legacy.tls !== material.legacy, $0.new.tls !== material.new) }
        let legacy =
            settings.legacy != old.legacy || breakerChanged || tlsChanged.0
            ? SharedBackend(settings.legacy, breaker: settings.fallback.breaker, tls: material.legacy) : nil
        let new =
            settings.new != old.new || breakerChanged || tlsChanged.1
            ? SharedBackend(settings.new, breaker: settings.fallback.breaker, tls: material.new) : nil
        legacy?.endpoint.refresh()
        new?.endpoint.refresh()
        backends.withLock { current in
            if let legacy { current.legacy = legacy }
            if let new { current.new = new }
        }
        publish(snapshot)
        for worker in workers { worker.loop.execute { worker.replacePools(legacy: legacy, new: new) } }
    }

    // MARK: Facts

    /// Whether the breaker of a backend is closed.
    package func isHealthy(_ side: Side) -> Bool {
        backends.withLock { side == .legacy ? !$0.legacy.breaker.isOpen : !$0.new.breaker.isOpen }
    }

    /// Who would serve this user now, and why. Never takes a half-open breaker's probe.
    package func explain(_ user: String, in snapshot: Snapshot) -> UserDecision {
        var user = user
        let breaker = backends.withLock { $0.new.breaker }
        return user.withUTF8 { bytes in
            guard let base = bytes.baseAddress, !Bucketing.isAnonymous(base, bytes.count) else {
                return UserDecision(
                    decision: Decision(side: .legacy, reason: .anonymous), isOfNewUser: false, position: nil)
            }
            return snapshot.decide(
                UserID(base: base, count: bytes.count), coordinator: shared.coordinator, breaker: breaker,
                now: clinux_monotonic_nanoseconds() / 1_000_000, mayProbe: false)
        }
    }

    // MARK: Legs

    /// Takes over a change that an earlier process accepted and did not answer: its authoritative leg is sent as a repeat, and its
    /// answer decides. Before the listeners start, in the order of acceptance, after everything left over has been counted.
    package func recover(_ change: OutstandingChange) {
        if let decided = decided(change) { return shared.coordinator.count(left: decided) }
        shared.coordinator.enter(left: change)
        let worker = worker(of: change.sequence)
        worker.loop.execute {
            worker.deliveries.start(
                Delivery(
                    sequence: change.sequence, user: change.user, side: change.side,
                    acceptedMilliseconds: change.acceptedMilliseconds, status: change.legs[change.side], message: nil,
                    otherStatus: change.legs[change.side.other], isAuthoritative: true, answeredStatus: nil))
        }
    }

    /// Takes over changes of a gateway that is gone, in the order of acceptance, while this one runs.
    /// - Parameters:
    ///   - takeover: its number; each has a higher one than those told before.
    ///   - foreign: changes of yet other gateways that come before some of them.
    package func takeOver(_ changes: [OutstandingChange], takeover: Int64, behind foreign: [OutstandingChange]) {
        let changes = changes.map { $0.answeredStatus == nil ? decided($0) ?? $0 : $0 }
        for (side, change) in shared.coordinator.count(takenOver: changes, takeover: takeover, behind: foreign) {
            let worker = worker(of: change.sequence)
            worker.loop.execute { worker.deliveries.start(Delivery(change, side)) }
        }
        for change in changes where change.answeredStatus == nil { recover(change) }
        shared.coordinator.refill()
    }

    /// A change one leg of which is settled, only its answer did not become durable: the backend took the write while its answer
    /// was still on its way, or (after a fallback) a delivery brought it there. The client may have been told "done", so the
    /// other leg is sent like any other.
    /// - Returns: the change as an answered one; nil when its authoritative leg has to decide.
    private func decided(_ change: OutstandingChange) -> OutstandingChange? {
        let isDecided = { (side: Side) in
            switch change.legs[side].state {
            case .applied, .superseded, .parked: true
            case .pending, .refused, .skipped, .awaitingCopy: false
            }
        }
        guard let taker = Side.allCases.first(where: isDecided) else { return nil }
        let answer = StoredAnswer(
            status: change.legs[taker].lastStatus ?? 200, headerLines: [], body: [], servedBy: taker,
            isBodyOmitted: true)
        shared.coordinator.journal.post(
            .answered(change.sequence, servedBy: taker, legs: change.legs, answer: answer, revisionAccepted: true))
        var change = change
        change.answeredStatus = answer.status
        return change
    }

    private func worker(of sequence: Sequence64) -> Worker { workers[Int(sequence % Int64(workers.count))] }

    /// Begins to bring deferred legs back from the journal, and sends them on their way.
    func startRefill() {
        let (workers, loop) = (workers, loops[0])
        WindowRefill(
            coordinator: shared.coordinator,
            deliver: { changes, side in
                for (index, worker) in workers.enumerated() {
                    let own = changes.filter { Int($0.sequence % Int64(workers.count)) == index }
                    guard !own.isEmpty else { continue }
                    worker.loop.execute { for change in own { worker.deliveries.start(Delivery(change, side)) } }
                }
            },
            later: { action in
                loop.execute { loop.schedule(after: WindowRefill.pauseMilliseconds, action) }
            }
        ).start()
    }

    /// Sends a parked leg again: it goes to the tail of its lanes, and counts as outstanding until it holds.
    package func replay(_ change: StoredChange, _ side: Side) {
        // Two replays at once: the leg is on its way already.
        guard !shared.coordinator.isOutstanding(change.sequence, side) else { return }
        var legs = change.legs
        legs[side] = LegStatus(.pending, attempts: legs[side].attempts)
        shared.coordinator.journal.post(.leg(change.sequence, side, legs[side]))
        let records = change.submission.records.map(\.record)
        let (coordinator, sequence, user) = (shared.coordinator, change.sequence, change.submission.user)
        coordinator.enter(sequence, user: user, records: records, sides: SideSet(side))
        coordinator.addOutstanding(sequence, user: user, side, acceptedMilliseconds: change.acceptedMilliseconds)
        let outstanding = OutstandingChange(
            sequence: sequence, acceptedMilliseconds: change.acceptedMilliseconds, user: user, records: records,
            side: change.submission.side, legs: legs, answeredStatus: change.answeredStatus ?? 200)
        let worker = worker(of: sequence)
        worker.loop.execute { worker.deliveries.start(Delivery(outstanding, side)) }
    }

    /// Sends legacy a change that it lacks because it was not written: at the tail of its lanes, unless the change holds its
    /// place there already (`LegacyGate.admit`).
    package func putBack(_ change: StoredChange) {
        let submission = change.submission
        let records = submission.records.map(\.record)
        var legs = change.legs
        legs.legacy = LegStatus(.pending, attempts: legs.legacy.attempts)
        shared.coordinator.journal.post(.leg(change.sequence, .legacy, legs.legacy))
        let (coordinator, sequence, user) = (shared.coordinator, change.sequence, submission.user)
        coordinator.enter(sequence, user: user, records: records, sides: .legacy)
        coordinator.addOutstanding(sequence, user: user, .legacy, acceptedMilliseconds: change.acceptedMilliseconds)
        let outstanding = OutstandingChange(
            sequence: sequence, acceptedMilliseconds: change.acceptedMilliseconds, user: user, records: records,
            side: submission.side, legs: legs, answeredStatus: change.answeredStatus ?? 200)
        let worker = worker(of: sequence)
        worker.loop.execute { worker.deliveries.start(Delivery(outstanding, .legacy)) }
    }
}

/// A sum that several loops add to.
private final class Total: Sendable {
    let value = Atomic<Int>(0)
}

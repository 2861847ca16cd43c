import CLinux
import Configuration
import HTTPWire
import Journal
import Rollout
import Telemetry

/// Brings outstanding legs to their backends: in the order of their lanes, with back-off, for as long as it takes.
/// Confined to its loop.
///
/// Limits: 64 legs at a time a backend, the others wait in line, at most as many as the window holds (`WindowLimits`); 32 MiB of requests kept in memory, the others are read from the journal again.
final class DeliveryDesk: @unchecked Sendable {
    private static let concurrency = 64
    private static let retainedBytesMax = 32 << 20
    /// How long legs wait before they look at a lost lease again, in milliseconds.
    private static let leasePause: UInt64 = 50
    /// So many bytes of requests in memory make a backlog, and so long none has been there when the heap is trimmed.
    private static let worthTrimming = 4 << 20
    private static let trimDelayMilliseconds: Int64 = 10_000

    private unowned(unsafe) let worker: Worker
    private var retained = 0
    /// The most since the last look at it.
    private var retainedMost = 0
    private var isTrimDue = false
    private var isStopping = false
    private let lines = [Line(), Line()]

    /// Legs to one backend: how many are under way, and who waits for room or for the breaker, in order.
    private final class Line: @unchecked Sendable {
        var active = 0
        /// A timer will ask the breaker again.
        var isAsking = false
        /// Somebody is sending what waits.
        var isAdvancing = false
        private var waiting: [Delivery] = []
        private var front = 0

        var isEmpty: Bool { front >= waiting.count }

        func append(_ delivery: Delivery) { waiting.append(delivery) }

        func next() -> Delivery? {
            guard front < waiting.count else {
                waiting.removeAll(keepingCapacity: waiting.capacity <= 1024)
                front = 0
                return nil
            }
            front += 1
            if front > 1024, front * 2 > waiting.count {
                waiting.removeFirst(front - 1)
                front = 1
            }
            return waiting[front - 1]
        }
    }

    init(worker: Worker) { self.worker = worker }

    private var loop: EventLoop { worker.loop }
    private var coordinator: WriteCoordinator { worker.coordinator }
    private var settings: WriteSettings { worker.snapshot.settings.writes }

    /// Takes a leg on: it is sent when it is the first of its lanes and due.
    func start(_ delivery: Delivery) {
        if let message = delivery.message {
            if retained + message.byteCount > DeliveryDesk.retainedBytesMax {
                delivery.message = nil
            } else {
                retained += message.byteCount
                retainedMost = max(retainedMost, retained)
            }
        }
        waitForTurn(delivery)
    }

    private func waitForTurn(_ delivery: Delivery) {
        // The delivery stays on this loop; the lock of the coordinator only carries the wish to be called.
        let loop = loop
        let isFirst = coordinator.whenFirst(delivery.sequence, delivery.side) { [unowned self] in
            loop.execute { self.due(delivery) }
        }
        if isFirst { due(delivery) }
    }

    /// The leg is first in its lanes: it goes when its time has come and there is room.
    private func due(_ delivery: Delivery) {
        let wait = delivery.status.nextAttemptMilliseconds.map { $0 - clinux_wall_milliseconds() } ?? 0
        // A stepped clock must not make anybody wait for hours.
        if wait > 0 { return later(delivery, min(wait, settings.retryMaxMilliseconds)) }
        admit(delivery)
    }

    private func later(_ delivery: Delivery, _ milliseconds: Int64) {
        loop.schedule(after: milliseconds) { [unowned self] in self.admit(delivery) }
    }

    /// A backlog is settled: what its requests took lies in pieces between what lives on, and the allocator would keep it. It is
    /// asked to give it back when nothing like it has come for a while; in between the pieces are what the next requests take.
    private func trimWhenQuiet() {
        isTrimDue = true
        retainedMost = retained
        loop.schedule(after: DeliveryDesk.trimDelayMilliseconds) { [unowned self] in
            guard retainedMost < DeliveryDesk.worthTrimming else { return trimWhenQuiet() }
            isTrimDue = false
            clinux_trim_heap()
        }
    }

    /// Starts nothing any more: what is outstanding is sent after the next start.
    func stop() { isStopping = true }

    /// Legs under way.
    var activeCount: Int { lines[0].active + lines[1].active }

    /// The leg is first in its lanes and due: it goes as soon as there is room and the backend is thought to be there.
    private func admit(_ delivery: Delivery) {
        lines[Int(delivery.side.rawValue)].append(delivery)
        advance(delivery.side)
    }

    /// Sends what waits for a backend, in order.
    ///
    /// The line waits as a whole: while the breaker is open one leg is the probe, and one timer asks again for all the others.
    private func advance(_ side: Side) {
        let line = lines[Int(side.rawValue)]
        // An attempt that fails at once ends while this loop still runs: it goes on by itself.
        guard !line.isAdvancing else { return }
        line.isAdvancing = true
        defer { line.isAdvancing = false }
        let breaker = worker.pool(side).breaker
        while !isStopping, line.active < DeliveryDesk.concurrency, !line.isEmpty {
            // Without a lease another gateway may be sending these: nothing goes until it is renewed.
            guard coordinator.standing.mayDeliver else { return askAgain(side, loop.now + DeliveryDesk.leasePause) }
            guard breaker.admits(now: loop.now) else { return askAgain(side, breaker.nextProbe) }
            guard let delivery = line.next() else { return }
            // What another gateway accepted earlier may have come into the lane since, while this leg waited to be tried again.
            guard !coordinator.standing.isShared || coordinator.isFirst(delivery.sequence, delivery.side) else {
                waitForTurn(delivery)
                continue
            }
            line.active += 1
            Task.immediate(executorPreference: loop) {
                await self.attempt(delivery)
                line.active -= 1
                if self.isStopping { self.worker.reportDrained() }
                self.advance(side)
            }
        }
    }

    private func askAgain(_ side: Side, _ nextProbe: UInt64) {
        let line = lines[Int(side.rawValue)]
        guard !line.isAsking else { return }
        line.isAsking = true
        // Not all loops at once: the first one's probe may close the breaker for the others.
        let wait = Int64(max(nextProbe, loop.now) - loop.now) + Int64(loop.random.next() % 200)
        loop.schedule(after: max(20, wait)) { [unowned self] in
            line.isAsking = false
            self.advance(side)
        }
    }

    // MARK: One attempt

    private func attempt(_ delivery: Delivery) async {
        guard let message = await message(of: delivery) else { return }
        // Reading the request back may have taken long.
        guard coordinator.standing.mayDeliver else { return admit(delivery) }
        let pool = worker.pool(delivery.side)
        let started = clinux_monotonic_nanoseconds()
        var outcome: LegOutcome
        // A full pool is our own limit and says nothing about the backend.
        var wasAsked = true
        let keepsConditionals = delivery.isAuthoritative || worker.keepsConditionals(message.submission)
        do throws(UpstreamFailure) {
            let span = beginSpan(message, delivery)
            let upstream = try await pool.send(message, conditionals: keepsConditionals, span: span)
            outcome = .answered(status: upstream.head.status)
            endSpan(delivery, since: started, status: upstream.head.status, failure: nil)
            if delivery.isAuthoritative {
                delivery.answer = StoredAnswer(of: upstream, servedBy: pool.side, loop: loop)
            }
            let body = delivery.isAuthoritative ? AnswerCapture(pool: loop.blocks) : nil
            body?.reset(limit: StoredAnswer.bodyLimitBytes)
            if await !pool.drain(upstream, into: body) { outcome = .broken }
            if let body { delivery.answer?.take(body) }
        } catch {
            outcome = LegOutcome(error)
            endSpan(delivery, since: started, status: 0, failure: error)
            wasAsked = error != .exhausted
        }
        let isFailure =
            switch outcome {
            case .answered(let status): status >= 500
            case .connectFailed, .timedOut, .broken: true
            }
        if wasAsked { pool.record(failed: isFailure) }
        delivery.status.attempts += 1
        if case .answered(let status) = outcome {
            delivery.status.lastStatus = status
        } else {
            delivery.status.lastStatus = nil
        }
        let nanoseconds = clinux_monotonic_nanoseconds() &- started
        if delivery.isAuthoritative {
            settleAuthoritative(delivery, message, outcome, nanoseconds)
        } else {
            settle(delivery, message, outcome, nanoseconds)
        }
        delivery.afterFirstAttempt?()
        delivery.afterFirstAttempt = nil
    }

    /// Begins the span of this try, where the write belongs to a trace whose spans are exported.
    /// - Returns: its id; 0 where there is none.
    private func beginSpan(_ message: LegMessage, _ delivery: Delivery) -> UInt64 {
        guard worker.snapshot.tracing.exports, let trace = message.trace, trace.isSampled else { return 0 }
        let id = loop.random.span()
        delivery.span = Span(
            kind: .client, trace: trace, id: id, parent: trace.parent, method: Method(name: message.submission.method),
            route: nil, role: delivery.isAuthoritative ? "authoritative" : "secondary", side: delivery.side,
            reason: nil, start: clinux_wall_milliseconds() * 1_000_000, end: 0)
        return id
    }

    private func endSpan(_ delivery: Delivery, since started: UInt64, status: Int, failure: UpstreamFailure?) {
        guard var span = delivery.span else { return }
        delivery.span = nil
        span.end = span.start + Int64(clinux_monotonic_nanoseconds() &- started)
        worker.legEnded(span, status: status, failure: failure)
    }

    private func message(of delivery: Delivery) async -> LegMessage? {
        if let message = delivery.message { return message }
        let sequence = delivery.sequence
        let loaded = await withUnsafeContinuation { continuation in
            coordinator.journal.load(sequence) { continuation.resume(returning: $0) }
        }
        switch loaded {
        case .success(let change?): return LegMessage(submission: change.submission)
        case .success(nil):
            // Pruned rows have no outstanding legs, so this cannot be; still, nobody may wait for ever.
            logLine("journal row \(sequence) is gone: its leg to \(delivery.side.name) is dropped from the lane")
            conclude(delivery, .parked)
            return nil
        case .failure:
            later(delivery, settings.retryMinMilliseconds)
            return nil
        }
    }

    // MARK: What it came to

    private func settle(_ delivery: Delivery, _ message: LegMessage, _ outcome: LegOutcome, _ nanoseconds: UInt64) {
        let verdict = judgeSecondary(
            outcome, isDelete: message.isDelete, hasRevision: message.submission.hasRevision,
            refusals: delivery.status.refusals, answeredStatus: delivery.answeredStatus)
        let backend = delivery.side.backend
        switch verdict {
        case .applied:
            worker.metrics.write(backend, leg: .secondary, result: .ok, nanoseconds: nanoseconds)
            conclude(delivery, .applied)
        case .superseded:
            worker.metrics.write(backend, leg: .secondary, result: .refused, nanoseconds: nanoseconds)
            worker.metrics.conflict(backend == .legacy ? .legacy : .new)
            if !delivery.isConflicted { worker.metrics.conflictedWrite() }
            conclude(delivery, .superseded)
        case .parked:
            worker.metrics.write(backend, leg: .secondary, result: .refused, nanoseconds: nanoseconds)
            worker.metrics.legParked(backend)
            conclude(delivery, .parked)
        case .retryRefused:
            worker.metrics.write(backend, leg: .secondary, result: .refused, nanoseconds: nanoseconds)
            delivery.status.refusals += 1
            retry(delivery)
        case .retry:
            worker.metrics.write(backend, leg: .secondary, result: .error, nanoseconds: nanoseconds)
            retry(delivery)
        }
    }

    private func retry(_ delivery: Delivery) {
        worker.metrics.legRetry(delivery.side.backend)
        forget(delivery)
        let wait = retryDelay(
            attempt: delivery.status.attempts, minimum: settings.retryMinMilliseconds,
            maximum: settings.retryMaxMilliseconds, random: loop.random.next())
        delivery.status.nextAttemptMilliseconds = clinux_wall_milliseconds() + wait
        coordinator.journal.post(.leg(delivery.sequence, delivery.side, delivery.status))
        later(delivery, wait)
    }

    private func conclude(_ delivery: Delivery, _ state: LegState) {
        forget(delivery)
        delivery.status.state = state
        delivery.status.nextAttemptMilliseconds = nil
        let (coordinator, user, sequence, side) = (coordinator, delivery.user, delivery.sequence, delivery.side)
        let update = JournalUpdate.leg(sequence, side, delivery.status)
        if isRemembered(delivery.status) {
            coordinator.journal.post(update)
            coordinator.settled(sequence, user: user, side)
        } else {
            coordinator.journal.post(update) { coordinator.settled(sequence, user: user, side) }
        }
    }

    /// Whether the backend knows a repeat for one: what it took, and nothing else. Any other leg that is settled would have an
    /// effect of its own when a crash has it sent again, after later ones of its lane: those wait until that is durable.
    private func isRemembered(_ status: LegStatus) -> Bool {
        status.lastStatus.map { (200...299).contains($0) } ?? false
    }

    private func forget(_ delivery: Delivery) {
        if let message = delivery.message {
            retained -= message.byteCount
            if !isTrimDue, retainedMost >= DeliveryDesk.worthTrimming { trimWhenQuiet() }
        }
        delivery.message = nil
    }

    /// A write that was under way when the gateway died: the backend that was to decide decides now.
    private func settleAuthoritative(
        _ delivery: Delivery, _ message: LegMessage, _ outcome: LegOutcome, _ nanoseconds: UInt64
    ) {
        let backend = delivery.side.backend
        let other = delivery.side.other
        let verdict = judgeRepeated(
            outcome, method: message.submission.method, hasRevision: message.submission.hasRevision)
        switch verdict {
        case .accepted:
            worker.metrics.write(backend, leg: .authoritative, result: .ok, nanoseconds: nanoseconds)
            delivery.status.state = .applied
            delivery.status.nextAttemptMilliseconds = nil
            let status = delivery.status.lastStatus ?? 200
            var needsDelivery =
                delivery.otherStatus.state.isOutstanding
                && coordinator.conclude(
                    delivery.sequence, user: delivery.user, other,
                    acceptedMilliseconds: delivery.acceptedMilliseconds, status: status)
            if answered(delivery, status) { needsDelivery = true }
            guard needsDelivery else { return }
            start(
                Delivery(
                    sequence: delivery.sequence, user: delivery.user, side: other,
                    acceptedMilliseconds: delivery.acceptedMilliseconds, status: delivery.otherStatus, message: nil,
                    answeredStatus: delivery.status.lastStatus))
        case .turnedAway where [408, 425, 429].contains(delivery.status.lastStatus):
            worker.metrics.write(backend, leg: .authoritative, result: .refused, nanoseconds: nanoseconds)
            retry(delivery)
        case .refused, .turnedAway:
            worker.metrics.write(backend, leg: .authoritative, result: .refused, nanoseconds: nanoseconds)
            delivery.status.state = .refused
            // The client may have been told "done" before the gateway died: nobody but an operator can tell.
            let otherStatus = LegStatus(delivery.otherStatus.state.isOutstanding ? .parked : delivery.otherStatus.state)
            if otherStatus.state == .parked { worker.metrics.legParked(other.backend) }
            let (coordinator, user, sequence) = (coordinator, delivery.user, delivery.sequence)
            coordinator.post(
                refused: update(delivery, delivery.status.lastStatus ?? 400, other: otherStatus, accepted: false)
            ) {
                for side in Side.allCases { coordinator.removeOutstanding(sequence, user: user, side) }
            }
        case .failed:
            worker.metrics.write(backend, leg: .authoritative, result: .error, nanoseconds: nanoseconds)
            if delivery.side == .new, delivery.otherStatus.state.isOutstanding {
                fallBack(delivery)
            } else {
                retry(delivery)
            }
        }
    }

    /// New fails, and was to decide: legacy decides in its place (contract §5), as it would have done for the client.
    private func fallBack(_ delivery: Delivery) {
        forget(delivery)
        start(
            Delivery(
                sequence: delivery.sequence, user: delivery.user, side: .legacy,
                acceptedMilliseconds: delivery.acceptedMilliseconds, status: delivery.otherStatus, message: nil,
                otherStatus: delivery.status, isAuthoritative: true, answeredStatus: nil))
    }

    /// The side that decides has taken a write that an earlier process had under way.
    /// - Returns: whether the other leg has come back from the journal meanwhile and needs a delivery.
    private func answered(_ delivery: Delivery, _ status: Int) -> Bool {
        let (coordinator, user, sequence, side) = (coordinator, delivery.user, delivery.sequence, delivery.side)
        let update = update(delivery, status, other: delivery.otherStatus, accepted: true)
        let returned: SideSet
        if isRemembered(delivery.status) {
            returned = coordinator.post(answered: update)
            coordinator.settled(sequence, user: user, side)
        } else {
            returned = coordinator.post(answered: update) { coordinator.settled(sequence, user: user, side) }
        }
        return returned.contains(SideSet(side.other))
    }

    private func update(_ delivery: Delivery, _ status: Int, other: LegStatus, accepted: Bool) -> JournalUpdate {
        var legs = Legs(legacy: delivery.status, new: delivery.status)
        legs[delivery.side.other] = other
        let answer = delivery.answer ?? StoredAnswer(status: status, headerLines: [], body: [], servedBy: delivery.side)
        return .answered(
            delivery.sequence, servedBy: delivery.side, legs: legs, answer: answer, revisionAccepted: accepted)
    }
}

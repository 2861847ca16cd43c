import CLinux
import Configuration
import HTTPWire
import Journal
import Rollout
import Telemetry

/// A write on its way through its authoritative leg.
private struct AcceptedWrite {
    var sequence: Sequence64
    var message: LegMessage
    var acceptedMilliseconds: Int64
    var legs: Legs
    var isConflicted = false
    /// The backend knows a repeat of it for one: see `DeliveryDesk.isRemembered`.
    var isRemembered = true
    /// The other leg on its way; its status moves on while the client is answered.
    var other: Delivery?
    /// New has failed after it may have taken the write.
    var isUncertainOnNew = false

    var submission: Submission { message.submission }
}

extension ClientSession {
    /// A write: read whole, made durable in the journal, sent to the authoritative side, answered, and brought to the
    /// other side (contract §6).
    func handleWrite() async throws(SessionEnd) {
        metrics.writeReceived()
        let limit = snapshot.settings.writes.bodyMaxBytes
        if let refusal = try await readBody(limit: limit) {
            if case .bodyTooLarge = refusal { metrics.limitHit(.writeBody) }
            return try await answer(refusal)
        }
        let submission: Submission
        do throws(SubmissionProblem) { submission = try makeSubmission() } catch {
            switch error {
            case .unusable(let problem): return try await answer(.badWrite(problem))
            case .missingKey: return try await answer(.keyMissing)
            }
        }
        if worker.coordinator.legacyGate.isClosed, await !legacyLacksNothing(before: submission) {
            return try await answer(.laneBusy)
        }
        switch await worker.coordinator.submit(submission) {
        case .accepted(let sequence):
            let write = AcceptedWrite(
                sequence: sequence, message: LegMessage(submission: submission),
                acceptedMilliseconds: clinux_wall_milliseconds(),
                legs: Legs(acceptedOn: submission.side, dualWrite: submission.dualWrite))
            try await perform(write)
        case .replay(let stored) where stored.isBodyOmitted: try await answer(.answerNotKept(status: stored.status))
        case .replay(let stored): try await replay(stored)
        case .running: try await answer(.keyRunning)
        case .keyReused: try await answer(.keyReused)
        case .stale(let items):
            metrics.conflict(.gateway)
            metrics.conflictedWrite()
            let isBatch = request.route >= 0 && snapshot.compiledRoutes[request.route].items != nil
            try await answer(.staleRevision(items, isBatch: isBatch))
        case .unavailable:
            metrics.limitHit(.journalQueue)
            try await answer(.journalUnavailable)
        }
    }

    /// Waits until legacy has, or has in its lanes, everything that is older than this write; at most the backend's time-out.
    private func legacyLacksNothing(before submission: Submission) async -> Bool {
        guard submission.dualWrite || submission.side == .legacy else { return true }
        let keys = LaneKey.lanes(user: submission.user, records: submission.records.map(\.record))
        let deadline = loop.now &+ UInt64(worker.legacy.timeout)
        while worker.coordinator.legacyGate.holds(keys) {
            guard loop.now < deadline else { return false }
            await loop.sleep(5)
        }
        return true
    }

    // MARK: The authoritative leg

    private func perform(_ accepted: AcceptedWrite) async throws(SessionEnd) {
        var write = accepted
        request.isAccepted = true
        let side = write.submission.side
        guard await turn(write.sequence, side) else {
            if side == .new, write.submission.dualWrite, let reason = fallbackReason(.timeout) {
                return try await fallBack(&write, reason)
            }
            return try await give(up: &write, .laneBusy)
        }
        guard worker.coordinator.standing.mayDeliver else { return try await give(up: &write, .journalUnavailable) }
        let pool = worker.pool(side)
        let started = clinux_monotonic_nanoseconds()
        let upstream: Connection
        do throws(UpstreamFailure) {
            upstream = try await pool.send(write.message, conditionals: true, span: nextLegSpan())
        } catch {
            exportLeg(pool.side, since: started, status: 0, failure: error)
            book(side, .error, started)
            if error != .exhausted { pool.record(failed: true) }
            write.legs[side].attempts += 1
            write.isUncertainOnNew = side == .new && !error.nothingWasSent
            if side == .new, write.submission.dualWrite, let reason = fallbackReason(error) {
                return try await fallBack(&write, reason)
            }
            return try await give(up: &write, .upstream(error))
        }
        try await decided(&write, upstream, pool, started)
    }

    /// New has failed: legacy answers, and the leg to new is brought there afterwards.
    private func fallBack(_ write: inout AcceptedWrite, _ reason: FallbackReason) async throws(SessionEnd) {
        guard write.submission.dualWrite, await turn(write.sequence, .legacy) else {
            return try await give(up: &write, write.submission.dualWrite ? .laneBusy : .upstream(.connect))
        }
        guard worker.coordinator.standing.mayDeliver else { return try await give(up: &write, .journalUnavailable) }
        let pool = worker.legacy
        request.decision = Decision(side: .legacy, reason: reason.reason)
        let started = clinux_monotonic_nanoseconds()
        let upstream: Connection
        do throws(UpstreamFailure) {
            upstream = try await pool.send(write.message, conditionals: true, span: nextLegSpan())
        } catch {
            exportLeg(pool.side, since: started, status: 0, failure: error)
            book(.legacy, .error, started)
            if error != .exhausted { pool.record(failed: true) }
            return try await give(up: &write, .upstream(error))
        }
        metrics.fallback(.write, reason: reason)
        try await decided(&write, upstream, pool, started)
    }

    /// The side that decides has answered.
    private func decided(
        _ write: inout AcceptedWrite, _ upstream: Connection, _ pool: UpstreamPool, _ started: UInt64
    ) async throws(SessionEnd) {
        let side = pool.side
        let reason = request.decision.reason
        let status = upstream.head.status
        exportLeg(side, since: started, status: status, failure: nil)
        pool.record(failed: status >= 500)
        write.legs[side].attempts += 1
        write.legs[side].lastStatus = status
        switch judge(upstream, write.message) {
        case .accepted:
            book(side, .ok, started)
            try await conclude(&write, upstream, pool, reason: reason)
        case .refused:
            book(side, .refused, started)
            try await refuse(&write, upstream, pool, reason: reason, isFinal: true)
        case .turnedAway:
            book(side, .refused, started)
            try await refuse(&write, upstream, pool, reason: reason, isFinal: false)
        case .failed:
            book(side, .error, started)
            if side == .new, write.submission.dualWrite, snapshot.settings.fallback.on5xx {
                write.isUncertainOnNew = true
                dispose(upstream, pool)
                return try await fallBack(&write, .serverError)
            }
            try await failed(&write, upstream, pool, reason: reason)
        }
    }

    /// Waits until the leg is the first of its lanes, at most the backend's time-out.
    private func turn(_ sequence: Sequence64, _ side: Side) async -> Bool {
        let coordinator = worker.coordinator
        let loop = loop
        let timeout = worker.pool(side).timeout
        return await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
            let isFirst = coordinator.whenFirst(sequence, side) { continuation.resume(returning: true) }
            if isFirst { return continuation.resume(returning: true) }
            loop.schedule(after: timeout) {
                if coordinator.stopWaiting(sequence, side) { continuation.resume(returning: false) }
            }
        }
    }

    /// A request that was sent twice may have been applied by the first try: then the second one's answer is judged as that
    /// of a repeat.
    private func judge(_ upstream: Connection, _ message: LegMessage) -> AuthoritativeVerdict {
        let outcome = LegOutcome.answered(status: upstream.head.status)
        guard upstream.carriesRepeat else { return judgeAuthoritative(outcome) }
        return judgeRepeated(outcome, method: message.submission.method, hasRevision: message.submission.hasRevision)
    }

    /// The id for the span of the leg that is sent next; 0 where nobody wants to know it.
    private func nextLegSpan() -> UInt64 {
        guard let spans else { return 0 }
        spans.leg = loop.random.span()
        return spans.leg
    }

    private func book(_ side: Side, _ result: WriteResult, _ started: UInt64) {
        let nanoseconds = clinux_monotonic_nanoseconds() &- started
        metrics.write(side.backend, leg: .authoritative, result: result, nanoseconds: nanoseconds)
        record?.asked(nanoseconds)
    }

    // MARK: What it came to

    /// The side that answered has it: the other leg becomes outstanding before the client can know.
    private func conclude(
        _ write: inout AcceptedWrite, _ upstream: Connection, _ pool: UpstreamPool, reason: Reason
    ) async throws(SessionEnd) {
        let side = pool.side
        let coordinator = worker.coordinator
        write.legs[side].state = .applied
        let needsDelivery =
            write.legs[side.other].state.isOutstanding
            && coordinator.conclude(
                write.sequence, user: write.submission.user, side.other,
                acceptedMilliseconds: write.acceptedMilliseconds, status: upstream.head.status)
        let status = upstream.head.status
        write.isRemembered = (200...299).contains(status)
        if write.isRemembered, !upstream.hasWholeAnswer(toHead: request.isHead) {
            // The rest of the answer may take long, and so may the client: the lane does not wait for them. But what the journal
            // hears of a lane comes in the lane's order, so that a crash never has an earlier write sent after a later one.
            coordinator.journal.post(.leg(write.sequence, side, write.legs[side]))
            coordinator.leave(write.sequence, side)
        }
        let answer = StoredAnswer(of: upstream, servedBy: side, loop: loop)
        let capture = AnswerCapture(pool: loop.blocks)
        capture.reset(limit: StoredAnswer.bodyLimitBytes)
        guard isToBeAnnounced(write, side.other) else {
            if needsDelivery { write.other = await deliverOther(write, side.other, status: status) }
            return try await tell(write, answer, capture, revisionAccepted: true, upstream, pool, reason)
        }
        // Kept before anything else happens: telling the others takes a moment, and a repeat gets this answer whatever comes.
        capture.reset(limit: ClientSession.announcedAnswerBytesMax)
        _ = await pool.drain(upstream, into: capture, toHead: request.isHead)
        post(write, servedBy: side, answer, capture, revisionAccepted: true)
        if needsDelivery { write.other = await deliverOther(write, side.other, status: status) }
        let isKnown = await othersKnow(write, side.other)
        defer { capture.release() }
        guard isKnown else { return try await self.answer(.journalUnavailable) }
        switch capture.state {
        case .complete:
            request.decision = Decision(side: side, reason: reason)
            try await self.answer(with: capture, of: side)
        case .tooLarge, .endless: try await self.answer(.answerNotKept(status: status))
        case .failed, .waiting: try await self.answer(.upstream(.broken))
        }
    }

    /// The longest answer that is held back while other gateways hear of a write; of a longer one the client is told the status.
    private static let announcedAnswerBytesMax = 8 << 20

    /// Whether other gateways may read the side that does not have the write yet, and have to hear of it first.
    private func isToBeAnnounced(_ write: AcceptedWrite, _ side: Side) -> Bool {
        let standing = worker.coordinator.standing
        guard standing.isShared else { return false }
        guard standing.mayAnswer else { return true }
        guard write.legs[side].state.isOutstanding, write.submission.user != nil else { return false }
        return worker.snapshot.rollout.announces.contains(SideSet(side)) || side == .new && request.isOfNewUser
    }

    /// Where other gateways may read the side that does not have the write yet, they hear of it before the client does: else
    /// the client could read there what is older than its own write.
    /// - Returns: false when not all could be told; the client then gets no word that the write is done.
    private func othersKnow(_ write: AcceptedWrite, _ side: Side) async -> Bool {
        let standing = worker.coordinator.standing
        guard standing.mayAnswer else { return false }
        guard let user = write.submission.user else { return true }
        let coordinator = worker.coordinator
        return await standing.announce(user, side) { coordinator.hasOwnOutstanding(user: user, side) }
    }

    /// Starts the other leg; with `answer: both` waits until it has been tried once.
    private func deliverOther(_ write: AcceptedWrite, _ side: Side, status: Int) async -> Delivery {
        var leg = write.legs[side]
        if leg.attempts > 0 {
            // New has failed a moment ago (a fallback): its next turn comes after the usual pause.
            leg.nextAttemptMilliseconds =
                clinux_wall_milliseconds() + snapshot.settings.writes.retryMinMilliseconds
        }
        let delivery = delivery(of: write, side, status: status)
        delivery.status = leg
        guard snapshot.settings.writes.answersAfterBoth, leg.attempts == 0 else {
            worker.deliveries.start(delivery)
            return delivery
        }
        let limit = worker.pool(side).timeout
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            var isDone = false
            let once = {
                guard !isDone else { return }
                isDone = true
                continuation.resume()
            }
            delivery.afterFirstAttempt = once
            loop.schedule(after: limit, once)
            worker.deliveries.start(delivery)
        }
        return delivery
    }

    private func delivery(of write: AcceptedWrite, _ side: Side, status: Int) -> Delivery {
        let delivery = Delivery(
            sequence: write.sequence, user: write.submission.user, side: side,
            acceptedMilliseconds: write.acceptedMilliseconds, status: write.legs[side], message: write.message,
            answeredStatus: status)
        delivery.isConflicted = write.isConflicted
        return delivery
    }

    /// The side that had to decide said no: the other leg is never sent.
    private func refuse(
        _ write: inout AcceptedWrite, _ upstream: Connection, _ pool: UpstreamPool, reason: Reason, isFinal: Bool
    ) async throws(SessionEnd) {
        let side = pool.side
        let status = upstream.head.status
        if status == 409 || status == 412, write.submission.hasRevision {
            metrics.conflict(side == .legacy ? .legacy : .new)
            metrics.conflictedWrite()
        }
        write.legs[side].state = .refused
        // New may have taken what legacy refuses now; nobody but an operator can tell.
        write.legs[side.other].state = write.isUncertainOnNew ? .parked : .skipped
        if write.isUncertainOnNew { metrics.legParked(.new) }
        var answer = isFinal ? StoredAnswer(of: upstream, servedBy: side, loop: loop) : nil
        let isShort = (0...StoredAnswer.bodyLimitBytes).contains(upstream.head.contentLength)
        if !upstream.head.isChunked, isShort || status == 304 {
            return try await refuse(write, wholly: answer, upstream, pool)
        }
        answer?.isBodyOmitted = true
        guard await keep(write, servedBy: side, answer) else {
            dispose(upstream, pool)
            return try await self.answer(.journalUnavailable)
        }
        answer?.isBodyOmitted = false
        let capture = AnswerCapture(pool: loop.blocks)
        capture.reset(limit: StoredAnswer.bodyLimitBytes)
        try await tell(write, answer, capture, revisionAccepted: false, upstream, pool, reason)
    }

    /// A refusal that is short: it is kept whole before the client has any of it, so that a repeat gets it whatever happens.
    private func refuse(
        _ write: AcceptedWrite, wholly answer: StoredAnswer?, _ upstream: Connection, _ pool: UpstreamPool
    ) async throws(SessionEnd) {
        let capture = AnswerCapture(pool: loop.blocks)
        capture.reset(limit: StoredAnswer.bodyLimitBytes)
        _ = await pool.drain(upstream, into: capture, toHead: request.isHead)
        guard capture.state == .complete else {
            // An answer that broke off is none: a repeat is a new attempt (contract §6.4).
            _ = await keep(write, servedBy: pool.side, nil)
            return try await self.answer(.upstream(.broken))
        }
        var answer = answer
        answer?.body = Array(capture.body)
        guard await keep(write, servedBy: pool.side, answer) else { return try await self.answer(.journalUnavailable) }
        request.decision = Decision(side: pool.side, reason: request.decision.reason)
        try await self.answer(with: capture, of: pool.side)
        capture.release()
    }

    /// The backend answered with an error of its own and nobody can take over: the client gets that answer.
    private func failed(
        _ write: inout AcceptedWrite, _ upstream: Connection, _ pool: UpstreamPool, reason: Reason
    ) async throws(SessionEnd) {
        abandon(&write)
        if try await !relay(upstream, pool, reason: reason, capture: nil) { throw .gone }
    }

    /// No backend answered: the client gets an answer of the gateway's own.
    private func give(up write: inout AcceptedWrite, _ own: OwnAnswer) async throws(SessionEnd) {
        abandon(&write)
        try await answer(own)
    }

    /// The write was not accepted: both legs are over, its revision and its key are free again.
    private func abandon(_ write: inout AcceptedWrite) {
        for side in Side.allCases { write.legs[side].state = .skipped }
        noteLegs(write.legs)
        worker.coordinator.post(
            refused: .answered(write.sequence, servedBy: nil, legs: write.legs, answer: nil, revisionAccepted: false))
    }

    /// The client hears of a refusal only when that is durable: after a crash the write would be sent again, and might be taken.
    /// - Returns: false when it could not be made durable within the backend's time-out.
    private func keep(_ write: AcceptedWrite, servedBy side: Side, _ answer: StoredAnswer?) async -> Bool {
        noteLegs(write.legs)
        let (coordinator, loop) = (worker.coordinator, loop)
        let update = JournalUpdate.answered(
            write.sequence, servedBy: side, legs: write.legs, answer: answer, revisionAccepted: false)
        let limit = worker.pool(side).timeout
        return await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
            let once = Once(continuation)
            coordinator.post(refused: update) { loop.execute { once.resume(true) } }
            loop.schedule(after: limit) { once.resume(false) }
        }
    }

    /// Passes the answer on; the journal has it before the client has its last byte, so that a repeat that comes at once
    /// finds it.
    private func tell(
        _ write: AcceptedWrite, _ answer: StoredAnswer?, _ capture: AnswerCapture, revisionAccepted: Bool,
        _ upstream: Connection, _ pool: UpstreamPool, _ reason: Reason
    ) async throws(SessionEnd) {
        capture.onEnd = { [self] in
            post(write, servedBy: pool.side, answer, capture, revisionAccepted: revisionAccepted)
            capture.release()
        }
        if try await !relay(upstream, pool, reason: reason, capture: capture, outlivesClient: true) { throw .gone }
    }

    /// For the access log.
    private func noteLegs(_ legs: Legs) { record?.legs = (legs.legacy.state, legs.new.state) }

    // MARK: Keeping the first answer

    private func post(
        _ write: AcceptedWrite, servedBy side: Side, _ answer: StoredAnswer?, _ capture: AnswerCapture,
        revisionAccepted: Bool
    ) {
        var answer = answer
        // An answer that broke off is none: a repeat is a new attempt (contract §6.4).
        if capture.state == .failed { answer = nil }
        if capture.state == .complete, capture.body.count <= StoredAnswer.bodyLimitBytes {
            answer?.body = Array(capture.body)
        } else {
            answer?.isBodyOmitted = true
        }
        var legs = write.legs
        if let other = write.other { legs[other.side] = other.status }
        noteLegs(legs)
        let (coordinator, sequence) = (worker.coordinator, write.sequence)
        let update = JournalUpdate.answered(
            sequence, servedBy: side, legs: legs, answer: answer, revisionAccepted: revisionAccepted)
        let returned: SideSet
        if write.isRemembered {
            returned = coordinator.post(answered: update)
            coordinator.leave(sequence, side)
        } else {
            returned = coordinator.post(answered: update) { coordinator.leave(sequence, side) }
        }
        // The leg was deferred, and has come back from the journal while the client took its answer.
        if returned.contains(SideSet(side.other)) {
            worker.deliveries.start(delivery(of: write, side.other, status: legs[side].lastStatus ?? 200))
        }
    }
}

/// A continuation that two may want to resume: the first one does. Confined to its loop.
private final class Once: @unchecked Sendable {
    private var continuation: UnsafeContinuation<Bool, Never>?

    init(_ continuation: UnsafeContinuation<Bool, Never>) { self.continuation = continuation }

    func resume(_ value: Bool) {
        let waiting = continuation
        continuation = nil
        waiting?.resume(returning: value)
    }
}

extension WriteCoordinator {
    /// Waits for the journal's word on a submission. Resumes on the caller's loop.
    func submit(_ submission: Submission) async -> Admission {
        await withUnsafeContinuation { continuation in
            journal.submit(submission) { continuation.resume(returning: $0) }
        }
    }
}

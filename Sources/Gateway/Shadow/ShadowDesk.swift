import CLinux
import Comparison
import Configuration
import HTTPWire
import Rollout
import Telemetry

/// The shadow reads of one loop: opened with a client's request, run beside it, compared when both answers are in.
/// Nothing here is ever waited for by a client. Confined to its loop.
///
/// Limits: `shadow.in_flight_max` ÷ workers reads at a time, as many rechecks, `shadow.body_max` bytes an answer, three
/// quarters of the backend's pool. What is over them is dropped and counted.
final class ShadowDesk: @unchecked Sendable {
    private unowned(unsafe) let loop: EventLoop
    private let metrics: LoopMetrics
    private let mismatches: MismatchLog
    private let workers: Int
    private let hasher = ContentHasher()
    private let scratchHead = MessageHead(
        limits: WireLimits(headerLineBytes: 64 * 1024, headerBytes: 256 * 1024, headerLines: 1000))
    private var settings = ShadowSettings()
    private var free: [ShadowRead] = []
    private var inFlight = 0
    private var rechecks = 0
    /// Set once by the worker that owns this desk and outlives it.
    unowned(unsafe) var worker: Worker?

    init(loop: EventLoop, metrics: LoopMetrics, mismatches: MismatchLog, workers: Int) {
        self.loop = loop
        self.metrics = metrics
        self.mismatches = mismatches
        self.workers = workers
    }

    func configure(_ settings: ShadowSettings) { self.settings = settings }

    private var limit: Int { max(1, settings.inFlightMax / workers) }

    // MARK: Life of a shadow read

    /// Takes the request of a session down; nil when the limits say no.
    func open(_ session: ClientSession, _ side: Side) -> ShadowRead? {
        guard inFlight < limit, !session.worker.pool(side.other).isCrowded else {
            metrics.limitHit(.shadowInFlight)
            metrics.shadow(.dropped)
            return nil
        }
        // A dead backend is not asked for every read of every user, but now and then one has to find out whether it lives.
        guard session.worker.pool(side.other).breaker.admits(now: loop.now) else {
            metrics.shadow(.dropped)
            if side.other == .new { metrics.shadowKeptAway() }
            return nil
        }
        let read = free.popLast() ?? ShadowRead(pool: loop.blocks)
        read.prepare(session, side, limit: settings.bodyMaxBytes)
        read.keep(user: session.identify())
        inFlight += 1
        metrics.shadowInFlight(by: 1)
        return read
    }

    /// Asks the other side, beside the client's own request.
    func start(_ read: ShadowRead) {
        read.started = true
        if read.span != nil { read.asked = clinux_monotonic_nanoseconds() }
        Task.immediate(executorPreference: loop) {
            await self.fetch(read.primarySide.other, read, into: read.other)
            self.export(read)
            read.otherDone = true
            self.concludeIfReady(read)
        }
    }

    /// Not in the task itself, whose frame would outgrow the memory that it is given at first.
    private func export(_ read: ShadowRead) {
        guard var span = read.span else { return }
        // It was prepared, and so far ended, when the request was taken down.
        span.start = span.end
        span.end = span.start + Int64(clinux_monotonic_nanoseconds() &- read.asked)
        worker?.legEnded(span, status: read.other.status, failure: read.other.state == .failed ? .broken : nil)
    }

    /// The client's own answer is out, or will never be.
    @inline(__always)
    func primaryEnded(_ read: ShadowRead?) {
        guard let read else { return }
        read.primaryDone = true
        if read.primary.state == .waiting { read.primary.fail() }
        if !read.started { read.otherDone = true }
        concludeIfReady(read)
    }

    private func concludeIfReady(_ read: ShadowRead) {
        guard read.primaryDone, read.otherDone else { return }
        inFlight -= 1
        metrics.shadowInFlight(by: -1)
        switch verdict(of: read) {
        case .equal: close(read, .match)
        case .incomparable: close(read, .skipped)
        case .failed: closeFailed(read)
        case .tooLarge:
            metrics.limitHit(.shadowBody)
            close(read, .dropped)
        case .different: recheck(read)
        }
    }

    /// Either side's answer is none; where it is new's that was asked for beside the client's own, that is told of new.
    private func closeFailed(_ read: ShadowRead) {
        if read.primarySide == .legacy, read.other.isFailure { metrics.shadowFailure() }
        close(read, .error)
    }

    private func close(_ read: ShadowRead, _ result: ShadowResult) {
        metrics.shadow(result)
        read.release()
        if free.count < limit { free.append(read) }
    }

    // MARK: The second look

    /// A difference may only be a write on its way: both sides are read again before it is called a mismatch.
    private func recheck(_ read: ShadowRead) {
        guard rechecks < limit else {
            metrics.limitHit(.shadowInFlight)
            return close(read, .dropped)
        }
        rechecks += 1
        Task.immediate(executorPreference: loop) {
            await self.loop.sleep(self.settings.recheckAfterMilliseconds)
            await self.lookAgain(read)
            self.rechecks -= 1
        }
    }

    private func lookAgain(_ read: ShadowRead) async {
        guard let worker else { return }
        if let user = read.user, worker.coordinator.hasOutstanding(user) { return close(read, .transient) }
        read.primary.reset(limit: settings.bodyMaxBytes)
        read.other.reset(limit: settings.bodyMaxBytes)
        await fetch(read.primarySide, read, into: read.primary)
        await fetch(read.primarySide.other, read, into: read.other)
        switch verdict(of: read) {
        case .equal: close(read, .transient)
        case .incomparable: close(read, .skipped)
        case .failed: closeFailed(read)
        case .tooLarge: close(read, .dropped)
        case .different:
            // A write that came in between makes the two looks incomparable.
            if let user = read.user, worker.coordinator.hasOutstanding(user) { return close(read, .transient) }
            if mismatches.record(describe(read)) { metrics.limitHit(.mismatchRing) }
            close(read, .mismatch)
        }
    }

    private func verdict(of read: ShadowRead) -> ComparisonVerdict {
        compare(read.primary, read.other, settings: settings, hasher: hasher, scratch: scratchHead)
    }

    private func describe(_ read: ShadowRead) -> Mismatch {
        Gateway.describe(read, settings: settings, hasher: hasher, scratch: scratchHead)
    }

    // MARK: Asking

    private func fetch(_ side: Side, _ read: ShadowRead, into capture: AnswerCapture) async {
        guard let pool = worker?.pool(side) else { return capture.fail() }
        do throws(UpstreamFailure) {
            // Safe by being a read: one more try when the pooled connection turns out to be closed.
            do throws(UpstreamFailure) {
                try await fetch(from: pool, read.message(to: side), fresh: false, into: capture)
            } catch {
                guard error == .broken, capture.state == .waiting, capture.bytes.isEmpty else { throw error }
                try await fetch(from: pool, read.message(to: side), fresh: true, into: capture)
            }
        } catch {
            if error == .malformed { metrics.malformedResponse(side.backend) }
            if error != .exhausted { pool.record(failed: true) }
            capture.fail()
        }
    }

    private func fetch(
        from pool: UpstreamPool, _ message: UnsafeBufferPointer<UInt8>, fresh: Bool, into capture: AnswerCapture
    ) async throws(UpstreamFailure) {
        let upstream = try await pool.take(fresh: fresh)
        do throws(UpstreamFailure) {
            do throws(IOFailure) { try await upstream.write(bytes: message, timeout: pool.timeout) } catch {
                throw UpstreamFailure(error)
            }
            try await readAnswerHead(upstream, timeout: pool.timeout, loop: loop)
            let head = upstream.head
            if head.isEventStream(in: upstream.input.readable) {
                pool.record(failed: head.status >= 500)
                pool.discard(upstream)
                return capture.leaveOut()
            }
            capture.begin(upstream.input.readable, head)
            var scanner = BodyScanner.response(head, toHead: false)
            upstream.input.consume(head.length)
            while true {
                guard
                    let used = scanner.scan(
                        upstream.input.readable, upstream.input.count, payload: { capture.add($0, $1) })
                else { throw .malformed }
                upstream.input.consume(used)
                if scanner.isDone || capture.state == .tooLarge { break }
                do throws(IOFailure) { try await upstream.fill(timeout: pool.timeout) } catch {
                    if error == .closed, scanner.endsWithConnection { break }
                    throw UpstreamFailure(error)
                }
            }
            let reusable = scanner.isDone && head.keepAlive && !scanner.endsWithConnection
            pool.give(upstream, reusable: reusable)
            pool.record(failed: head.status >= 500)
            capture.complete()
        } catch {
            pool.discard(upstream)
            throw error
        }
    }
}

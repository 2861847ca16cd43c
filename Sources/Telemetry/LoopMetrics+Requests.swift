extension LoopMetrics {
    /// A client's request has been answered: `cutover_requests_total{kind,code}` and
    /// `cutover_request_duration_seconds{kind}`.
    ///
    /// - Parameters:
    ///   - status: the code sent to the client; 499 for a client that went away before its answer.
    ///   - nanoseconds: from the first byte of the head to the last of the answer.
    @inlinable
    package func request(kind: RequestKind, status: Int, nanoseconds: UInt64) {
        let slot = status >= 100 && status <= 599 ? status &- 99 : 0
        add(Cells.codes &+ kind.index &* Cells.codesPerKind &+ slot)
        observe(Cells.requestDuration &+ kind.index, nanoseconds: nanoseconds)
    }

    /// A client has got its whole answer to a read or write that was meant for this side, whoever answered in the end; `failed`
    /// is a 5xx or an answer that broke off. Of a client that went away nothing is told.
    @inlinable @inline(__always)
    package func clientAnswer(_ kind: ClientKind, meantFor side: Backend, failed: Bool) {
        add(Cells.clientAnswers &+ (kind.index &* 2 &+ side.index) &* 2 &+ (failed ? 1 : 0))
    }

    /// A read was sent to this backend as the side that serves it; `failed` is connect, timeout or 5xx, before any
    /// fallback. Shadow reads are not reads.
    @inlinable @inline(__always)
    package func read(_ backend: Backend, failed: Bool) {
        add(Cells.reads &+ backend.index &* 2 &+ (failed ? 1 : 0))
    }

    /// One attempt of one leg of a write has ended.
    @inlinable
    package func write(_ backend: Backend, leg: WriteLeg, result: WriteResult, nanoseconds: UInt64) {
        let pair = backend.index &* 2 &+ leg.index
        add(Cells.writes &+ pair &* 3 &+ result.index)
        observe(Cells.writeDuration &+ pair, nanoseconds: nanoseconds)
    }

    /// A client has its answer to a write that was meant for this side: source of `cutover_write_p95_seconds`.
    ///
    /// Fallbacks and writes that no backend answered are among them: they are the slowest ones that side has made anybody
    /// wait for, and legacy, which new is compared with, must not be charged with them.
    @inlinable
    package func clientWrite(_ backend: Backend, nanoseconds: UInt64) {
        observe(Cells.clientWriteDuration &+ backend.index, nanoseconds: nanoseconds)
    }

    /// A write was read whole: denominator of the conflict ratio.
    @inlinable @inline(__always)
    package func writeReceived() { add(Cells.writesReceived) }

    /// Somebody noticed a stale or taken revision. One write may count here several times; see `conflictedWrite`.
    @inlinable @inline(__always)
    package func conflict(_ source: ConflictSource) { add(Cells.conflicts &+ source.index) }

    /// A write met its first conflict: numerator of the conflict ratio. The caller sees to "once for a write".
    @inlinable @inline(__always)
    package func conflictedWrite() { add(Cells.conflictedWrites) }

    /// Legacy answered a request that was meant for new: numerator of the fallback ratio.
    @inlinable @inline(__always)
    package func fallback(_ kind: ClientKind, reason: FallbackReason) {
        add(Cells.fallbacks &+ kind.index &* Cells.fallbackReasons &+ reason.index)
    }

    /// A read or write of a user who is on new by percent or pin: denominator of the fallback ratio.
    @inlinable @inline(__always)
    package func requestOfNewUser() { add(Cells.requestsOfNewUsers) }

    /// Such a request went to legacy by design, because new lacks writes of its user: no failure of new, and no sample of one.
    @inlinable @inline(__always)
    package func requestWhileBehind() { add(Cells.requestsWhileBehind) }

    /// Such a request was a read, and the breaker of new is open: it would have been kept away from new all the same.
    @inlinable @inline(__always)
    package func readWhileBehindBroken() { add(Cells.readsWhileBehindBroken) }

    /// A read went to legacy although legs to it were still outstanding (draining took too long).
    @inlinable @inline(__always)
    package func staleRead() { add(Cells.staleReads) }

    /// A shadow read is over, or was not made.
    @inlinable @inline(__always)
    package func shadow(_ result: ShadowResult) { add(Cells.shadow &+ result.index) }

    /// New has failed a shadow read: connect, timeout, 5xx or an answer that broke off. `shadow` is told beside it.
    @inlinable @inline(__always)
    package func shadowFailure() { add(Cells.shadowFailures) }

    /// New was not asked for a shadow read while its breaker is open. `shadow` is told beside it.
    @inlinable @inline(__always)
    package func shadowKeptAway() { add(Cells.shadowKeptAway) }

    /// A write was answered with the stored answer of an earlier one (`Idempotent-Replayed: true`).
    @inlinable @inline(__always)
    package func idempotentReplay() { add(Cells.idempotentReplays) }

    /// A client went away before its answer was complete.
    @inlinable @inline(__always)
    package func clientAbort() { add(Cells.clientAborts) }

    /// A request was refused because its framing or syntax was wrong.
    @inlinable @inline(__always)
    package func malformedRequest() { add(Cells.malformedRequests) }

    /// A backend's answer was refused because its framing or syntax was wrong.
    @inlinable @inline(__always)
    package func malformedResponse(_ backend: Backend) { add(Cells.malformedResponses &+ backend.index) }
}

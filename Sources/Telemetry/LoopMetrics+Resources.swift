extension LoopMetrics {
    /// A client connection was accepted (counted as open until `clientClosed`).
    @inlinable @inline(__always)
    package func clientAccepted() {
        add(Cells.clientConnectionsAccepted)
        adjust(Cells.clientConnections, by: 1)
    }

    /// A client connection was closed.
    @inlinable @inline(__always)
    package func clientClosed() { adjust(Cells.clientConnections, by: -1) }

    /// Clients that are connected to this loop.
    package var clientsOpen: Int { Int(Int64(bitPattern: value(Cells.clientConnections))) }

    /// A request is under way (+1) or over (−1).
    @inlinable @inline(__always)
    package func requestsInFlight(by delta: Int) { adjust(Cells.requestsInFlight, by: delta) }

    /// A backend has agreed to a tunnel (counted as open until `tunnelClosed`).
    package func tunnelOpened(_ backend: Backend) {
        add(Cells.tunnelsOpened + backend.index)
        adjust(Cells.tunnels + backend.index, by: 1)
    }

    /// A tunnel is over.
    package func tunnelClosed(_ backend: Backend) { adjust(Cells.tunnels + backend.index, by: -1) }

    /// So many bytes have passed through a tunnel.
    package func tunnelBytes(toClient: Bool, _ count: Int) {
        add(Cells.tunnelBytes + (toClient ? 1 : 0), UInt64(count))
    }

    /// An upstream connection entered a state; pair it with `upstreamLeft`.
    @inlinable @inline(__always)
    package func upstreamEntered(_ backend: Backend, _ state: ConnectionState) {
        adjust(Cells.upstreamConnections &+ backend.index &* 3 &+ state.index, by: 1)
    }

    /// An upstream connection left a state.
    @inlinable @inline(__always)
    package func upstreamLeft(_ backend: Backend, _ state: ConnectionState) {
        adjust(Cells.upstreamConnections &+ backend.index &* 3 &+ state.index, by: -1)
    }

    /// An attempt to connect to a backend has ended.
    @inlinable @inline(__always)
    package func upstreamConnect(_ backend: Backend, failed: Bool) {
        add(Cells.upstreamConnects &+ backend.index &* 2 &+ (failed ? 1 : 0))
    }

    /// A request was sent again on a fresh connection because the reused one had died and sending again was safe.
    @inlinable @inline(__always)
    package func upstreamResend(_ backend: Backend) { add(Cells.upstreamResends &+ backend.index) }

    /// A failure seen by this loop opened the breaker of a backend, which all loops share.
    @inlinable @inline(__always)
    package func breakerOpened(_ backend: Backend) { add(Cells.breakerOpenings &+ backend.index) }

    /// A shadow read is under way (+1) or over (−1).
    @inlinable @inline(__always)
    package func shadowInFlight(by delta: Int) { adjust(Cells.shadowInFlight, by: delta) }

    /// A leg is tried again.
    @inlinable @inline(__always)
    package func legRetry(_ backend: Backend) { add(Cells.legRetries &+ backend.index) }

    /// A leg was parked: refused for good, waiting for an operator.
    @inlinable @inline(__always)
    package func legParked(_ backend: Backend) { add(Cells.legsParked &+ backend.index) }

    /// A limit was reached and its overflow policy applied.
    @inlinable @inline(__always)
    package func limitHit(_ limit: Limit) { add(Cells.limits &+ limit.index) }

    /// The rollout went back.
    @inlinable @inline(__always)
    package func rollback(_ trigger: RollbackTrigger) { add(Cells.rollbacks &+ trigger.index) }

    /// A TLS handshake has held.
    package func tlsHandshake(_ peer: TLSPeer, isVersion13: Bool, isResumed: Bool) {
        add(Cells.tls + peer.index * Cells.tlsPerPeer + (isVersion13 ? 2 : 0) + (isResumed ? 1 : 0))
    }

    /// A TLS handshake has failed.
    package func tlsFailure(_ peer: TLSPeer, _ reason: TLSFailureReason) {
        add(Cells.tls + peer.index * Cells.tlsPerPeer + Cells.tlsFailures + reason.index)
    }
}

import Rollout
import Telemetry

extension UpstreamPool {
    /// Agrees with the backend on how to encrypt, and checks that it is the right one, within what is left of the connect
    /// time-out. What is wrong is counted and logged; the client is only told that the backend cannot be reached.
    /// - Parameter began: when the connect began, in loop milliseconds.
    func secure(_ connection: Connection, since began: UInt64) async -> Bool {
        guard let tls, let stream = tls.stream(fd: connection.fd, resuming: session) else { return false }
        let left = connectTimeout - Int64(loop.now &- began)
        do throws(TLSFailure) {
            try await connection.secure(with: stream, timeout: left)
            metrics.tlsHandshake(side.tlsPeer, isVersion13: stream.isVersion13, isResumed: stream.isResumed)
            return true
        } catch {
            failed(error)
            // Whatever it was, the next connection begins without it.
            session = nil
            return false
        }
    }

    /// A connection ends: says so where nothing is under way, and books what the backend had against this side.
    func endTLS(_ stream: TLSStream, isIdle: Bool) {
        if isIdle { stream.finishWriting() }
        guard let refusal = stream.lateRefusal else { return }
        failed(refusal)
        session = nil
    }

    /// Counted before it is logged, and both before anybody is answered: whoever was told of it finds it in the metric.
    private func failed(_ failure: TLSFailure) {
        metrics.tlsFailure(side.tlsPeer, failure.reason)
        tls?.log(failure, side == .legacy ? "legacy" : "new", now: loop.now)
    }
}

extension Side {
    fileprivate var tlsPeer: TLSPeer { self == .legacy ? .legacy : .new }
}

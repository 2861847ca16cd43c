import CLinux
import Configuration
import HTTPWire
import Telemetry

extension ClientSession {
    /// Who sends the request at the front of the client's input. What was refused on the way is kept for `refusesIdentity`.
    @inline(__always)
    func identify() -> UserID? {
        let sources = snapshot.identity
        let found = sources.identify(
            client.head, client.input.readable, worker.identityScratch, isTrusted: isTrusted,
            nowSeconds: sources.verifies ? judgedAt() : 0)
        request.rejection = found.rejection
        return found.user
    }

    /// The moment that the request at hand is judged at, in seconds since 1970: the same however often it is asked, so that a
    /// token which ends while a body arrives does not turn its user into nobody halfway.
    private func judgedAt() -> Int64 {
        if request.judgedAt == 0 { request.judgedAt = clinux_wall_milliseconds() / 1000 }
        return request.judgedAt
    }

    /// Counts what was refused, once for a request; true: the configuration wants no such request to go on.
    func refusesIdentity(_ rejection: IdentityRejection) -> Bool {
        metrics.identityRejected(rejection)
        return snapshot.settings.user.unverifiable == .refused
    }
}

extension Snapshot {
    /// Whether what a peer says of who asks, and from where, is believed.
    /// - Parameter peer: its address in numbers.
    func trusts(_ peer: [UInt8]) -> Bool {
        guard let ranges = settings.trustedProxies else { return true }
        guard let address = peer.withUnsafeBufferPointer({ NumericAddress(text: $0) }) else { return false }
        return ranges.contains { $0.contains(address) }
    }
}

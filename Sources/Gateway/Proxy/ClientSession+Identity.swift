import CLinux
import Configuration
import HTTPWire
import Routing
import Telemetry

extension ClientSession {
    /// Who sends the request at the front of the client's input.
    @inline(__always)
    func identify() -> UserID? {
        let sources = snapshot.identity
        if sources.verifies { return identifyOnce() }
        return sources.identify(
            client.head, client.input.readable, worker.identityScratch, isTrusted: isTrusted, nowSeconds: 0
        ).user
    }

    /// Where something has to be verified, a request is judged once, at one moment: a token that ends while a body arrives does
    /// not turn its user into nobody halfway. What was refused is kept for `refusesIdentity`.
    private func identifyOnce() -> UserID? {
        if !request.isIdentified {
            request.isIdentified = true
            let found = snapshot.identity.identify(
                client.head, client.input.readable, worker.identityScratch, isTrusted: isTrusted,
                nowSeconds: clinux_wall_milliseconds() / 1000)
            request.rejection = found.rejection
            request.isNamed = found.isNamed
            if found.user != nil, keptUser == nil { keptUser = KeptUser() }
            keptUser?.keep(found.user)
        }
        return keptUser?.user
    }

    /// Counts what was refused, once for a request; true: the configuration wants no such request to go on.
    func refusesIdentity(_ rejection: IdentityRejection) -> Bool {
        // Who asks was of interest to the access log alone.
        if request.kind == .legacy || request.kind == .new { return false }
        metrics.identityRejected(rejection)
        return !request.isNamed && snapshot.settings.user.unverifiable == .refused
    }
}

/// The id of a request's user, for as long as the request lasts: where it was found, other requests of the loop write meanwhile.
/// Confined to its loop.
final class KeptUser {
    private var base: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    private var count = 0
    /// Room for longer ids is given back after each request.
    private static let commonBytes = 256

    deinit { base?.deallocate() }

    /// nil for nobody. Valid until the next `keep` or `forget`.
    var user: UserID? {
        guard let base, count > 0 else { return nil }
        return UserID(base: UnsafePointer(base), count: count)
    }

    func keep(_ user: UserID?) {
        count = 0
        guard let user else { return }
        if user.count > capacity { makeRoom(max(user.count, 64)) }
        base?.update(from: user.base, count: user.count)
        count = user.count
    }

    func forget() {
        count = 0
        if capacity > KeptUser.commonBytes { makeRoom(0) }
    }

    private func makeRoom(_ bytes: Int) {
        base?.deallocate()
        base = bytes == 0 ? nil : .allocate(capacity: bytes)
        capacity = bytes
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

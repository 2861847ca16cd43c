import Telemetry

/// Tokens that have been verified lately, so that a client that sends the same one with every request costs one signature and
/// not one a request. One per loop.
///
/// Found by the whole token, byte for byte, and only by the verifier that has verified it: after a reload every token is
/// verified anew. The time is looked at on every request. A token that does not verify is never kept, so a flood of them
/// pushes nothing out.
final class VerifiedTokens {
    /// Places. A token has one, which it takes over from whatever had it.
    static let capacity = 256
    /// Longer tokens are verified each time. With `capacity` it bounds the memory: half a MiB a loop.
    static let maximumTokenBytes = 2048

    private struct Entry {
        let mark: VerifierMark
        let token: [UInt8]
        let verified: VerifiedToken
    }
    private var entries: [Entry?] = []
    private let metrics: LoopMetrics?

    init(metrics: LoopMetrics?) { self.metrics = metrics }

    func find(_ token: UnsafeBufferPointer<UInt8>, _ mark: VerifierMark) -> VerifiedToken? {
        if !entries.isEmpty, let entry = entries[place(token)], entry.mark === mark,
            entry.token.count == token.count, entry.token.elementsEqual(token)
        {
            metrics?.identityLookup(found: true)
            return entry.verified
        }
        metrics?.identityLookup(found: false)
        return nil
    }

    func keep(_ verified: VerifiedToken, _ token: UnsafeBufferPointer<UInt8>, _ mark: VerifierMark) {
        guard token.count <= VerifiedTokens.maximumTokenBytes else { return }
        // Who has no tokens has no table either.
        if entries.isEmpty { entries = Array(repeating: nil, count: VerifiedTokens.capacity) }
        entries[place(token)] = Entry(mark: mark, token: Array(token), verified: verified)
    }

    /// Where a token belongs, by its end: signatures differ where headers and claims agree.
    private func place(_ token: UnsafeBufferPointer<UInt8>) -> Int {
        guard let base = token.baseAddress else { return 0 }
        let tail = min(token.count, 40)
        return Int(truncatingIfNeeded: userHash(base + (token.count - tail), tail) % UInt64(VerifiedTokens.capacity))
    }
}

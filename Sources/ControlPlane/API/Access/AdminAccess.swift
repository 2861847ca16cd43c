import CLinux
import Gateway
import Synchronization

/// Who may ask for what (contract §9). Any thread.
///
/// Reading needs no token on loopback; every change, and everything off loopback, does. A browser on the same machine is on loopback
/// too, so what a page of somebody else could make it send is refused: a change that says it comes from another origin,
/// and a read without a token under a name that only DNS leads here.
final class AdminAccess: Sendable {
    let tokens: AdminTokens
    private let failures: Mutex<FailedLogins>

    init(tokens: AdminTokens, failuresPerMinute: Int = 10) {
        self.tokens = tokens
        failures = Mutex(FailedLogins(perMinute: failuresPerMinute))
    }

    /// The answer to whoever may not ask this; nil when the caller may.
    /// - Parameter now: milliseconds of a clock that never goes back.
    func refusal(
        of request: ServiceRequest, isRead: Bool,
        now: Int64 = Int64(clinux_monotonic_nanoseconds() / 1_000_000)
    ) -> ServiceResponse? {
        if !isRead, let reason = crossOrigin(request) { return problem(403, reason) }
        let words = (request.header("authorization") ?? "").split(separator: " ", maxSplits: 1)
        let token = words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
        guard let token else {
            guard isRead, isLoopback(request.peer) else { return unauthorized("this needs an admin token") }
            return foreignHost(request).map { problem(403, $0) }
        }
        guard let role = tokens.role(of: token) else { return wrongToken(from: request.peer, now: now) }
        if !isRead, role == .viewer { return problem(403, "a viewer token may only read") }
        return nil
    }

    private func wrongToken(from peer: String, now: Int64) -> ServiceResponse {
        guard case .wait(let seconds, let isNew) = failures.withLock({ $0.failed(peer, now: now) }) else {
            return unauthorized("the token is not one of this gateway's")
        }
        if isNew { logLine("admin: \(peer) has shown too many wrong tokens within a minute and is told to wait") }
        var refusal = problem(429, "too many wrong tokens from here; a right one is let in at any time")
        refusal.headers.append(("Retry-After", String(seconds)))
        return refusal
    }

    private func unauthorized(_ detail: String) -> ServiceResponse {
        var refusal = problem(401, detail)
        refusal.headers.append(("WWW-Authenticate", "Bearer realm=\"cutover\""))
        return refusal
    }

    private func isLoopback(_ peer: String) -> Bool {
        peer.hasPrefix("127.") || peer == "::1" || peer.hasPrefix("::ffff:127.")
    }

    // MARK: Browsers

    /// Why a change comes from another origin; nil when it comes from this one, or from no browser.
    private func crossOrigin(_ request: ServiceRequest) -> String? {
        if let site = request.header("sec-fetch-site"), ["cross-site", "same-site"].contains(site.lowercased()) {
            return "a change from a page of another site is not taken (Sec-Fetch-Site: \(site.lowercased()))"
        }
        guard let origin = request.header("origin")?.lowercased() else { return nil }
        let host = (request.header("host") ?? "").lowercased()
        // Behind something that ends TLS the page's scheme is not this listener's.
        if !host.isEmpty, origin == "http://\(host)" || origin == "https://\(host)" { return nil }
        return "a change from a page of another origin is not taken: Origin and Host differ"
    }

    /// Why a read without a token goes under a name that is not certain to mean this machine (DNS rebinding); nil when it does not.
    private func foreignHost(_ request: ServiceRequest) -> String? {
        guard let host = request.header("host"), !host.isEmpty else { return nil }
        let name = hostName(host.lowercased())
        if name == "localhost" || name.hasSuffix(".localhost") || isAddress(name) { return nil }
        return "without a token the API is read under an IP address or localhost only, not under another name"
    }

    /// The host without its port, an IPv6 address without its brackets.
    private func hostName(_ host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    private func isAddress(_ name: String) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, name, &bytes) == 1 || inet_pton(AF_INET6, name, &bytes) == 1
    }
}

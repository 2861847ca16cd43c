import Rollout

/// Where alerts go. The URL is a secret; `shown` is what may be printed of it.
struct AlertReceiver: Sendable, Equatable {
    let url: String
    /// Never `auto`.
    let format: AlertFormat
    /// Scheme, host and port, and nothing else.
    let shown: String

    /// nil where the plan names no receiver.
    init?(_ alerts: PlanAlerts?) {
        guard let alerts, let url = alerts.webhook, let start = url.firstRange(of: "://")?.upperBound else {
            return nil
        }
        let rest = url[start...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        self.url = url
        shown = url[..<start].lowercased() + host.lowercased()
        let path = rest.dropFirst(authority.count).prefix { $0 != "?" && $0 != "#" }
        format = alerts.format == .auto ? Self.guess(host: host.lowercased(), path: path) : alerts.format
    }

    private static func guess(host: String, path: Substring) -> AlertFormat {
        var path = path
        while path.hasSuffix("/") { path.removeLast() }
        if path.hasSuffix("/api/v2/alerts") { return .alertmanager }
        let name = host.prefix { $0 != ":" }
        return name == "hooks.slack.com" || path.contains("/services/") ? .slack : .plain
    }
}

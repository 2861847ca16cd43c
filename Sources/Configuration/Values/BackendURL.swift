/// The parts of a backend's URL.
struct BackendURL: Equatable {
    var scheme: String
    /// Lower case, without the brackets of an IPv6 address.
    var host: String
    var port: UInt16
    /// Without a trailing slash; empty when the URL names the root.
    var pathPrefix: String
}

extension Value {
    private static let acceptedURL = "http://host[:port][/prefix] or https://…"

    /// A backend's URL: http or https, host, port and path prefix; nothing else has a meaning here.
    static func backendURL(_ text: String) throws(ValueProblem) -> BackendURL {
        let (scheme, rest) = try splitScheme(text)
        if text.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value >= 0x7F }) {
            throw ValueProblem("characters that a URL cannot hold in", accepted: acceptedURL)
        }
        if rest.contains("@") {
            // The value is redacted by the error itself.
            throw ValueProblem("a user name or password in the URL", accepted: acceptedURL)
        }
        if rest.contains("?") || rest.contains("#") {
            throw ValueProblem("a query or fragment in the URL", accepted: acceptedURL)
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let address = hostPort(rest[..<slash]) else {
            throw ValueProblem("no valid host and port in the URL", accepted: acceptedURL)
        }
        if address.port == 0 { throw ValueProblem("port 0 in the URL", accepted: "a port from 1 to 65535") }
        var prefix = String(rest[slash...])
        while prefix.hasSuffix("/") { prefix.removeLast() }
        return BackendURL(
            scheme: scheme, host: address.host, port: address.port ?? (scheme == "https" ? 443 : 80),
            pathPrefix: prefix)
    }

    private static func splitScheme(_ text: String) throws(ValueProblem) -> (scheme: String, rest: Substring) {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
            let guess = hostPort(text[...].prefix { $0 != "/" }) == nil ? nil : "http://" + text
            throw ValueProblem("not a URL", accepted: acceptedURL, suggestion: guess)
        }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw ValueProblem(
                "not an http or https URL", accepted: acceptedURL,
                suggestion: Suggestion.nearest(to: scheme, among: ["http", "https"]).map { $0 + text[colon...] })
        }
        return (scheme, text[text.index(colon, offsetBy: 3)...])
    }

    /// A URL that spans are posted to: as a webhook's, without user info, for it stands in logs.
    static func collectorURL(_ text: String) throws(ValueProblem) -> String {
        let url = try webhookURL(text)
        let authority = url.dropFirst(url.lowercased().hasPrefix("https") ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else {
            throw ValueProblem(
                "a user name or password in the URL", accepted: "http://host/path or https://host/path")
        }
        return url
    }

    /// A URL that alerts are posted to: http or https, with a host; path, query and user info are free.
    static func webhookURL(_ text: String) throws(ValueProblem) -> String {
        let accepted = "http://host/path or https://host/path"
        for scheme in ["http://", "https://"] where text.lowercased().hasPrefix(scheme) {
            let rest = text.dropFirst(scheme.utf8.count)
            let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            // `user:password@` is Basic authentication at the receiver.
            let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
            guard text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F }), hostPort(host) != nil
            else {
                break
            }
            return text
        }
        throw ValueProblem("not an http or https URL", accepted: accepted)
    }
}

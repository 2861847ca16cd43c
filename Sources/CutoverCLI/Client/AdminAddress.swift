/// Where the admin API answers.
struct AdminAddress: Sendable, Equatable {
    /// `http://host:port`, with no slash at the end.
    let url: String
    /// Whether the host is this machine itself.
    let isLoopback: Bool

    static let fallback = "http://127.0.0.1:9900"

    /// `--admin`, then `CUTOVER_ADMIN`, then the default of the configuration.
    static func find(_ invocation: Invocation) throws -> AdminAddress {
        if let text = invocation.value("admin") {
            guard let address = AdminAddress(text) else { throw invocation.usage(complaint("--admin", text)) }
            return address
        }
        let variable = invocation.environment["CUTOVER_ADMIN"] ?? ""
        let text = variable.isEmpty ? fallback : variable
        guard let address = AdminAddress(text) else { throw invocation.usage(complaint("CUTOVER_ADMIN", text)) }
        return address
    }

    /// Understands `http://host:port`, `https://…`, and `host:port` for the first; nil when it is no such thing.
    init?(_ text: String) {
        var rest = trimmed(text)[...]
        var scheme = "http"
        if let separator = rest.firstRange(of: "://") {
            scheme = rest[..<separator.lowerBound].lowercased()
            rest = rest[separator.upperBound...]
        }
        while rest.hasSuffix("/") { rest.removeLast() }
        // The API's own root, copied from somewhere: the path below it is ours to add.
        if rest.hasSuffix("/api/v1") { rest.removeLast("/api/v1".count) }
        let authority = rest.prefix { $0 != "/" }
        guard scheme == "http" || scheme == "https", !authority.isEmpty, !authority.hasPrefix(":") else { return nil }
        // A password in the address would end up in messages; the API knows tokens only.
        guard !rest.contains(where: { "@?# \"<>\\".contains($0) || $0.isWhitespace }) else { return nil }
        url = "\(scheme)://\(rest)"
        isLoopback = Self.isLoopback(authority)
    }

    private static func isLoopback(_ authority: Substring) -> Bool {
        if authority.hasPrefix("[") { return authority.prefix { $0 != "]" } == "[::1" }
        let host = authority.prefix { $0 != ":" }.lowercased()
        if host == "localhost" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
    }

    private static func complaint(_ source: String, _ text: String) -> String {
        // The text may hold a password: only its shape is shown.
        let shown = text.contains("@") ? "…@…" : printable(text)
        return "\(source) \"\(shown)\" is no address of an admin API; write it as http://host:9900"
    }
}

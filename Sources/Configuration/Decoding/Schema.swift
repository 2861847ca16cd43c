/// Every key that is known, by the section it stands in. The decoder refuses what is not here, and a test holds
/// docs/configuration.md against it.
enum Schema {
    struct Section: Sendable {
        /// Path of the section with `[]` for any item and `SIDE` for legacy or new; empty at the top level.
        var path: String
        var keys: [String]
        /// Keys of the contract that a later version brings.
        var later: [String] = []
    }

    static let top = Section(
        path: "",
        keys: [
            "listen", "admin", "data", "store", "workers", "user", "trusted_proxies", "backends", "timeouts", "limits",
            "routes", "shadow", "writes", "fallback", "plan", "expose", "tracing", "access_log",
        ], later: ["migration", "backup"])
    static let listener = Section(path: "listen[]", keys: ["address", "tls", "http2", "connections"])
    static let listenerTLS = Section(
        path: "listen[].tls",
        keys: ["certificate_file", "key_file", "certificates", "client_ca_file", "client_certificate"])
    static let certificate = Section(path: "listen[].tls.certificates[]", keys: ["certificate_file", "key_file"])
    static let admin = Section(path: "admin", keys: ["listen", "tls", "allow_plaintext"])
    static let adminTLS = Section(path: "admin.tls", keys: listenerTLS.keys)
    static let adminCertificate = Section(path: "admin.tls.certificates[]", keys: certificate.keys)
    static let user = Section(path: "user", keys: ["from", "anonymous", "unverifiable", "algorithm", "salt"])
    static let userSource = Section(
        path: "user.from[]", keys: ["header", "cookie", "query", "path", "basic", "jwt", "signed_cookie"])
    static let jwt = Section(
        path: "user.from[].jwt",
        keys: [
            "header", "claim", "hs256_secret_file", "rs256_public_key_file", "es256_public_key_file", "algorithm",
            "public_key_file", "jwks_file", "issuer", "audience", "leeway", "require_exp",
        ])
    static let signedCookie = Section(
        path: "user.from[].signed_cookie", keys: ["name", "secret_file", "encoding", "require_expiry"])
    static let backends = Section(path: "backends", keys: ["legacy", "new"])
    static let backend = Section(
        path: "backends.SIDE", keys: ["url", "connect_timeout", "timeout", "max_connections", "tls"])
    static let backendTLS = Section(
        path: "backends.SIDE.tls", keys: ["verify", "ca_file", "server_name", "certificate_file", "key_file"])
    static let timeouts = Section(path: "timeouts", keys: ["client_idle", "head", "body", "drain"])
    static let limits = Section(
        path: "limits",
        keys: ["target", "header_line", "headers", "header_lines", "connections", "connections_per_address", "tunnels"])
    static let route = Section(
        path: "routes[]",
        keys: [
            "match", "kind", "user", "items", "record", "revision", "idempotency_key",
            "require_idempotency_key", "conditionals", "read",
        ])
    static let shadow = Section(
        path: "shadow",
        keys: [
            "percent", "ignore", "unordered", "headers", "body_max", "in_flight_max", "recheck_after", "keep_values",
        ])
    static let writes = Section(
        path: "writes", keys: ["body_max", "retry_min", "retry_max", "answer", "idempotency_retention"])
    static let fallback = Section(path: "fallback", keys: ["on", "breaker"])
    static let breaker = Section(
        path: "fallback.breaker", keys: ["errors", "window", "min_requests", "open_for"])

    static let accessLog = Section(
        path: "access_log", keys: ["file", "format", "sample", "always", "client", "user", "query", "redact"])
    static let tracing = Section(path: "tracing", keys: ["context", "sample", "otlp"])

    /// The sections of the configuration file.
    static let configuration = [
        top, listener, listenerTLS, certificate, admin, adminTLS, adminCertificate, user, userSource, jwt, signedCookie,
        backends, backend, backendTLS, timeouts, limits, route, shadow, writes, fallback, breaker, tracing, accessLog,
    ]

    static let plan = Section(
        path: "",
        keys: [
            "name", "stages", "gates", "window", "min_samples", "confidence", "on_breach", "promote", "keep",
            "rollback_window", "alerts",
        ])
    static let stage = Section(path: "stages[]", keys: ["name", "percent", "shadow", "dual_write", "hold"])
    static let gates = Section(
        path: "gates",
        keys: ["read_error_rate", "write_p95", "conflict_rate", "fallback_rate", "mismatch_rate", "journal_lag"])
    static let alerts = Section(path: "alerts", keys: ["webhook", "webhook_file", "format", "lag"])

    /// A gate that judges new by itself and against legacy.
    static func limits(_ gate: String) -> Section { Section(path: "gates.\(gate)", keys: ["max", "over_legacy"]) }

    /// The sections of a plan file.
    static let planFile = [plan, stage, gates, limits("read_error_rate"), limits("write_p95"), alerts]

    /// What an unknown key was meant to be: a near key of its section, else the section where the key belongs.
    static func suggestion(for key: String, in section: Section) -> String? {
        if let near = Suggestion.nearest(to: key, among: section.keys) { return near }
        let file = planFile.contains { $0.keys == section.keys } ? planFile : configuration
        let homes = file.filter { !$0.path.isEmpty && $0.keys.contains(key) }
        return homes.count == 1 ? homes.first.map { $0.path + "." + key } : nil
    }
}

internal import Rollout
internal import Routing

/// What no key can tell on its own: values that do not go together. A key that is wrong already is left alone.
struct SemanticChecks {
    let settings: Settings
    let listenerPaths: [String]
    let diagnostics: Diagnostics

    func run() {
        checkAddresses()
        checkAdmin()
        checkBackends()
        checkOrder()
        checkTracing()
        checkIdentity()
    }

    private struct Listener {
        var path: String
        var address: HostPort
    }

    private var listeners: [Listener] {
        var listeners: [Listener] = []
        func add(_ path: String, _ address: String) {
            if let parsed = try? Value.address(address) { listeners.append(Listener(path: path, address: parsed)) }
        }
        for (listener, path) in zip(settings.listeners, listenerPaths) { add(path, listener.address) }
        add("admin.listen", settings.admin.address)
        return listeners
    }

    private func checkAddresses() {
        var before: [Listener] = []
        for listener in listeners {
            if let other = before.first(where: { $0.address.clashes(with: listener.address) }) {
                // A default that clashes is no fault of its own: the key that somebody wrote is named.
                let isOther = !diagnostics.isGiven(listener.path) && diagnostics.isGiven(other.path)
                let (named, rival) = isOther ? (other, listener) : (listener, other)
                diagnostics.error(
                    named.path, value: named.address.text, "a clash with \(rival.path) (\(rival.address.text)) in",
                    accepted: "an address of its own")
            }
            before.append(listener)
        }
    }

    /// Who reads the network reads the token, and with it has the rollout.
    private func checkAdmin() {
        let admin = settings.admin
        guard admin.tls == nil, !settings.adminAllowsPlaintext, !failed("admin.listen", "admin.allow_plaintext"),
            let address = try? Value.address(admin.address), !address.isLoopback
        else { return }
        diagnostics.error(
            "admin.listen", value: address.text, "tokens would cross the network unencrypted to reach",
            accepted: "this address with admin.tls; 127.0.0.1 or [::1]; "
                + "where the network itself is private, this address with admin.allow_plaintext: true")
    }

    private func checkBackends() {
        let legacy = settings.legacy
        let new = settings.new
        if !legacy.host.isEmpty, legacy.host == new.host, legacy.port == new.port, legacy.pathPrefix == new.pathPrefix {
            diagnostics.error(
                "backends.new.url", value: new.urlText, "the same backend as legacy",
                accepted: "the URL of another backend")
        }
        for (side, backend) in [("legacy", legacy), ("new", new)] where !backend.host.isEmpty {
            let address = HostPort(host: backend.host, port: backend.port, isIPv6: backend.host.contains(":"))
            if backend.tls != nil, backend.scheme == "http" {
                diagnostics.error(
                    "backends.\(side).tls", "of no use with an http URL", accepted: "tls beside a URL with https://")
            }
            // A gateway that is its own backend sends every request round in circles.
            if let own = listeners.first(where: { $0.address.isReached(by: address) }) {
                diagnostics.error(
                    "backends.\(side).url", value: backend.urlText, "the gateway's own address (\(own.path))",
                    accepted: "a URL that leads to another server")
            }
        }
    }

    private func checkOrder() {
        let writes = settings.writes
        if writes.retryMinMilliseconds > writes.retryMaxMilliseconds, !failed("writes.retry_min", "writes.retry_max") {
            let least = Value.durationText(writes.retryMinMilliseconds)
            let most = Value.durationText(writes.retryMaxMilliseconds)
            if diagnostics.isGiven("writes.retry_min") {
                diagnostics.error(
                    "writes.retry_min", value: least, "longer than retry_max (\(most))", accepted: "up to \(most)")
            } else {
                diagnostics.error(
                    "writes.retry_max", value: most, "shorter than retry_min (\(least))", accepted: "from \(least)")
            }
        }
        let limits = settings.limits
        let parts = [("target", limits.targetBytes), ("header_line", limits.headerLineBytes)]
        for (key, bytes) in parts where bytes > limits.headerBytes && !failed("limits.\(key)", "limits.headers") {
            let path = diagnostics.isGiven("limits.\(key)") ? "limits.\(key)" : "limits.headers"
            diagnostics.error(
                path, "\(key) (\(Value.sizeText(bytes))) is above headers (\(Value.sizeText(limits.headerBytes)))",
                accepted: "\(key) up to the size of headers")
        }
    }

    /// The backends' spans would hang from the client's, beside those that the gateway exports.
    private func checkTracing() {
        guard settings.tracing.context == .pass, settings.tracing.otlp != nil else { return }
        diagnostics.error(
            "tracing.otlp", "does not go with context: pass, by which backends never hear of the gateway's spans",
            accepted: "context: continue or start")
    }

    /// What was meant to be proved and is not, because of the order of the sources or for want of one that verifies.
    private func checkIdentity() {
        let sources = settings.user.from
        guard let proof = sources.firstIndex(where: \.verifies) else {
            if settings.user.unverifiable == .refused {
                diagnostics.warn(
                    "user.unverifiable", value: settings.user.unverifiable.rawValue,
                    "no source of user.from verifies an id (jwt and signed_cookie do), so nobody is ever answered")
            }
            return
        }
        // Headers are believed from trusted proxies only, where those are named: they have verified it.
        let plain = sources[..<proof].firstIndex { source in
            if case .header = source { settings.trustedProxies == nil } else { true }
        }
        guard let plain else { return }
        diagnostics.warn(
            "user.from[\(plain)]",
            "anybody can write this source, and it names the user before \(sources[proof].key) in user.from[\(proof)] "
                + "is looked at")
    }

    private func failed(_ paths: String...) -> Bool { paths.contains { diagnostics.hasFailed($0) } }
}

extension UserSource {
    /// It believes nothing that is not signed.
    fileprivate var verifies: Bool {
        switch self {
        case .jwt, .signedCookie: true
        case .header, .cookie, .query, .path, .basic: false
        }
    }

    /// Its key in the configuration.
    fileprivate var key: String {
        switch self {
        case .header: "header"
        case .cookie: "cookie"
        case .query: "query"
        case .path: "path"
        case .basic: "basic"
        case .jwt: "jwt"
        case .signedCookie: "signed_cookie"
        }
    }
}

extension HostPort {
    /// Two sockets that cannot both listen; port 0 picks a free one each time.
    func clashes(with other: HostPort) -> Bool {
        guard port == other.port, port != 0 else { return false }
        return host == other.host || isWildcard || other.isWildcard || isLocal(other)
    }

    /// Whether a connection to an address ends at this listener.
    func isReached(by other: HostPort) -> Bool {
        guard port == other.port, port != 0 else { return false }
        return host == other.host || (isWildcard && (other.isLoopback || other.isWildcard)) || isLocal(other)
    }

    private func isLocal(_ other: HostPort) -> Bool {
        (host == "localhost" && other.isLoopback) || (other.host == "localhost" && isLoopback)
    }
}

extension BackendSettings {
    /// The URL as the settings hold it, for messages.
    package var urlText: String {
        "\(scheme)://" + HostPort(host: host, port: port, isIPv6: host.contains(":")).text + pathPrefix
    }
}

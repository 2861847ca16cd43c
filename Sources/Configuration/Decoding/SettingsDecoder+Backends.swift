internal import Rollout

extension SettingsDecoder {
    mutating func decodeBackends(_ top: Section) {
        guard let section = top.section("backends", Schema.backends) else { return }
        if let backend = section.section("legacy", Schema.backend) { settings.legacy = self.backend(backend, .legacy) }
        if let backend = section.section("new", Schema.backend) { settings.new = self.backend(backend, .new) }
    }

    private mutating func backend(_ section: Section, _ side: Side) -> BackendSettings {
        var backend = BackendSettings()
        if let url = section.value("url", Value.backendURL) {
            backend.take(url)
            backendsGiven.insert(side)
        }
        section.set(&backend.connectTimeoutMilliseconds, "connect_timeout", Value.duration(from: 1))
        section.set(&backend.timeoutMilliseconds, "timeout", Value.duration(from: 1))
        section.setPlain(&backend.maxConnections, "max_connections", Value.integer(1...65_535))
        if let tls = section.section("tls", Schema.backendTLS) {
            var values = TLSBackendSettings()
            tls.setPlain(&values.verify, "verify", Value.boolean)
            values.caFile = filePath(tls, "ca_file")
            values.serverName = tls.value("server_name", Value.serverName)
            if tls.has("certificate_file") || tls.has("key_file") { values.certificate = certificate(tls) }
            backend.tls = values
        }
        return backend
    }

    mutating func decodeTimeouts(_ top: Section) {
        guard let section = top.section("timeouts", Schema.timeouts) else { return }
        section.set(&settings.timeouts.clientIdleMilliseconds, "client_idle", Value.duration(from: 1))
        section.set(&settings.timeouts.headMilliseconds, "head", Value.duration(from: 1))
        section.set(&settings.timeouts.bodyMilliseconds, "body", Value.duration(from: 1))
        section.set(&settings.timeouts.drainMilliseconds, "drain", Value.duration(from: 0))
    }

    mutating func decodeLimits(_ top: Section) {
        guard let section = top.section("limits", Schema.limits) else { return }
        section.set(&settings.limits.targetBytes, "target", Value.size(64...(1 << 20)))
        section.set(&settings.limits.headerLineBytes, "header_line", Value.size(64...(1 << 20)))
        section.set(&settings.limits.headerBytes, "headers", Value.size(1024...(1 << 20)))
        section.setPlain(&settings.limits.headerLines, "header_lines", Value.integer(1...10_000))
        section.setPlain(&settings.limits.connections, "connections", Value.integer(1...10_000_000))
        section.setPlain(
            &settings.limits.connectionsPerAddress, "connections_per_address", Value.integer(0...10_000_000))
        section.setPlain(&settings.limits.tunnels, "tunnels", Value.integer(0...10_000_000))
    }
}

extension BackendSettings {
    /// Takes scheme, host, port and path prefix from a URL.
    mutating func take(_ url: BackendURL) {
        scheme = url.scheme
        host = url.host
        port = url.port
        pathPrefix = url.pathPrefix
    }
}

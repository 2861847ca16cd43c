extension SettingsDecoder {
    mutating func decodeListeners(_ top: Section) {
        guard let node = top.node("listen") else { return }
        guard case .sequence = node.content else {
            if let listener = listener(node, path: "listen") { settings.listeners = [listener] }
            return
        }
        let items = top.list("listen", of: "addresses, or mappings with address, tls, http2 and connections") ?? []
        if items.isEmpty {
            diagnostics.error("listen", line: node.line, "an empty list", accepted: "one address or more")
        }
        settings.listeners = []
        listenerPaths = []
        for item in items {
            guard let listener = listener(item.node, path: item.path) else { continue }
            settings.listeners.append(listener)
            listenerPaths.append(item.path)
        }
    }

    /// `host:port`, or a mapping with address, tls, http2 and connections.
    private mutating func listener(_ node: Node, path: String) -> ListenerSettings? {
        guard case .mapping = node.content else {
            return Section.value(node, path: path, line: node.line, diagnostics, Value.address).map {
                ListenerSettings(address: $0.text)
            }
        }
        guard let section = Section(node, path: path, schema: Schema.listener, diagnostics: diagnostics) else {
            return nil
        }
        var tls = tls(section, Schema.listenerTLS, Schema.certificate)
        section.requireKey("address", accepted: "host:port")
        // With TLS both sides agree on it in the handshake; without, it is for clients that know beforehand.
        let http2 = section.value("http2", Value.boolean) ?? (tls != nil)
        tls?.offersHTTP2 = http2
        let connections = section.plain("connections", Value.integer(0...10_000_000)) ?? 0
        return section.value("address", Value.address).map {
            ListenerSettings(address: $0.text, tls: tls, http2: http2, connections: connections)
        }
    }

    mutating func decodeAdmin(_ top: Section) {
        guard let section = top.section("admin", Schema.admin) else { return }
        if let address = section.value("listen", Value.address) { settings.admin.address = address.text }
        settings.admin.tls = tls(section, Schema.adminTLS, Schema.adminCertificate)
        section.setPlain(&settings.adminAllowsPlaintext, "allow_plaintext", Value.boolean)
    }

    private mutating func tls(
        _ section: Section, _ schema: Schema.Section, _ certificate: Schema.Section
    ) -> TLSListenerSettings? {
        guard let tls = section.section("tls", schema) else { return nil }
        let list = tls.list("certificates", of: "mappings with certificate_file and key_file")
        var certificates: [CertificateFiles] = []
        // One certificate stands in the section itself; more, or all, in the list.
        if list == nil || tls.has("certificate_file") || tls.has("key_file") {
            if let own = self.certificate(tls) { certificates.append(own) }
        }
        for item in list ?? [] {
            guard
                let section = Section(item.node, path: item.path, schema: certificate, diagnostics: diagnostics),
                let more = self.certificate(section)
            else { continue }
            certificates.append(more)
        }
        if let list, list.isEmpty, certificates.isEmpty {
            diagnostics.error(tls.path("certificates"), "an empty list", accepted: "one certificate or more")
        } else if certificates.count > SettingsDecoder.certificatesMax {
            diagnostics.error(
                tls.path("certificates"), "\(certificates.count) certificates",
                accepted: "\(SettingsDecoder.certificatesMax) at most")
        }
        let clientCA = filePath(tls, "client_ca_file")
        let isOptional = tls.value("client_certificate", SettingsDecoder.clientCertificate)
        if isOptional != nil, !tls.has("client_ca_file") {
            diagnostics.error(
                tls.path("client_certificate"), "of no use without client_ca_file",
                accepted: "client_ca_file beside it")
        }
        if certificates.isEmpty {
            // Whoever knows what has to be in the files sees nothing of this section; that they are there can be told.
            if let clientCA { requiredFiles.append((clientCA, tls.path("client_ca_file"))) }
            return nil
        }
        var settings = TLSListenerSettings(certificates: certificates, clientCAFile: clientCA, keyPath: tls.path)
        settings.isClientCertificateOptional = isOptional ?? false
        return settings
    }

    /// Each handshake looks for its name among all of them.
    private static let certificatesMax = 100

    private static func clientCertificate(_ text: String) throws(ValueProblem) -> Bool {
        switch text {
        case "required": return false
        case "optional": return true
        default: throw ValueProblem("not known", accepted: "required, optional")
        }
    }

    /// The files of one certificate; nil when they are not both there (then reported).
    mutating func certificate(_ section: Section) -> CertificateFiles? {
        section.requireKey("certificate_file", accepted: "a PEM file")
        section.requireKey("key_file", accepted: "a PEM file")
        let files = ["certificate_file", "key_file"].compactMap { key in
            filePath(section, key).map { (path: $0, keyPath: section.path(key)) }
        }
        guard files.count == 2 else {
            requiredFiles += files
            return nil
        }
        return CertificateFiles(certificateFile: files[0].path, keyFile: files[1].path, keyPath: section.path)
    }
}

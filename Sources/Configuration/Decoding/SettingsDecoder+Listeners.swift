extension SettingsDecoder {
    mutating func decodeListeners(_ top: Section) {
        guard let node = top.node("listen") else { return }
        guard case .sequence = node.content else {
            if let listener = listener(node, path: "listen") { settings.listeners = [listener] }
            return
        }
        let items = top.list("listen", of: "addresses, or mappings with address, tls and http2") ?? []
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

    /// `host:port`, or a mapping with address, tls and http2.
    private func listener(_ node: Node, path: String) -> ListenerSettings? {
        guard case .mapping = node.content else {
            return Section.value(node, path: path, line: node.line, diagnostics, Value.address).map {
                ListenerSettings(address: $0.text)
            }
        }
        guard let section = Section(node, path: path, schema: Schema.listener, diagnostics: diagnostics) else {
            return nil
        }
        let tls = tls(section, Schema.listenerTLS)
        section.requireKey("address", accepted: "host:port")
        let http2 = section.value("http2", Value.boolean) ?? false
        return section.value("address", Value.address).map {
            ListenerSettings(address: $0.text, tls: tls, http2: http2)
        }
    }

    mutating func decodeAdmin(_ top: Section) {
        guard let section = top.section("admin", Schema.admin) else { return }
        if let address = section.value("listen", Value.address) { settings.admin.address = address.text }
        settings.admin.tls = tls(section, Schema.adminTLS)
        section.setPlain(&settings.adminAllowsPlaintext, "allow_plaintext", Value.boolean)
    }

    private func tls(_ section: Section, _ schema: Schema.Section) -> TLSListenerSettings? {
        guard let tls = section.section("tls", schema) else { return nil }
        tls.requireKey("certificate_file", accepted: "a PEM file")
        tls.requireKey("key_file", accepted: "a PEM file")
        let clientCA = filePath(tls, "client_ca_file")
        guard let certificate = filePath(tls, "certificate_file"), let key = filePath(tls, "key_file") else {
            return nil
        }
        return TLSListenerSettings(certificateFile: certificate, keyFile: key, clientCAFile: clientCA)
    }
}

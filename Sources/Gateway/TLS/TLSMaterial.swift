package import Configuration
import Synchronization
package import Telemetry

/// All certificates, keys and authorities that settings name, ready for use. Immutable, any thread.
package struct TLSMaterial: Sendable {
    /// In the order of the listeners; nil for one without TLS.
    let listeners: [TLSServer?]
    let admin: TLSServer?
    let legacy: TLSClient?
    let new: TLSClient?

    /// For a gateway without TLS.
    package init() {
        listeners = []
        admin = nil
        legacy = nil
        new = nil
    }

    /// Reads the files. Blocks.
    /// - Parameters:
    ///   - old: what has not changed since is taken over, its sessions with it.
    ///   - findings: gets what is wrong; what has an error is left out.
    init(_ settings: Settings, old: TLSMaterial?, findings: inout [FileFinding]) {
        func server(_ wanted: TLSListenerSettings?, _ old: TLSServer?) -> TLSServer? {
            guard let wanted else { return nil }
            if let old, old.isCurrent(wanted) { return old }
            return TLSServer(wanted, findings: &findings)
        }
        func client(_ wanted: BackendSettings, _ side: String, _ old: TLSClient?) -> TLSClient? {
            guard wanted.scheme == "https" else { return nil }
            if let old, old.isCurrent(wanted) { return old }
            return TLSClient(wanted, side: side, findings: &findings)
        }
        let open = old?.listeners ?? []
        listeners = settings.listeners.enumerated().map { server($1.tls, $0 < open.count ? open[$0] : nil) }
        admin = server(settings.admin.tls, old?.admin)
        legacy = client(settings.legacy, "legacy", old?.legacy)
        new = client(settings.new, "new", old?.new)
    }

    /// When the certificates of all listeners end.
    package var certificateEnds: [CertificateEnd] {
        listeners.flatMap { $0?.ends(.client) ?? [] } + (admin?.ends(.admin) ?? [])
    }

    /// What is wrong with the files that settings name, for `check` and `serve` alike. Blocks.
    package static let inspection: FileInspection = { settings in
        var findings: [FileFinding] = []
        var settings = settings
        // Where the URL is what is wrong, the files beside it are looked at all the same: all errors at once.
        if settings.legacy.tls != nil { settings.legacy.scheme = "https" }
        if settings.new.tls != nil { settings.new.scheme = "https" }
        _ = TLSMaterial(settings, old: nil, findings: &findings)
        return findings
    }

    /// Reads the files again. Blocks.
    /// - Throws: the first thing that is wrong.
    package init(_ settings: Settings, replacing old: TLSMaterial? = nil) throws(TLSMaterialError) {
        var findings: [FileFinding] = []
        self.init(settings, old: old, findings: &findings)
        if let error = findings.first(where: { !$0.isWarning }) {
            throw TLSMaterialError(text: "\(error.keyPath): \(error.problem) \(error.file)")
        }
        let made = listeners + [admin]
        let wanted = settings.listeners.map(\.tls) + [settings.admin.tls]
        let isWhole =
            zip(made, wanted).allSatisfy { ($0 == nil) == ($1 == nil) }
            && (legacy != nil) == (settings.legacy.scheme == "https")
            && (new != nil) == (settings.new.scheme == "https")
        // A backend that OpenSSL makes nothing for must not be spoken to without TLS.
        guard isWhole else { throw TLSMaterialError(text: "tls: OpenSSL could not be set up") }
    }
}

/// Why certificates and keys cannot be used.
package struct TLSMaterialError: Error, Sendable {
    package let text: String
}

/// The material in force, and what of it the listeners show. Any thread.
package final class TLSStanding: Sendable {
    private let material: Mutex<TLSMaterial>
    /// In the order of the listeners.
    let ports: [TLSPort?]
    package let admin: AdminTLS?

    package init(_ material: TLSMaterial) {
        self.material = Mutex(material)
        ports = material.listeners.map { $0.map(TLSPort.init) }
        admin = material.admin.map { AdminTLS(port: TLSPort($0)) }
    }

    package var current: TLSMaterial { material.withLock { $0 } }

    /// Puts other material in force for handshakes from now on; the number of listeners is the same.
    package func use(_ fresh: TLSMaterial) {
        material.withLock { $0 = fresh }
        for (port, server) in zip(ports, fresh.listeners) { if let server { port?.use(server) } }
        if let server = fresh.admin { admin?.port.use(server) }
    }
}

/// The certificates of the admin listener.
package struct AdminTLS: Sendable {
    let port: TLSPort

    init(port: TLSPort) { self.port = port }

    /// For a service of its own: one certificate, for whatever name it is asked for. Blocks.
    package init(certificateFile: String, keyFile: String) throws(TLSMaterialError) {
        var findings: [FileFinding] = []
        let files = CertificateFiles(certificateFile: certificateFile, keyFile: keyFile)
        let server = TLSServer(TLSListenerSettings(certificates: [files]), findings: &findings)
        if let error = findings.first(where: { !$0.isWarning }) {
            throw TLSMaterialError(text: "\(error.problem) \(error.file)")
        }
        guard let server else { throw TLSMaterialError(text: "OpenSSL could not be set up") }
        port = TLSPort(server)
    }
}

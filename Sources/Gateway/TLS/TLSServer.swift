import COpenSSL
import Configuration
import Synchronization
import Telemetry

/// The certificates of one listener, for all of its loops. Immutable, any thread: an SSL_CTX that nobody changes is.
///
/// Unsafe inside: it owns its contexts and frees them at its end, which every stream made by it puts off.
final class TLSServer: @unchecked Sendable {
    let settings: TLSListenerSettings
    private let digest: FileDigest
    /// One a certificate, in the order of the settings. All but the certificate is the same.
    private let contexts: [OpaquePointer]

    /// A longer session is asked for its certificate again.
    private static let sessionSeconds = 3600
    private static let clientCertificateSeconds = 300
    /// What is longer is no name of a host (RFC 1035 §2.3.4).
    private static let hostBytesMax = 255

    /// - Parameter findings: gets what is wrong; with an error among it there is no server.
    init?(_ settings: TLSListenerSettings, findings: inout [FileFinding]) {
        self.settings = settings
        // Before the files are used: one that changes meanwhile is looked at again by the next reload.
        digest = FileDigest(of: TLSServer.files(settings))
        var contexts: [OpaquePointer] = []
        var found: [FileFinding] = []
        for files in settings.certificates {
            guard let context = SSL_CTX_new(TLS_server_method()) else { continue }
            contexts.append(context)
            found += TLSServer.prepare(context, files, settings, isFirst: contexts.count == 1)
        }
        self.contexts = contexts
        findings += found
        guard let first = contexts.first, contexts.count == settings.certificates.count,
            !found.contains(where: { !$0.isWarning })
        else {
            return nil
        }
        // The object outlives its contexts' SSLs, each of which keeps it through its stream.
        ctls_set_server_name_callback(first, chooseCertificate, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The first name of each certificate, and when it ends.
    func ends(_ listener: TLSPeer) -> [CertificateEnd] {
        contexts.compactMap { context in
            guard let certificate = SSL_CTX_get0_certificate(context) else { return nil }
            let end = ctls_certificate_end(certificate)
            // A host name has 253 bytes at most; what else a subject may hold is cut.
            var name = [CChar](repeating: 0, count: 256)
            ctls_certificate_name(certificate, &name, name.count)
            let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return end < 0 ? nil : CertificateEnd(listener: listener, serverName: text, endsAt: Double(end))
        }
    }

    deinit { for context in contexts { SSL_CTX_free(context) } }

    private static func files(_ settings: TLSListenerSettings) -> [String] {
        settings.certificates.flatMap { [$0.certificateFile, $0.keyFile] } + (settings.clientCAFile.map { [$0] } ?? [])
    }

    /// Whether settings and files are what this was made of: then its session tickets stay good.
    func isCurrent(_ settings: TLSListenerSettings) -> Bool {
        settings == self.settings && digest == FileDigest(of: TLSServer.files(settings))
    }

    private static func prepare(
        _ context: OpaquePointer, _ files: CertificateFiles, _ settings: TLSListenerSettings, isFirst: Bool
    ) -> [FileFinding] {
        ctls_prepare(context)
        _ = ctls_set_ciphers(context)
        if settings.offersHTTP2 {
            SSL_CTX_set_alpn_select_cb(context, chooseHTTP2OrOlder, nil)
        } else {
            SSL_CTX_set_alpn_select_cb(context, chooseOlder, nil)
        }
        var seconds = sessionSeconds
        // Sessions of clients with certificates are only resumed where the certificate would have been asked for.
        let id = Array("cutover".utf8)
        _ = SSL_CTX_set_session_id_context(context, id, UInt32(id.count))
        var loading = CertificateLoading(into: context)
        loading.use(files)
        if let authorities = settings.clientCAFile {
            seconds = clientCertificateSeconds
            if isFirst {
                loading.trust(authorities, keyPath: settings.keyPath + ".client_ca_file", asked: true)
            } else {
                // The first context has found everything that is wrong with it.
                var again = CertificateLoading(into: context)
                again.trust(authorities, keyPath: "", asked: true)
            }
            let mode =
                settings.isClientCertificateOptional
                ? SSL_VERIFY_PEER : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
            SSL_CTX_set_verify(context, mode, nil)
        }
        SSL_CTX_set_timeout(context, seconds)
        return loading.findings
    }

    /// The server's side of a connection that was accepted; nil when there is no memory.
    func stream(fd: Int32) -> TLSStream? {
        guard let ssl = SSL_new(contexts[0]) else { return nil }
        SSL_set_accept_state(ssl)
        return TLSStream(ssl, fd: fd, maker: self)
    }

    /// The first certificate that names a host, literally before by wildcard; nil when none does.
    fileprivate func context(for host: UnsafePointer<CChar>) -> OpaquePointer? {
        guard contexts.count > 1 else { return nil }
        return context(for: host, UInt32(X509_CHECK_FLAG_NO_WILDCARDS))
            ?? withoutUnderscores(host) { context(for: $0, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)) }
    }

    private func context(for host: UnsafePointer<CChar>, _ flags: UInt32) -> OpaquePointer? {
        contexts.first { context in
            guard let certificate = SSL_CTX_get0_certificate(context) else { return false }
            return X509_check_host(certificate, host, 0, flags, nil) == 1
        }
    }

    /// Calls `body` with the host as a wildcard may stand for it: that its first label holds underscores keeps OpenSSL from
    /// finding `*.example.com` for `my_app.example.com`, which clients do. No certificate names the label itself, or it would
    /// have been found literally.
    private func withoutUnderscores<Result>(
        _ host: UnsafePointer<CChar>, _ body: (UnsafePointer<CChar>) -> Result?
    ) -> Result? {
        let count = strlen(host)
        let label = strcspn(host, ".")
        guard count <= TLSServer.hostBytesMax, memchr(host, Int32(UInt8(ascii: "_")), label) != nil else {
            return body(host)
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { copy in
            guard let base = copy.baseAddress else { return nil }
            for i in 0...count {
                base[i] = i < label && host[i] == CChar(UInt8(ascii: "_")) ? CChar(UInt8(ascii: "x")) : host[i]
            }
            return body(base)
        }
    }
}

/// OpenSSL asks which certificate to show (RFC 6066 §3). On the loop of the connection.
private func chooseCertificate(
    _ ssl: OpaquePointer?, _ alert: UnsafeMutablePointer<Int32>?, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let ssl, let argument, let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else {
        return SSL_TLSEXT_ERR_NOACK
    }
    // The argument is the server that made the SSL, and is kept by its stream.
    let server = Unmanaged<TLSServer>.fromOpaque(argument).takeUnretainedValue()
    if let context = server.context(for: name) { SSL_set_SSL_CTX(ssl, context) }
    return SSL_TLSEXT_ERR_OK
}

/// OpenSSL asks which application protocol to speak (RFC 7301 §3.2): the first of these that the client offers.
private func chooseOlder(
    _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    choose(["http/1.1", "http/1.0"], chosen, chosenCount, offered, offeredCount)
}

/// The same for a listener that takes HTTP/2.
private func chooseHTTP2OrOlder(
    _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    choose(["h2", "http/1.1", "http/1.0"], chosen, chosenCount, offered, offeredCount)
}

private func choose(
    _ names: [StaticString], _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32
) -> Int32 {
    guard let offered, let chosen, let chosenCount else { return SSL_TLSEXT_ERR_NOACK }
    for name in names {
        var place = 0
        while place < Int(offeredCount) {
            let count = Int(offered[place])
            guard place + 1 + count <= Int(offeredCount) else { break }
            if count == name.utf8CodeUnitCount, memcmp(offered + place + 1, name.utf8Start, count) == 0 {
                chosen.pointee = offered + place + 1
                chosenCount.pointee = UInt8(count)
                return SSL_TLSEXT_ERR_OK
            }
            place += 1 + count
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// What a listener's new handshakes are made by: replaced by a reload, while connections go on as they began. Any thread.
final class TLSPort: Sendable {
    private let server: Mutex<TLSServer>

    init(_ server: TLSServer) { self.server = Mutex(server) }

    var current: TLSServer { server.withLock { $0 } }

    func use(_ fresh: TLSServer) { server.withLock { $0 = fresh } }
}

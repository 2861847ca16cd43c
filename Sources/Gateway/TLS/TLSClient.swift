import CLinux
import COpenSSL
import Configuration
import Synchronization
import Telemetry

/// How the gateway speaks TLS to one backend: whom it trusts and what it shows. Immutable but for the log's pace, any thread.
///
/// Unsafe inside: it owns its context and frees it at its end, which every stream made by it puts off.
final class TLSClient: @unchecked Sendable {
    let backend: BackendSettings
    private let digest: FileDigest
    private let context: OpaquePointer
    /// What the certificate has to name, and what is asked for.
    private let name: String
    private let isAddress: Bool
    private let lastLogged = Mutex<[TLSFailureReason: UInt64]>([:])

    /// The same reason is logged once in this time.
    private static let logMilliseconds: UInt64 = 60_000

    /// - Parameter findings: gets what is wrong; with an error among it there is no client.
    init?(_ backend: BackendSettings, side: String, findings: inout [FileFinding]) {
        let settings = backend.tls ?? TLSBackendSettings()
        self.backend = backend
        digest = FileDigest(of: TLSClient.files(settings))
        name = settings.serverName ?? backend.host
        isAddress = TLSClient.isAddress(name)
        guard let context = SSL_CTX_new(TLS_client_method()) else { return nil }
        self.context = context
        ctls_prepare(context)
        // What is left out by old servers is the backend's choice: DEFAULT of OpenSSL, from TLS 1.2 on.
        let offered = Array("\u{8}http/1.1".utf8)
        _ = SSL_CTX_set_alpn_protos(context, offered, UInt32(offered.count))
        var loading = CertificateLoading(into: context)
        if settings.verify {
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            if let file = settings.caFile {
                loading.trust(file, keyPath: "backends.\(side).tls.ca_file", asked: false)
            } else {
                SSL_CTX_set_default_verify_paths(context)
                ERR_clear_error()
            }
        }
        if let certificate = settings.certificate { loading.use(certificate) }
        findings += loading.findings
        if loading.findings.contains(where: { !$0.isWarning }) { return nil }
    }

    deinit { SSL_CTX_free(context) }

    private static func files(_ settings: TLSBackendSettings) -> [String] {
        [settings.caFile, settings.certificate?.certificateFile, settings.certificate?.keyFile].compactMap { $0 }
    }

    private static func isAddress(_ name: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1
    }

    /// Whether settings and files are what this was made of.
    func isCurrent(_ backend: BackendSettings) -> Bool {
        backend == self.backend && digest == FileDigest(of: TLSClient.files(backend.tls ?? TLSBackendSettings()))
    }

    /// The client's side of a connection; nil when there is no memory.
    /// - Parameter session: resumed when the backend agrees.
    func stream(fd: Int32, resuming session: TLSSession?) -> TLSStream? {
        guard let ssl = SSL_new(context) else { return nil }
        SSL_set_connect_state(ssl)
        SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        // Both are looked at only where the certificate is verified. An address is no host name (RFC 6066 §3).
        let isSet =
            isAddress
            ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1
            : SSL_set1_host(ssl, name) == 1 && ctls_set_server_name(ssl, name) == 1
        guard isSet else {
            SSL_free(ssl)
            return nil
        }
        session?.resume(on: ssl)
        return TLSStream(ssl, fd: fd, maker: self)
    }

    /// Tells the operator why, once a minute for each reason.
    func log(_ failure: TLSFailure, _ side: String, now: UInt64) {
        let isDue = lastLogged.withLock { last in
            if let at = last[failure.reason], now < at &+ TLSClient.logMilliseconds { return false }
            last[failure.reason] = now
            return true
        }
        guard isDue else { return }
        let wanted = failure.reason == .name ? " (\(name) was expected)" : ""
        logLine("backend \(side): no TLS connection (\(failure.reason.rawValue)): \(failure.detail)\(wanted)")
    }
}

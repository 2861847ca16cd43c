import Configuration
import HTTPClient

extension HTTPRequest {
    /// Takes over how a backend is spoken to: whom the gateway trusts there, and what it shows.
    mutating func useTLS(of backend: BackendSettings) {
        guard let tls = backend.tls else { return }
        authorityFile = tls.caFile
        verifiesPeer = tls.verify
        serverName = tls.serverName
        certificate = tls.certificate.map { ($0.certificateFile, $0.keyFile) }
    }
}

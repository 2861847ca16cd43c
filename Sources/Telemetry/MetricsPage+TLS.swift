/// When a certificate ends that a listener shows.
package struct CertificateEnd: Sendable, Equatable {
    /// `client` or `admin`.
    package var listener: TLSPeer
    /// The first host name in it.
    package var serverName: String
    /// Seconds since 1970.
    package var endsAt: Double

    package init(listener: TLSPeer, serverName: String, endsAt: Double) {
        self.listener = listener
        self.serverName = serverName
        self.endsAt = endsAt
    }
}

extension PrometheusText {
    /// The next end of all certificates with the same name; NaN for a listener without TLS, so that the series is there.
    mutating func certificates(_ all: [CertificateEnd]) {
        begin(
            "cutover_tls_certificate_expiry_timestamp_seconds", .gauge,
            "When the certificate that a listener shows ends, since unix epoch in seconds; NaN without TLS.")
        for listener in [TLSPeer.client, .admin] {
            var ends: [String: Double] = [:]
            for each in all where each.listener == listener {
                ends[each.serverName] = min(ends[each.serverName] ?? .infinity, each.endsAt)
            }
            if ends.isEmpty { ends[""] = .nan }
            for (name, end) in ends.sorted(by: { $0.key < $1.key }) {
                sample([("listener", listener.rawValue), ("server_name", name)], end)
            }
        }
    }

    /// Handshakes with clients, and with backends.
    mutating func tls(_ snapshot: MetricsSnapshot) {
        begin(
            "cutover_tls_handshakes_total", .counter,
            "TLS handshakes with clients that held, by listener, version, and whether a session was resumed.")
        for peer in [TLSPeer.client, .admin] { handshakes(peer, [("listener", peer.rawValue)], snapshot) }
        begin(
            "cutover_tls_failures_total", .counter,
            "TLS handshakes with clients that came to nothing, by listener and reason.")
        for peer in [TLSPeer.client, .admin] { failures(peer, [("listener", peer.rawValue)], snapshot) }
        begin(
            "cutover_upstream_tls_handshakes_total", .counter,
            "TLS handshakes with this backend that held, by version, and whether a session was resumed.")
        for peer in [TLSPeer.legacy, .new] { handshakes(peer, [("backend", peer.rawValue)], snapshot) }
        begin(
            "cutover_upstream_tls_failures_total", .counter,
            "TLS handshakes with this backend that came to nothing, by reason; the log names the certificate.")
        for peer in [TLSPeer.legacy, .new] { failures(peer, [("backend", peer.rawValue)], snapshot) }
    }

    private mutating func handshakes(_ peer: TLSPeer, _ labels: [(String, String)], _ snapshot: MetricsSnapshot) {
        for (version, text) in ["1.2", "1.3"].enumerated() {
            for (resumed, word) in ["no", "yes"].enumerated() {
                let cell = Cells.tls + peer.index * Cells.tlsPerPeer + version * 2 + resumed
                sample(labels + [("version", text), ("resumed", word)], snapshot.counter(cell))
            }
        }
    }

    private mutating func failures(_ peer: TLSPeer, _ labels: [(String, String)], _ snapshot: MetricsSnapshot) {
        for reason in TLSFailureReason.allCases {
            let cell = Cells.tls + peer.index * Cells.tlsPerPeer + Cells.tlsFailures + reason.index
            sample(labels + [("reason", reason.rawValue)], snapshot.counter(cell))
        }
    }
}

import Configuration
import Rollout
package import Telemetry

/// What all loops share of one backend.
package final class SharedBackend: Sendable {
    let endpoint: Endpoint
    package let breaker: Breaker
    /// How it is spoken to; nil is without TLS.
    let tls: TLSClient?
    /// Without TLS it is not spoken to at all.
    let needsTLS: Bool

    init(_ settings: BackendSettings, breaker: BreakerSettings, tls: TLSClient? = nil) {
        self.tls = tls
        needsTLS = settings.scheme == "https"
        endpoint = Endpoint(host: settings.host, port: settings.port)
        self.breaker = Breaker(breaker)
    }
}

extension Side {
    /// The same backend in the words of the metrics.
    package var backend: Backend { self == .legacy ? .legacy : .new }
}

import Configuration
import Rollout
package import Telemetry

/// What all loops share of one backend.
package final class SharedBackend: Sendable {
    let endpoint: Endpoint
    package let breaker: Breaker

    init(_ settings: BackendSettings, breaker: BreakerSettings) {
        endpoint = Endpoint(host: settings.host, port: settings.port)
        self.breaker = Breaker(breaker)
    }
}

extension Side {
    /// The same backend in the words of the metrics.
    package var backend: Backend { self == .legacy ? .legacy : .new }
}

package import Comparison
package import Rollout
package import Routing

/// The whole configuration as values: what `cutover.yaml`, the plan and the flags came to.
package struct Settings: Sendable {
    package var listeners: [ListenerSettings] = [ListenerSettings(address: "127.0.0.1:8080")]
    package var admin = ListenerSettings(address: "127.0.0.1:9900")
    /// The admin listener may be off loopback without TLS: tokens and answers then cross the network as they are.
    package var adminAllowsPlaintext = false
    /// Directory of the embedded store and the tokens.
    package var dataDirectory = "./cutover-data"
    package var store = StoreSettings.sqlite
    /// Event loops; nil is `auto`, one a processor.
    package var workers: Int?
    package var user = UserSettings()
    /// Peers whose word on who asks, and from where, is taken; nil: that of any peer.
    package var trustedProxies: [AddressRange]?
    package var legacy = BackendSettings()
    package var new = BackendSettings()
    package var timeouts = TimeoutSettings()
    package var limits = LimitSettings()
    package var routes: [Route] = []
    package var shadow = ShadowSettings()
    package var writes = WriteSettings()
    package var fallback = FallbackSettings()
    package var plan: Plan?
    /// Path of the plan's file, for messages.
    package var planPath: String?
    /// False hides the `Cutover-` answer headers.
    package var expose = true
    package var tracing = TracingSettings()
    /// Nil: no line is written for a request.
    package var accessLog: AccessLogSettings?

    package init() {}

    package func backend(_ side: Side) -> BackendSettings { side == .legacy ? legacy : new }
}

package struct ListenerSettings: Sendable, Equatable {
    /// `host:port`; `[::1]:8080` for IPv6; port 0 picks a free one.
    package var address: String
    package var tls: TLSListenerSettings?
    /// Clients may speak HTTP/2 there.
    package var http2: Bool
    /// Connections there, over all workers; 0: no limit but `limits.connections`.
    package var connections: Int

    package init(address: String, tls: TLSListenerSettings? = nil, http2: Bool = false, connections: Int = 0) {
        self.address = address
        self.tls = tls
        self.http2 = http2
        self.connections = connections
    }
}

package struct TLSListenerSettings: Sendable, Equatable {
    /// Never empty; the first one is for clients that ask for no name, or for one that none has.
    package var certificates: [CertificateFiles]
    /// Authorities of the clients' certificates; nil asks for none.
    package var clientCAFile: String?
    /// Clients without a certificate are let in, too.
    package var isClientCertificateOptional = false
    /// HTTP/2 is offered in the handshake.
    package var offersHTTP2 = false
    /// Key path of the section, for messages.
    package var keyPath: String

    package init(certificates: [CertificateFiles], clientCAFile: String? = nil, keyPath: String = "") {
        self.certificates = certificates
        self.clientCAFile = clientCAFile
        self.keyPath = keyPath
    }
}

/// A certificate with what leads from it to its authority, and its key; both in PEM.
package struct CertificateFiles: Sendable, Equatable {
    package var certificateFile: String
    package var keyFile: String
    /// Key path of the section that names them, for messages.
    package var keyPath: String

    package init(certificateFile: String, keyFile: String, keyPath: String = "") {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.keyPath = keyPath
    }
}

package enum StoreSettings: Sendable, Equatable {
    case sqlite
    case postgresql(url: String)
}

package struct UserSettings: Sendable {
    /// The first source that yields an id wins.
    package var from: [UserSource] = [.header("X-User-Id")]
    package var anonymous = AnonymousPolicy.legacy
    package var unverifiable = UnverifiablePolicy.anonymous
    package var algorithm = BucketingAlgorithm.murmur3
    package var salt = "cutover"

    package init() {}
}

package enum AnonymousPolicy: Sendable, Equatable {
    case legacy
    /// Split anonymous requests by this header's value.
    case hash(header: String)
}

/// What becomes of a request whose token or signed cookie does not verify.
package enum UnverifiablePolicy: String, Sendable, Equatable, CaseIterable {
    /// It is nobody's: no other source that is not verified names its user.
    case anonymous
    /// It is answered with 401 and reaches no backend.
    case refused = "401"
}

package struct BackendSettings: Sendable, Equatable {
    /// Scheme, `http` or `https`.
    package var scheme = "http"
    package var host = ""
    package var port: UInt16 = 80
    /// Path prefix of the URL without a trailing slash; put in front of every target.
    package var pathPrefix = ""
    package var connectTimeoutMilliseconds: Int64 = 1000
    package var timeoutMilliseconds: Int64 = 10_000
    /// Connections a backend, over all workers.
    package var maxConnections = 256
    package var tls: TLSBackendSettings?

    package init() {}
}

package struct TLSBackendSettings: Sendable, Equatable {
    package var verify = true
    package var caFile: String?
    package var serverName: String?
    /// What the gateway shows of itself; nil shows nothing.
    package var certificate: CertificateFiles?

    package init() {}
}

package struct TimeoutSettings: Sendable, Equatable {
    package var clientIdleMilliseconds: Int64 = 75_000
    package var headMilliseconds: Int64 = 10_000
    package var bodyMilliseconds: Int64 = 30_000
    package var drainMilliseconds: Int64 = 30_000

    package init() {}
}

/// Limits on what a client may send (contract §8).
package struct LimitSettings: Sendable, Equatable {
    package var targetBytes = 8 * 1024
    package var headerLineBytes = 16 * 1024
    package var headerBytes = 64 * 1024
    package var headerLines = 200
    /// Client connections, over all workers.
    package var connections = 50_000
    /// Connections of one client, over all workers and listeners; 0: no limit.
    package var connectionsPerAddress = 0
    /// Tunnels (WebSocket), over all workers and both backends.
    package var tunnels = 5_000

    package init() {}
}

package struct ShadowSettings: Sendable {
    /// Share of users whose reads are shadowed, in hundredths of a percent (10000 = all).
    package var shareHundredths = 10_000
    package var comparison = ComparisonRules()
    /// Header names, lower case, that count in the comparison.
    package var headers: [String] = ["content-type"]
    package var bodyMaxBytes = 1 << 20
    package var inFlightMax = 256
    package var recheckAfterMilliseconds: Int64 = 1000
    package var keepValues = false

    package init() {}
}

package struct WriteSettings: Sendable, Equatable {
    package var bodyMaxBytes = 8 << 20
    package var retryMinMilliseconds: Int64 = 100
    package var retryMaxMilliseconds: Int64 = 30_000
    /// True: the client's answer waits for both legs.
    package var answersAfterBoth = false
    /// How long a first answer is kept for replay.
    package var idempotencyRetentionMilliseconds: Int64 = 24 * 3_600_000

    package init() {}
}

/// What becomes of `traceparent` and `tracestate` (W3C Trace Context).
package struct TracingSettings: Sendable, Equatable {
    package enum Context: String, Sendable, CaseIterable {
        /// A trace that a client brings goes on, with a span of the gateway's as the parent; none is begun.
        case `continue`
        /// So, and a request that brings none begins one.
        case start
        /// Passed on as they come.
        case pass
    }

    package var context = Context.continue
    /// Share of the traces begun here that are sampled, in hundredths of a percent.
    package var sampleHundredths = 100
    /// URL of a collector that spans are sent to (OTLP over HTTP); nil: none are.
    package var otlp: String?

    package init() {}
}

package struct FallbackSettings: Sendable, Equatable {
    package var onConnect = true
    package var onTimeout = true
    package var on5xx = true
    package var on404 = true
    package var breaker = BreakerSettings()

    package init() {}
}

package struct BreakerSettings: Sendable, Equatable {
    /// Share of failed requests, 0...1, that opens the breaker.
    package var errorRatio = 0.5
    package var windowMilliseconds: Int64 = 10_000
    package var minRequests = 20
    package var openForMilliseconds: Int64 = 5000

    package init() {}
}

import Comparison
import Rollout
import Routing
import Testing

@testable import Configuration

/// The example of the contract, word for word but for its placeholders.
let contractExample = """
    listen: 127.0.0.1:8080        # or a list of {address, tls: {certificate_file, key_file, client_ca_file}}
    admin:
      listen: 127.0.0.1:9900      # tls: as above
    data: ./cutover-data          # embedded store, admin token
    store: sqlite                 # or postgresql://user@host/db
    workers: auto                 # event loops; auto = processors
    user:
      from:                       # the first that yields an id wins
        - header: X-User-Id
        - cookie: uid
        - query: user_id
        - path: /users/{user_id}/**           # `/**` matches nothing, too; ids are percent-decoded
        - basic: true                         # user name of Basic authentication
        - jwt: {header: Authorization, claim: sub, hs256_secret_file: secret.key}
      anonymous: legacy           # or hash:<header>
      algorithm: murmur3          # murmur3 | unleash | launchdarkly | growthbook | flagd | nginx
      salt: my-migration          # immutable id of this migration, never a display name
    backends:
      legacy: {url: "http://127.0.0.1:7001", connect_timeout: 1s, timeout: 10s, max_connections: 256}
      new:    {url: "https://127.0.0.1:7002", connect_timeout: 1s, timeout: 10s, max_connections: 256, tls: {verify: true, ca_file: ca.pem, server_name: new.example}}
    timeouts: {client_idle: 75s, head: 10s, body: 30s, drain: 30s}
    routes:                       # first match wins; defaults: safe methods are reads, the others writes
      - {match: "POST /changes", kind: write, user: /userId, record: /recordId, revision: /revision, idempotency_key: /idempotencyKey}
      - {match: "POST /changes/batch", kind: write, user: /userId, items: /changes, record: /recordId, revision: /revision, idempotency_key: /batchKey}
      - {match: "PUT /notes/{record}", kind: write}
      - {match: "PROPFIND /**", kind: read}
      - {match: "* /login", kind: legacy}       # read | write | legacy | new | split
    shadow: {percent: 100, ignore: [/serverTime], unordered: [/items], headers: [content-type], body_max: 1MiB, in_flight_max: 256, recheck_after: 1s}
    writes: {body_max: 8MiB, retry_min: 100ms, retry_max: 30s, answer: authoritative}   # or both
    fallback: {on: [connect, timeout, 5xx, 404], breaker: {errors: 50%, window: 10s, min_requests: 20, open_for: 5s}}
    plan: rollout/staged.yaml

    """

/// The plan of the contract without its webhook.
let contractPlan = """
    name: my-migration
    stages:
      - {name: dual-write, percent: 0,   shadow: 0%}
      - {name: shadow,     percent: 0,   shadow: 100%, hold: 1h}
      - {name: canary,     percent: 1,   hold: 2h}
      - {name: early,      percent: 10,  hold: 4h}
      - {name: half,       percent: 50,  hold: 12h}
      - {name: full,       percent: 100, hold: 7d}
    gates: {read_error_rate: 0.5%, write_p95: 300ms, conflict_rate: 1%, fallback_rate: 0.5%, mismatch_rate: 0.1%, journal_lag: 30s}
    window: 5m
    min_samples: 200
    on_breach: rollback           # rollback (to the first stage of percent 0 that still dual-writes) | pause | alert
    promote: manual               # manual | automatic (after hold, when every gate passes)
    keep: 90d                     # how long legacy keeps being written after the last stage
    rollback_window: 24h          # how much of the journal stays replayable towards legacy

    """

/// The plan of the contract as values.
func expectContractPlan(_ plan: Plan?) {
    var expected = Plan(
        name: "my-migration",
        stages: [
            Stage(name: "dual-write", percentHundredths: 0, shadowHundredths: 0),
            Stage(name: "shadow", percentHundredths: 0, holdSeconds: 3600),
            Stage(name: "canary", percentHundredths: 100, holdSeconds: 2 * 3600),
            Stage(name: "early", percentHundredths: 1000, holdSeconds: 4 * 3600),
            Stage(name: "half", percentHundredths: 5000, holdSeconds: 12 * 3600),
            Stage(name: "full", percentHundredths: 10_000, holdSeconds: 7 * 86_400),
        ])
    expected.gates.readErrorRate = 0.005
    expected.gates.writeP95Seconds = 0.3
    expected.gates.conflictRate = 0.01
    expected.gates.fallbackRate = 0.005
    expected.gates.mismatchRate = 0.001
    expected.gates.journalLagSeconds = 30
    expected.windowSeconds = 300
    expected.minSamples = 200
    expected.onBreach = .rollback
    expected.promote = .manual
    expected.keepSeconds = 90 * 86_400
    expected.rollbackWindowSeconds = 86_400
    #expect(plan == expected)
}

@Suite struct ContractExampleTests {
    private let directory = ["secret.key": "k", "rollout/staged.yaml": contractPlan]

    private func decoded() throws -> Settings {
        let loading = Loading(file: "cutover.yaml", flags: ConfigurationFlags(), files: files(directory))
        let decoded = loading.decode(text: Array(contractExample.utf8))
        #expect(loading.diagnostics.errors.map(\.description) == [])
        #expect(decoded.planDiagnostics?.errors.map(\.description) == [])
        return decoded.settings
    }

    @Test func everyValueOfTheExampleIsRead() throws {
        let settings = try decoded()
        #expect(settings.listeners == [ListenerSettings(address: "127.0.0.1:8080")])
        #expect(settings.admin == ListenerSettings(address: "127.0.0.1:9900"))
        #expect(settings.dataDirectory == "./cutover-data")
        #expect(settings.store == .sqlite)
        #expect(settings.workers == nil)
        #expect(settings.expose)
        #expect(settings.planPath == "rollout/staged.yaml")
        expectContractPlan(settings.plan)
        #expect(settings.timeouts == TimeoutSettings())
        #expect(settings.limits == LimitSettings())
        #expect(settings.writes == WriteSettings())
        #expect(settings.fallback == FallbackSettings())
    }

    @Test func theUserOfTheExampleIsFoundInSixPlaces() throws {
        let user = try decoded().user
        let path = try #require(PathPattern("/users/{user_id}/**"))
        let token = JWTSource(header: "Authorization", claim: "sub", algorithm: .hs256, keyFile: "secret.key")
        #expect(
            user.from == [
                .header("X-User-Id"), .cookie("uid"), .query("user_id"), .path(path), .basic, .jwt(token),
            ])
        #expect(user.anonymous == .legacy)
        #expect(user.algorithm == .murmur3)
        #expect(user.salt == "my-migration")
    }

    @Test func theBackendsOfTheExampleAreRead() throws {
        let settings = try decoded()
        var legacy = BackendSettings()
        legacy.host = "127.0.0.1"
        legacy.port = 7001
        #expect(settings.legacy == legacy)
        var new = legacy
        new.scheme = "https"
        new.port = 7002
        new.tls = TLSBackendSettings()
        new.tls?.caFile = "ca.pem"
        new.tls?.serverName = "new.example"
        #expect(settings.new == new)
    }

    @Test func theRoutesOfTheExampleAreRead() throws {
        let routes = try decoded().routes
        try #require(routes.count == 5)
        #expect(routes.map(\.pattern.text).first == "POST /changes")
        #expect(routes.map(\.kind) == [.write, .write, .write, .read, .legacy])
        #expect(routes[0].user == "/userId" && routes[0].record == "/recordId" && routes[0].items == nil)
        #expect(routes[0].revision == "/revision" && routes[0].idempotencyKey == "/idempotencyKey")
        #expect(routes[1].items == "/changes" && routes[1].idempotencyKey == "/batchKey")
        #expect(routes[4].pattern.method == nil)
        #expect(!routes.contains { $0.keepsConditionals })
    }

    @Test func theShadowOfTheExampleIsRead() throws {
        let shadow = try decoded().shadow
        #expect(shadow.shareHundredths == 10_000)
        #expect(shadow.comparison.ignore.map(\.text) == ["/serverTime"])
        #expect(shadow.comparison.unordered.map(\.text) == ["/items"])
        #expect(shadow.headers == ["content-type"])
        #expect(shadow.bodyMaxBytes == 1 << 20 && shadow.inFlightMax == 256)
        #expect(shadow.recheckAfterMilliseconds == 1000 && !shadow.keepValues)
    }

    @Test func nothingOfTheExampleIsRefused() {
        #expect(load(contractExample, files: directory).messages == [])
    }
}

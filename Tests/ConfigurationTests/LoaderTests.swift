import FoundationEssentials
import Rollout
import Routing
import Testing

@testable import Configuration

@Suite struct LoaderTests {
    @Test func twoURLsAreEnough() throws {
        let outcome = ConfigurationLoader.load(
            file: nil, flags: ConfigurationFlags(legacy: "http://old.example:81/api/", new: "http://[::1]"))
        let settings = try #require(outcome.settings)
        #expect(settings.legacy.host == "old.example" && settings.legacy.port == 81)
        #expect(settings.legacy.pathPrefix == "/api")
        #expect(settings.new.host == "::1" && settings.new.port == 80 && settings.new.pathPrefix == "")
        #expect(settings.new.urlText == "http://[::1]:80")
        #expect(settings.listeners == [ListenerSettings(address: "127.0.0.1:8080")])
        #expect(settings.dataDirectory == "./cutover-data")
        #expect(settings.plan == nil)
        #expect(outcome.warnings == [])
    }

    @Test func withoutAFileTheFlagsThatLackAreNamed() {
        #expect(
            ConfigurationLoader.load(file: nil).messages == [
                "command line: --legacy: missing; accepted: http://host[:port][/prefix]",
                "command line: --new: missing; accepted: http://host[:port][/prefix]",
            ])
    }

    @Test func flagsOverrideTheFile() throws {
        let flags = ConfigurationFlags(
            listen: "127.0.0.1:1", admin: "[::1]:2", legacy: "http://c", new: "http://d", data: "here", plan: "q.yaml")
        let text = minimal + "listen: [127.0.0.1:5, 127.0.0.1:6]\ndata: there\nplan: p.yaml\n"
        let outcome = ConfigurationLoader.load(
            text: text, file: "etc/cutover.yaml", flags: flags,
            files: files(["q.yaml": "name: q\nstages: [{name: a, percent: 0}]"]))
        let settings = try #require(outcome.settings, "\(outcome.messages)")
        #expect(settings.listeners.map(\.address) == ["127.0.0.1:1"])
        #expect(settings.admin.address == "[::1]:2")
        #expect(settings.legacy.host == "c" && settings.new.host == "d")
        #expect(settings.legacy.port == 80)
        #expect(settings.dataDirectory == "here")
        #expect(settings.planPath == "q.yaml" && settings.plan?.name == "q")
    }

    @Test func wrongFlagsAreNamedByTheirFlag() {
        let flags = ConfigurationFlags(
            listen: "8080", admin: "x:y", legacy: "ftp://u:hunter2@a", new: "http://b", data: "", plan: "gone.yaml")
        #expect(
            load("", flags: flags).messages == [
                "command line: --listen: an address without its host \"8080\"; accepted: host:port, such as "
                    + "127.0.0.1:8080 or [::1]:8080; did you mean 127.0.0.1:8080?",
                "command line: --admin: not an address \"x:y\"; accepted: host:port, such as 127.0.0.1:8080 or "
                    + "[::1]:8080",
                "command line: --legacy: not an http or https URL \"ftp://[redacted]@a\"; accepted: "
                    + "http://host[:port][/prefix] or https://…",
                "command line: --data: empty \"\"; accepted: text that is not empty",
                "command line: --plan: cannot be read (No such file or directory) \"gone.yaml\"",
            ])
    }

    @Test func flagsThatClashAreNamedByTheirFlag() {
        let flags = ConfigurationFlags(listen: "127.0.0.1:7001", legacy: "http://b", new: "http://127.0.0.1:7001")
        #expect(
            load("", flags: flags).messages == [
                "command line: --new: the gateway's own address (listen) \"http://127.0.0.1:7001\"; accepted: a URL that leads to another server"
            ])
    }

    @Test func pathsAreRelativeToTheFile() throws {
        let text =
            minimal + """
                data: ./store
                plan: p.yaml
                user: {from: [{jwt: {es256_public_key_file: keys/k.pem}}]}
                """
        let plan = "name: p\nstages: [{name: a, percent: 0}]"
        let outcome = ConfigurationLoader.load(
            text: text, file: "/etc/cutover/cutover.yaml",
            files: files(["/etc/cutover/p.yaml": plan, "/etc/cutover/keys/k.pem": "k"]))
        let settings = try #require(outcome.settings, "\(outcome.messages)")
        #expect(settings.dataDirectory == "/etc/cutover/store")
        #expect(settings.planPath == "/etc/cutover/p.yaml")
        let token = JWTSource(
            header: "Authorization", claim: "sub", algorithm: .es256, keyFile: "/etc/cutover/keys/k.pem")
        #expect(settings.user.from == [.jwt(token)])
    }

    @Test func aFileThatCannotBeReadIsNamed() {
        #expect(
            ConfigurationLoader.load(file: "/no/such/file.yaml").messages
                == ["/no/such/file.yaml: cannot be read (No such file or directory)"])
        #expect(ConfigurationLoader.load(file: "/").messages == ["/: cannot be read (Is a directory)"])
    }

    @Test func aFileOnDiskIsRead() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(
            "cutover-\(UInt64.random(in: 0 ... .max)).yaml")
        try Data(minimal.utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        #expect(ConfigurationLoader.load(file: path.path).settings?.legacy.port == 7001)
    }

    @Test func anEmptySecretFileIsRefused() {
        let text = "user: {from: [{jwt: {hs256_secret_file: k}}]}\n" + minimal
        #expect(
            load(text, files: ["k": ""]).messages
                == ["cutover.yaml:1: user.from[0].jwt.hs256_secret_file: an empty file \"k\""])
    }

    @Test func jsonIsAccepted() throws {
        let outcome = load(
            """
            {
            \t"listen": ["127.0.0.1:0", {"address": "[::1]:0", "connections": 9}],
            \t"backends": {"legacy":{"url":"http:\\/\\/a"},"new":{"url":"http://b","max_connections":7}},
            \t"shadow": {"percent": 12.5, "keep_values": true, "headers": []},
            \t"workers": 3, "expose": false,
            \t"user": {"salt": "\\u00fc", "from": [{"basic": true}]},
            \t"routes": [{"match": "PUT /n/{record}", "conditionals": "keep"}]
            }
            """)
        let settings = try #require(outcome.settings, "\(outcome.messages)")
        #expect(settings.listeners.map(\.address) == ["127.0.0.1:0", "[::1]:0"])
        #expect(settings.listeners.map(\.connections) == [0, 9])
        #expect(settings.legacy.host == "a" && settings.new.maxConnections == 7)
        #expect(settings.shadow.shareHundredths == 1250 && settings.shadow.keepValues)
        #expect(settings.shadow.headers == [])
        #expect(settings.workers == 3 && !settings.expose)
        #expect(settings.user.salt == "ü" && settings.user.from == [.basic])
        #expect(settings.routes.first?.kind == .write && settings.routes.first?.keepsConditionals == true)
    }

    @Test func everyOtherKeyReachesItsSetting() throws {
        let outcome = load(
            minimal + """
                timeouts: {client_idle: 1s, head: 2s, body: 3s, drain: 0s}
                limits: {target: 1KiB, header_line: 2KiB, headers: 3KiB, header_lines: 4, connections: 5, connections_per_address: 6, tunnels: 7}
                writes: {body_max: 1024, retry_min: 1s, retry_max: 2m, answer: both, idempotency_retention: 2d}
                fallback: {on: [5xx], breaker: {errors: 12.5%, window: 2s, min_requests: 3, open_for: 4s}}
                user: {anonymous: "hash:X-Device", algorithm: nginx, salt: 42}
                workers: 2
                """)
        let settings = try #require(outcome.settings, "\(outcome.messages)")
        let timeouts = settings.timeouts
        #expect(timeouts.clientIdleMilliseconds == 1000 && timeouts.headMilliseconds == 2000)
        #expect(timeouts.bodyMilliseconds == 3000 && timeouts.drainMilliseconds == 0)
        let limits = settings.limits
        #expect(limits.targetBytes == 1024 && limits.headerLineBytes == 2048 && limits.headerBytes == 3072)
        #expect(limits.headerLines == 4 && limits.connections == 5)
        #expect(limits.connectionsPerAddress == 6 && limits.tunnels == 7)
        let writes = settings.writes
        #expect(writes.bodyMaxBytes == 1024 && writes.answersAfterBoth)
        #expect(writes.retryMinMilliseconds == 1000 && writes.retryMaxMilliseconds == 120_000)
        #expect(writes.idempotencyRetentionMilliseconds == 2 * 86_400_000)
        let fallback = settings.fallback
        #expect(!fallback.onConnect && !fallback.onTimeout && fallback.on5xx && !fallback.on404)
        #expect(fallback.breaker.errorRatio == 0.125 && fallback.breaker.windowMilliseconds == 2000)
        #expect(fallback.breaker.minRequests == 3 && fallback.breaker.openForMilliseconds == 4000)
        #expect(settings.user.anonymous == .hash(header: "X-Device") && settings.user.algorithm == .nginx)
        #expect(settings.user.salt == "42" && settings.workers == 2)
    }

    @Test func bothSpellingsOfATokensKeyAreRead() {
        for jwt in ["{rs256_public_key_file: k}", "{algorithm: rs256, public_key_file: k}"] {
            let outcome = load(minimal + "user: {from: [{jwt: \(jwt)}]}", files: ["k": "PEM"])
            let token = JWTSource(header: "Authorization", claim: "sub", algorithm: .rs256, keyFile: "k")
            #expect(outcome.settings?.user.from == [.jwt(token)], "\(outcome.messages)")
        }
    }

    @Test func aTokensKeysAndClaimsAreRead() throws {
        let jwt = "{jwks_file: k, issuer: me, audience: [a, b], leeway: 5s, require_exp: true}"
        let outcome = load(minimal + "user: {unverifiable: 401, from: [{jwt: \(jwt)}]}", files: ["k": "{}"])
        var token = JWTSource(header: "Authorization", claim: "sub", keys: .set(file: "k"))
        token.issuers = ["me"]
        token.audiences = ["a", "b"]
        token.leewaySeconds = 5
        token.requiresExpiry = true
        let user = try #require(outcome.settings?.user, "\(outcome.messages)")
        #expect(user.from == [.jwt(token)] && user.unverifiable == .refused)
        #expect(load(minimal).settings?.user.unverifiable == .anonymous)
    }

    @Test func aSignedCookieIsRead() throws {
        let cookie = "{name: uid, secret_file: k, encoding: base64url, require_expiry: true}"
        let outcome = load(minimal + "user: {from: [{signed_cookie: \(cookie)}]}", files: ["k": "s"])
        var source = SignedCookieSource(name: "uid", secretFile: "k")
        source.encoding = .base64url
        source.requiresExpiry = true
        #expect(outcome.settings?.user.from == [.signedCookie(source)], "\(outcome.messages)")
    }

    @Test func whatIsWrongInAKeyFileIsReportedWhereTheFileIsNamed() {
        let outcome = ConfigurationLoader.load(
            text: minimal
                + "user:\n  from:\n    - jwt: {jwks_file: k}\n    - signed_cookie: {name: a, secret_file: gone}\n",
            file: "cutover.yaml", files: files(["k": "{}"]), problem: { _ in "k is no JWK Set" })
        #expect(
            outcome.messages == [
                "cutover.yaml:6: user.from[0].jwt.jwks_file: k is no JWK Set",
                "cutover.yaml:7: user.from[1].signed_cookie.secret_file: cannot be read (No such file or directory) \"gone\"",
            ])
    }

    @Test(arguments: [
        (
            "10.0.0.0/8", ["10.0.0.1", "10.255.255.255", "::ffff:10.1.2.3"],
            ["11.0.0.1", "9.255.255.255", "::10.0.0.1", "::1"]
        ),
        ("192.0.2.7", ["192.0.2.7", "::ffff:192.0.2.7"], ["192.0.2.6", "::192.0.2.7"]),
        ("0.0.0.0/0", ["1.2.3.4", "::ffff:1.2.3.4"], ["::1", "2001:db8::1"]),
        ("::/0", ["::1", "2001:db8::1", "fe80::1%eth0"], ["1.2.3.4", "::ffff:1.2.3.4"]),
        ("::ffff:10.0.0.0/104", ["10.9.9.9"], ["11.0.0.1", "::1"]),
        ("fd00::/8", ["fd00::1", "fdff:ffff::"], ["fe00::1", "fc00::1", "127.0.0.1"]),
        ("2001:db8::8000/113", ["2001:db8::8000", "2001:db8::ffff"], ["2001:db8::7fff", "2001:db8::1:8000"]),
        ("::1", ["::1"], ["::2", "127.0.0.1"]),
    ])
    func networksHoldTheirAddresses(_ text: String, _ inside: [String], _ outside: [String]) throws {
        let settings = try #require(load(minimal + "trusted_proxies: [\"\(text)\"]").settings)
        let range = try #require(settings.trustedProxies?.first)
        func holds(_ address: String) throws -> Bool {
            let bytes = Array(address.utf8)
            return range.contains(try #require(bytes.withUnsafeBufferPointer { NumericAddress(text: $0) }))
        }
        for address in inside { #expect(try holds(address), "\(address)") }
        for address in outside { #expect(try !holds(address), "\(address)") }
    }

    @Test func whatIsNoAddressIsNone() {
        for text in [
            "", "%eth0", "localhost", "1.2.3", "1.2.3.4.5", "::1::", "1.2.3.4\0", String(repeating: "1", count: 80),
        ] {
            let bytes = Array(text.utf8)
            #expect(bytes.withUnsafeBufferPointer { NumericAddress(text: $0) } == nil, "\(text)")
        }
    }

    @Test func noListIsNotAnEmptyList() {
        #expect(load(minimal).settings.map { $0.trustedProxies == nil } == true)
        #expect(load(minimal + "trusted_proxies: []").settings?.trustedProxies == [])
    }

    @Test func aRouteThatIsNeverReachedIsWarnedAbout() {
        let outcome = load("routes:\n  - {match: \"GET /a\"}\n  - {match: \"GET /a\", kind: legacy}\n" + minimal)
        #expect(
            outcome.warnings == [
                "cutover.yaml:3: routes[1].match: never reached: routes[0] has the same match \"GET /a\""
            ])
    }

    @Test func aVariableWithoutMeaningIsWarnedAbout() {
        let outcome = load("routes:\n  - {match: \"PUT /a/{id}/{record}\", kind: write}\n" + minimal)
        #expect(
            outcome.warnings == [
                "cutover.yaml:2: routes[0].match: only {record} and {user_id} have a meaning, {id} has none in "
                    + "\"PUT /a/{id}/{record}\""
            ])
    }

    @Test func onlyWhatNeedsARestartIsNamed() throws {
        let old = try #require(load(minimal).settings)
        var new = old
        #expect(new.restartOnlyDifferences(from: old) == [])
        new.user.salt = "other"
        new.timeouts.headMilliseconds = 1
        #expect(new.restartOnlyDifferences(from: old) == [])
        new.listeners = [ListenerSettings(address: "127.0.0.1:1")]
        new.admin.address = "127.0.0.1:2"
        new.dataDirectory = "x"
        new.store = .postgresql(url: "postgresql://h/d")
        new.workers = 2
        #expect(new.restartOnlyDifferences(from: old) == ["listen", "admin", "data", "store", "workers"])
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.9.8.7:1", true), ("localhost:1", true), ("\"[::1]:1\"", true),
        ("0.0.0.0:1", false),
        ("\"[::]:1\"", false), ("10.0.0.1:1", false), ("127.example:1", false), ("admin.example:1", false),
    ])
    func offLoopbackTheAdminListenerNeedsAWordForIt(address: String, isLoopback: Bool) {
        let flags = ConfigurationFlags(legacy: "http://a.example", new: "http://b.example")
        for (key, isAllowed) in [
            ("", isLoopback), (", allow_plaintext: false", isLoopback), (", allow_plaintext: true", true),
        ] {
            let outcome = ConfigurationLoader.load(
                text: "admin: {listen: \(address)\(key)}\n", file: "cutover.yaml", flags: flags)
            switch outcome {
            case .ok: #expect(isAllowed, "\(address)\(key)")
            case .errors(let errors):
                #expect(!isAllowed && errors.count == 1 && errors.first?.keyPath == "admin.listen", "\(address)\(key)")
            }
        }
    }
}

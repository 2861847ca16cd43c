internal import CLinux
internal import Configuration
internal import ControlPlane
internal import FoundationEssentials
internal import Gateway
internal import Glibc

/// Everything that runs during the demo: both backends, and the gateway in this process on the embedded store.
final class Scenery {
    let legacy: SampleBackend
    let new: SampleBackend
    /// Where clients and operators find the gateway.
    let gatewayURL: String
    let adminURL: String
    let adminToken: String
    /// Directory of everything that the demo writes.
    let directory: String
    private let server: GatewayServer

    /// How long the answers of the backends take at least.
    static let legacyLatencyMilliseconds: Int64 = 4
    static let newLatencyMilliseconds: Int64 = 2

    /// Builds and starts it all. Blocks.
    /// - Parameters:
    ///   - directory: where everything is written; it is there and empty.
    ///   - history: what both backends hold when the migration begins.
    init(directory: String, history: [StoredRecord], windowSeconds: Int) throws(DemoFailure) {
        self.directory = directory
        do throws(StoreFailure) {
            legacy = try SampleBackend(
                path: "\(directory)/legacy.sqlite", dialect: .ornate,
                latencyMilliseconds: Scenery.legacyLatencyMilliseconds)
            new = try SampleBackend(
                path: "\(directory)/new.sqlite", dialect: .compact, latencyMilliseconds: Scenery.newLatencyMilliseconds)
            try legacy.seed(history)
            try new.seed(history)
        } catch {
            throw DemoFailure(error.message)
        }
        try legacy.start()
        try new.start()
        let admin = "127.0.0.1:\(isFree(port: 9900) ? 9900 : 0)"
        let file = "\(directory)/cutover.yaml"
        try writeFile(file, demoConfiguration(admin: admin, legacy: legacy.url, new: new.url))
        try writeFile("\(directory)/plan.yaml", demoPlan(windowSeconds: windowSeconds))
        let settings = try Scenery.load(file)
        do throws(ServerError) {
            server = try GatewayServer(settings: settings) { ConfigurationLoader.load(file: file) }
            let (ports, adminPort) = try server.start()
            gatewayURL = "http://127.0.0.1:\(ports.first ?? 0)"
            adminURL = "http://127.0.0.1:\(adminPort)"
        } catch {
            throw DemoFailure("the gateway cannot start: \(error.text)")
        }
        guard let token = readFile("\(directory)/data/admin.token") else {
            throw DemoFailure("there is no admin token in \(directory)/data")
        }
        adminToken = token
    }

    /// Ends everything; the files stay. Blocks.
    func stop() {
        _ = server.stop()
        legacy.stop()
        new.stop()
    }

    private static func load(_ file: String) throws(DemoFailure) -> Settings {
        switch ConfigurationLoader.load(file: file) {
        case .ok(let settings, _): return settings
        case .errors(let errors): throw DemoFailure(errors.map(\.description).joined(separator: "\n"))
        }
    }
}

/// The gateway's configuration, as an operator would write it.
private func demoConfiguration(admin: String, legacy: String, new: String) -> String {
    """
    listen: 127.0.0.1:0
    admin: {listen: "\(admin)"}
    data: data
    user: {from: [{header: X-User-Id}], salt: demo}
    backends:
      legacy: {url: "\(legacy)", timeout: 5s}
      new:    {url: "\(new)", timeout: 5s}
    routes:
      - {match: "POST /changes", kind: write, user: /userId, record: /recordId, revision: /revision, idempotency_key: /idempotencyKey}
    shadow: {ignore: [/serverTime, "/items/*/serverTime"], unordered: [/items], recheck_after: 500ms}
    writes: {retry_min: 50ms, retry_max: 500ms}
    fallback: {breaker: {errors: 50%, window: 2s, min_requests: 20, open_for: 1s}}
    plan: plan.yaml

    """
}

/// The plan. A demo's window is seconds long, and nothing happens by itself.
private func demoPlan(windowSeconds: Int) -> String {
    """
    name: demo
    stages:
      - {name: shadow, percent: 0}
      - {name: canary, percent: 1}
      - {name: early,  percent: 10}
      - {name: half,   percent: 50}
      - {name: full,   percent: 100}
    gates: {read_error_rate: 0.5%, write_p95: 1s, conflict_rate: 5%, fallback_rate: 0.5%}
    window: \(windowSeconds)s
    min_samples: 20
    on_breach: alert
    promote: manual

    """
}

/// Whether nobody listens on a port of this machine.
private func isFree(port: UInt16) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let descriptor = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            clinux_listen($0, socklen_t(MemoryLayout<sockaddr_in>.size), 1, 0)
        }
    }
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
}

private func writeFile(_ path: String, _ text: String) throws(DemoFailure) {
    guard let stream = fopen(path, "we") else {
        throw DemoFailure("cannot write \(path): \(String(cString: strerror(errno)))")
    }
    let isWritten = fputs(text, stream) >= 0
    guard fclose(stream) == 0, isWritten else { throw DemoFailure("cannot write \(path)") }
}

/// The first line of a file.
private func readFile(_ path: String) -> String? {
    guard let stream = fopen(path, "re") else { return nil }
    defer { fclose(stream) }
    var line = [CChar](repeating: 0, count: 4096)
    guard fgets(&line, Int32(line.count), stream) != nil else { return nil }
    return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// A new directory below TMPDIR, else /tmp.
func makeTemporaryDirectory() throws(DemoFailure) -> String {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/cutover-demo.XXXXXX".utf8CString)
    guard let path = mkdtemp(&template) else {
        throw DemoFailure("no temporary directory can be made in \(parent): \(String(cString: strerror(errno)))")
    }
    return String(cString: path)
}

/// Deletes a directory with all that is in it.
func removeDirectory(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

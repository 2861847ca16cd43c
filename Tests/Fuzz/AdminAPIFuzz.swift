import CLinux
import Configuration
import Dispatch
import FoundationEssentials
import Gateway
import Glibc
import Journal
import JournalThreads
import Rollout
import StoreSQLite
import Telemetry

@testable import ControlPlane
import Values

/// The admin API without its sockets: requests of any method, path, query, fields and body. None is the server's own fault, all
/// answers can be read, and who has no right changes nothing.
///
/// An input is a little script, so that what one request leaves behind meets the next:
/// `A POST /api/v1/rollout/pause`, field lines, an empty line, the body; the next one after a record separator. The first letter
/// says whose token comes along: admin, viewer, none, wrong; or a peer from afar without one.
final class AdminAPIFuzz {
    private static let separator: UInt8 = 0x1e
    private static let requestsMax = 6
    /// So many inputs meet one store: what they leave there must not make it slow.
    private static let inputsPerOffice = 2_000
    private var office: FuzzOffice
    private var inputs = 0

    init() { office = FuzzOffice() }

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        inputs += 1
        if inputs % Self.inputsPerOffice == 0 {
            office.close()
            office = FuzzOffice()
        }
        for script in input.split(separator: Self.separator, maxSplits: Self.requestsMax - 1) {
            guard let (request, role) = request(Array(script)) else { continue }
            judge(answer(request), request, role)
        }
    }

    private enum Role { case admin, viewer, stranger, nobody }

    private func request(_ script: [UInt8]) -> (ServiceRequest, Role)? {
        let lines = script.split(separator: 0x0a, omittingEmptySubsequences: false)
        let words = lines[0].split(separator: 0x20, maxSplits: 2).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3 else { return nil }
        let target = words[2].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        var fields: [(name: String, value: String)] = []
        var (role, peer) = (Role.nobody, "127.0.0.1")
        switch words[0] {
        case "A": (role, fields) = (.admin, [("authorization", "Bearer \(FuzzOffice.adminToken)")])
        case "V": (role, fields) = (.viewer, [("authorization", "Bearer \(FuzzOffice.viewerToken)")])
        case "W": (role, fields) = (.stranger, [("authorization", "Bearer wrong")])
        case "R": peer = "192.0.2.1"
        default: break
        }
        var body: [UInt8] = []
        for (index, line) in lines.enumerated().dropFirst() {
            if line.isEmpty {
                body = Array(lines[(index + 1)...].joined(separator: [0x0a]))
                break
            }
            let parts = line.split(separator: 0x3a, maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
            guard parts.count == 2 else { continue }
            fields.append((parts[0].lowercased(), String(parts[1].drop { $0 == " " })))
        }
        let request = ServiceRequest(
            method: words[1], path: target[0], query: target.count > 1 ? target[1] : "", headers: fields, body: body,
            peer: peer)
        return (request, role)
    }

    private final class Box: @unchecked Sendable {
        // Written before the semaphore is signalled, read after it was waited for.
        var answer: ServiceResponse?
    }

    private func answer(_ request: ServiceRequest) -> ServiceResponse {
        let (box, done, api) = (Box(), DispatchSemaphore(value: 0), office.api)
        Task.detached {
            box.answer = await api.handle(request)
            done.signal()
        }
        require(done.wait(timeout: .now() + .seconds(30)) == .success, "no answer within 30 s")
        guard let answer = box.answer else { fatalError("no answer") }
        return answer
    }

    private func judge(_ answer: ServiceResponse, _ request: ServiceRequest, _ role: Role) {
        let place = "\(request.method) \(request.path): \(answer.status)"
        require((200..<600).contains(answer.status) && answer.status != 500, place)
        let isRead = request.method == "GET" || request.method == "HEAD"
        // A token of the input's own may be the right one.
        let isOwnToken = request.headers.count { $0.name == "authorization" } == (role == .nobody ? 0 : 1)
        if !isRead, role != .admin, isOwnToken { require(answer.status >= 400, "\(place), without the right to it") }
        for (name, value) in answer.headers {
            let isLine = !(name + value).unicodeScalars.contains {
                $0.value < 0x20 && $0.value != 9 || $0.value == 0x7f
            }
            require(isLine && !name.isEmpty, "\(place): a field of \((name + value).debugDescription)")
        }
        let kind = answer.headers.first { $0.name == "Content-Type" }?.value ?? ""
        let body = String(decoding: answer.body, as: UTF8.self)
        require(!body.contains(FuzzOffice.adminToken) && !body.contains(FuzzOffice.viewerToken), "\(place): a token")
        if answer.status >= 400 { require(kind == "application/problem+json", "\(place) as \(kind)") }
        guard kind.hasPrefix("application/") else { return }
        let value: JSONValue
        do throws(JSONFault) { value = try JSONValue(reading: answer.body) } catch {
            fatalError("\(place): \(error.text) in \(body)")
        }
        guard answer.status >= 400, case .object(let members) = value else { return }
        let status = members.first { $0.0 == "status" }?.1.text
        require(status == "\(answer.status)", "\(place): status \(status ?? "missing")")
    }
}

/// The control plane on a real store, without listeners and loops that run.
final class FuzzOffice: Sendable {
    static let adminToken = "admin-token-of-the-fuzzer"
    static let viewerToken = "viewer-token-of-the-fuzzer"
    let api: AdminAPI
    let dataPlane: DataPlane
    private let directory: String
    private let journal: ThreadedJournal

    init() {
        let directory = scratchDirectory("admin")
        writeFile("\(directory)/admin.token", Array(Self.adminToken.utf8))
        writeFile("\(directory)/viewer.token", Array(Self.viewerToken.utf8))
        var settings = Settings()
        settings.dataDirectory = directory
        settings.plan = Self.plan
        settings.legacy = BackendSettings()
        do {
            let journal = try ThreadedJournal(sqlite: directory)
            journal.start { _ in }
            let metrics = LoopMetrics()
            let controller = RolloutController(
                settings: settings, identity: try IdentitySources(settings.user), stored: nil, pins: [],
                journal: journal, metrics: metrics)
            let dataPlane = DataPlane(snapshot: Self.begin(controller), journal: journal, workers: 1)
            let board = FigureBoard(dataPlane: dataPlane, control: metrics, windowSeconds: 300)
            api = AdminAPI(
                controller: controller, dataPlane: dataPlane, storage: Storage(journal: journal),
                health: JournalHealth(), board: board,
                history: HistoryRecorder(
                    instance: "fuzz", journal: journal, wall: clinux_wall_milliseconds(), monotonic: 0),
                tokens: try AdminTokens(directory: directory),
                reverseSync: ReverseSync(dataPlane: dataPlane, journal: journal, controller: controller),
                pilot: PilotDriver(controller: controller, board: board, dataPlane: dataPlane, journal: journal),
                wayBack: WayBack { _ in nil }, failuresPerMinute: .max / 4,
                reload: { _ in .invalid(["cutover.yaml:1: nothing is read here"]) }, isReady: { true })
            self.journal = journal
            self.directory = directory
            self.dataPlane = dataPlane
        } catch { fatalError("\(error)") }
    }

    private final class Box: @unchecked Sendable {
        // As above: written before the signal.
        var snapshot: Snapshot?
    }

    private static func begin(_ controller: RolloutController) -> Snapshot {
        let (box, done) = (Box(), DispatchSemaphore(value: 0))
        Task.detached {
            await controller.persistStart()
            box.snapshot = await controller.snapshot
            done.signal()
        }
        done.wait()
        guard let snapshot = box.snapshot else { fatalError("no snapshot") }
        return snapshot
    }

    func close() {
        _ = journal.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static var plan: Plan {
        var plan = Plan(
            name: "fuzz",
            stages: [
                Stage(name: "dual-write", percentHundredths: 0, shadowHundredths: 0),
                Stage(name: "canary", percentHundredths: 100), Stage(name: "half", percentHundredths: 5000),
                Stage(name: "full", percentHundredths: 10_000),
            ])
        plan.minSamples = 1
        return plan
    }
}

import CLinux
import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry
import Values

/// Everything that a gateway consists of, put together: each part is made of those before it. The store is open and its threads
/// run; nothing listens, and nothing is sent yet.
struct GatewayParts: Sendable {
    /// As they were at the start; what a reload has taken over is the controller's.
    let settings: Settings
    let storage: Storage
    let health = JournalHealth()
    let tokens: AdminTokens
    let controller: RolloutController
    let dataPlane: DataPlane
    /// Certificates and keys in force.
    let tls: TLSStanding
    /// What the control plane counts.
    let control = LoopMetrics()
    let board: FigureBoard
    let history: HistoryRecorder
    let reverseSync: ReverseSync
    let alerts: AlertDesk
    let spans: SpanExporter
    let pilot: PilotDriver
    let streams: EventStreams

    var journal: ThreadedJournal { storage.journal }

    /// Opens the store and puts everything together. Blocks.
    /// - Throws: what cannot be used, in words for an operator.
    init(_ settings: Settings) throws(ServerError) {
        self.settings = settings
        let identity: IdentitySources
        do throws(IdentityError) { identity = try IdentitySources(settings.user) } catch {
            throw ServerError(text: error.text)
        }
        do throws(TLSMaterialError) { tls = TLSStanding(try TLSMaterial(settings)) } catch {
            throw ServerError(text: error.text)
        }
        do throws(JournalError) {
            let health = health
            storage = try Storage(settings, onGroup: { health.isWritable.store($0.failure == nil, ordering: .relaxed) })
        } catch {
            throw ServerError(text: error.message)
        }
        do throws(TokenError) { tokens = try AdminTokens(directory: settings.dataDirectory) } catch {
            throw ServerError(text: error.text)
        }
        let coordinator = CoordinatorBox()
        storage.journal.start { coordinator.enter($0) }
        let snapshot: Snapshot
        (controller, snapshot) = try GatewayParts.makeController(settings, identity, storage, control)
        let journal = storage.journal
        let workers = settings.workers ?? max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        dataPlane = DataPlane(snapshot: snapshot, journal: journal, workers: workers, tls: tls)
        coordinator.set(dataPlane.shared.coordinator)
        do throws(AccessLogError) {
            let file = try openAccessLog(settings, for: dataPlane.shared.accessLog)
            if let file { dataPlane.shared.accessLog.use(file) }
        } catch {
            throw ServerError(text: error.text)
        }
        reverseSync = ReverseSync(dataPlane: dataPlane, journal: journal, controller: controller)
        board = FigureBoard(dataPlane: dataPlane, control: control, windowSeconds: settings.plan?.windowSeconds ?? 300)
        history = HistoryRecorder(
            instance: storage.instance, journal: journal, isShared: storage.cluster != nil,
            wall: clinux_wall_milliseconds(), monotonic: monotonicMilliseconds)
        streams = EventStreams(subscribeHistory: { [history] send in
            _ = history.listen { row in send(historyJSON(row).text) }
        })
        alerts = AlertDesk(instance: gatewayName(settings, port: nil))
        spans = SpanExporter(dataPlane.shared.spans, instance: gatewayName(settings, port: nil))
        spans.aim(at: settings.tracing.otlp)
        pilot = PilotDriver(
            controller: controller, board: board, dataPlane: dataPlane, journal: journal,
            name: gatewayName(settings, port: nil),
            loadSeconds: { [history] in await history.loadSeconds(since: $0) },
            onJudged: { [alerts] gates in
                alerts.judged(gates.map { AlertGate(name: $0.name, verdict: $0.verdict, reason: $0.reason) })
            },
            onAlert: { logLine("\($0); nobody is moved by itself") })
    }

    /// The controller takes up what the store holds of the rollout. Blocks.
    private static func makeController(
        _ settings: Settings, _ identity: IdentitySources, _ storage: Storage, _ metrics: LoopMetrics
    ) throws(ServerError) -> (RolloutController, Snapshot) {
        let (journal, cluster) = (storage.journal, storage.cluster)
        let made = waitFor { () async -> Result<(RolloutController, Snapshot), ServerError> in
            do throws(JournalError) {
                let stored = try await journal.read { reader throws(JournalError) in try reader.loadRollout() }
                let pins = try await journal.read { reader throws(JournalError) in try reader.pins() }
                let controller = RolloutController(
                    settings: settings, identity: identity, stored: stored, pins: pins, journal: journal,
                    cluster: cluster, metrics: metrics)
                return .success((controller, await controller.snapshot))
            } catch {
                return .failure(ServerError(text: error.message))
            }
        }
        return try made.get()
    }

    /// What answers the admin listener.
    func makeAPI(
        reload: @escaping @Sendable (ChangeOrigin) async -> ReloadOutcome, isReady: @escaping @Sendable () -> Bool
    ) -> AdminAPI {
        AdminAPI(
            controller: controller, dataPlane: dataPlane, storage: storage, health: health, board: board,
            history: history, tokens: tokens, reverseSync: reverseSync, pilot: pilot, alerts: alerts, streams: streams,
            reload: reload, isReady: isReady)
    }
}

/// The journal is started before the lanes exist; nothing is submitted in between.
private final class CoordinatorBox: Sendable {
    private let coordinator = Mutex<WriteCoordinator?>(nil)

    func set(_ value: WriteCoordinator) { coordinator.withLock { $0 = value } }
    func enter(_ admitted: AdmittedGroup) { coordinator.withLock { $0 }?.enter(admitted) }
}

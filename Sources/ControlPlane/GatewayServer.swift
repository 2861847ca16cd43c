import CLinux
package import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry

/// A whole gateway: store, data plane, rollout, admin listener. What `cutover serve` runs, and the demo.
package final class GatewayServer: Sendable {
    private let loader: @Sendable () -> ConfigurationOutcome
    private let settings: Settings
    private let storage: Storage
    private var journal: ThreadedJournal { storage.journal }
    /// Called once when another gateway has taken this one's place: what is in memory is void, and the process begins anew.
    private let onFenced: @Sendable () -> Void
    private let controller: RolloutController
    private let dataPlane: DataPlane
    private let board: FigureBoard
    private let history: HistoryRecorder
    private let reverseSync: ReverseSync
    private let pilot: PilotDriver
    private let alerts: AlertDesk
    private let tokens: AdminTokens
    private let streams: EventStreams
    private let health = JournalHealth()
    private let admin = Mutex<LocalService?>(nil)
    private let isReady = Atomic<Bool>(false)
    private let isStopped = Atomic<Bool>(false)
    /// The controller's last tick is not done yet: one at a time.
    private let isTicking = Atomic<Bool>(false)
    /// The last look for alerts is not done yet. Apart from the tick above: what it waits for may be what is to be told.
    private let isWatching = Atomic<Bool>(false)
    private let isFenced = Atomic<Bool>(false)
    /// Reloads one at a time.
    private let reloading = Mutex(false)

    /// Opens the store and prepares everything; nothing listens yet. Blocks.
    /// - Parameters:
    ///   - settings: validated.
    ///   - reload: reads the configuration again, for SIGHUP and `POST reload`.
    ///   - onFenced: begins the process anew; called on any thread, at most once. Only where the store is shared.
    /// - Throws: what cannot be used, in words for an operator.
    package init(
        settings: Settings, reload: @escaping @Sendable () -> ConfigurationOutcome,
        onFenced: @escaping @Sendable () -> Void = { _exit(75) }
    ) throws(ServerError) {
        self.settings = settings
        self.onFenced = onFenced
        alerts = AlertDesk(instance: GatewayServer.instance(settings))
        loader = reload
        clinux_raise_descriptor_limit()
        let identity: IdentitySources
        do throws(IdentityError) { identity = try IdentitySources(settings.user) } catch {
            throw ServerError(text: error.text)
        }
        do throws(JournalError) {
            let health = health
            storage = try Storage(
                settings, retention: GatewayServer.retention(settings),
                onGroup: { health.isWritable.store($0.failure == nil, ordering: .relaxed) })
        } catch {
            throw ServerError(text: error.message)
        }
        do throws(TokenError) { tokens = try AdminTokens(directory: settings.dataDirectory) } catch {
            throw ServerError(text: error.text)
        }
        let coordinator = CoordinatorBox()
        storage.journal.start { coordinator.enter($0) }
        let control = LoopMetrics()
        let (journal, cluster, settings) = (storage.journal, storage.cluster, settings)
        let prepared = waitFor { () async -> Result<(RolloutController, Snapshot), ServerError> in
            do throws(JournalError) {
                let stored = try await journal.read { reader throws(JournalError) in try reader.loadRollout() }
                let pins = try await journal.read { reader throws(JournalError) in try reader.pins() }
                let controller = RolloutController(
                    settings: settings, identity: identity, stored: stored, pins: pins, journal: journal,
                    cluster: cluster, metrics: control)
                return .success((controller, await controller.snapshot))
            } catch {
                return .failure(ServerError(text: error.message))
            }
        }
        let snapshot: Snapshot
        (controller, snapshot) = try prepared.get()
        let workers = settings.workers ?? max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        dataPlane = DataPlane(snapshot: snapshot, journal: journal, workers: workers)
        coordinator.set(dataPlane.shared.coordinator)
        reverseSync = ReverseSync(dataPlane: dataPlane, journal: journal, controller: controller)
        board = FigureBoard(dataPlane: dataPlane, control: control, windowSeconds: settings.plan?.windowSeconds ?? 300)
        history = HistoryRecorder(
            instance: storage.instance, journal: journal, isShared: cluster != nil, wall: clinux_wall_milliseconds(),
            monotonic: monotonicMilliseconds)
        streams = EventStreams(subscribeHistory: { [history] send in
            _ = history.listen { row in send(historyJSON(row).text) }
        })
        pilot = PilotDriver(
            controller: controller, board: board, dataPlane: dataPlane, journal: journal,
            loadSeconds: { [history] in await history.loadSeconds(since: $0) },
            onJudged: { [alerts] gates in
                alerts.judged(gates.map { AlertGate(name: $0.name, verdict: $0.verdict, reason: $0.reason) })
            },
            onAlert: { logLine("nobody is moved by itself: \($0)") })
    }

    private static func retention(_ settings: Settings) -> Retention {
        Retention(
            rollbackWindowMilliseconds: (settings.plan?.rollbackWindowSeconds ?? 86_400) * 1000,
            idempotencyMilliseconds: settings.writes.idempotencyRetentionMilliseconds)
    }

    /// What tells this gateway from others in alerts: the machine and the port of the admin listener, as a scraper would say.
    private static func instance(_ settings: Settings) -> String {
        var name = [CChar](repeating: 0, count: 256)
        // Safe: gethostname writes at most so many bytes, which the array owns.
        let isNamed = gethostname(&name, name.count) == 0
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let host = isNamed ? String(decoding: bytes, as: UTF8.self) : "localhost"
        let port = settings.admin.address.split(separator: ":").last.map { ":\($0)" } ?? ""
        return host + port
    }

    // MARK: Life

    /// Brings back what was outstanding, then listens. Blocks until everything is up.
    /// - Returns: the ports of the listeners and of the admin listener.
    package func start() throws(ServerError) -> (ports: [UInt16], adminPort: UInt16) {
        let (controller, dataPlane, journal, cluster) = (controller, dataPlane, journal, storage.cluster)
        let reverseSync = reverseSync
        let recovered = waitFor { [self] () async -> Result<Void, ServerError> in
            await controller.attach(dataPlane)
            await controller.attach(reverseSync)
            await controller.attach(onChange: { [alerts] in alerts.changed($0) })
            do throws(JournalError) {
                if let cluster {
                    dataPlane.shared.coordinator.standing.join(cluster)
                    try cluster.start(clusterEvents())
                    await controller.persistStart()
                    await controller.joinShared()
                } else {
                    await controller.persistStart()
                    try await GatewayServer.recover(from: journal, into: dataPlane)
                    await reverseSync.resume()
                }
                await history.begin(controller, storage)
                return .success(())
            } catch {
                return .failure(ServerError(text: error.message))
            }
        }
        try recovered.get()
        do throws(ListenError) {
            let ports = try dataPlane.start(listeners: settings.listeners.map(\.address))
            let api = makeAPI()
            let service = LocalService(bodyMaxBytes: 1 << 20, commonFields: AdminAPI.commonFields) {
                await api.handle($0)
            }
            try service.start(address: settings.admin.address)
            admin.withLock { $0 = service }
            alerts.configure(settings.plan?.alerts)
            startTicking()
            isReady.store(true, ordering: .releasing)
            return (ports, service.port)
        } catch {
            throw ServerError(text: error.text)
        }
    }

    private func clusterEvents() -> ClusterEvents {
        let (dataPlane, controller, journal) = (dataPlane, controller, journal)
        let coordinator = dataPlane.shared.coordinator
        return ClusterEvents(
            leaseRenewed: { coordinator.standing.leaseRenewed(until: $0) },
            fenced: { [self] in
                coordinator.standing.fence()
                guard !isFenced.exchange(true, ordering: .sequentiallyConsistent) else { return }
                isReady.store(false, ordering: .releasing)
                logLine(
                    "fenced: another gateway has this one's place in the shared store, because its lease had run out")
                onFenced()
            },
            settled: { coordinator.settle(foreign: $0) },
            awaitAdmissions: { _ = waitFor { try? await journal.write { _ in } } },
            takenOver: { dataPlane.takeOver($1, takeover: $0, behind: $2) },
            foreign: { coordinator.standing.setForeign($0) },
            stateChanged: { _ in Task { await controller.adoptShared() } })
    }

    /// Counts what was outstanding when the last process ended; the legs themselves come page by page while the gateway runs. Only
    /// changes that nobody was answered yet are taken over now: as many as were under way.
    private static func recover(from journal: ThreadedJournal, into dataPlane: DataPlane) async throws(JournalError) {
        let pageMax = 10_000
        var last: Sequence64 = 0
        while true {
            let after = last
            let page = try await journal.read { reader throws(JournalError) in
                try reader.outstandingPlaces(after: after, limit: pageMax)
            }
            dataPlane.shared.coordinator.count(left: page)
            last = page.last?.sequence ?? last
            if page.count < pageMax { break }
        }
        last = 0
        while true {
            let after = last
            let page = try await journal.read { reader throws(JournalError) in
                try reader.unanswered(after: after, limit: 1_000)
            }
            for change in page { dataPlane.recover(change) }
            last = page.last?.sequence ?? last
            if page.count < 1_000 { return }
        }
    }

    private func makeAPI() -> AdminAPI {
        AdminAPI(
            controller: controller, dataPlane: dataPlane, storage: storage, health: health, board: board,
            history: history, tokens: tokens, reverseSync: reverseSync, pilot: pilot, alerts: alerts, streams: streams,
            reload: { [self] origin in await reload(origin) },
            isReady: { [self] in isReady.load(ordering: .acquiring) })
    }

    private func startTicking() {
        let watch = AlertWatch(
            desk: alerts, controller: controller, dataPlane: dataPlane, storage: storage, health: health, board: board)
        startThread(name: "figures") { [self] in
            while !isStopped.load(ordering: .relaxed) {
                usleep(1_000_000)
                board.tick()
                history.observe(board, dataPlane, controller, storage)
                if !isWatching.exchange(true, ordering: .acquiringAndReleasing) {
                    Task.detached { [self] in
                        await watch.look()
                        isWatching.store(false, ordering: .releasing)
                    }
                }
                guard !isTicking.exchange(true, ordering: .acquiringAndReleasing) else { continue }
                Task.detached { [self] in
                    await controller.tick(now: clinux_wall_milliseconds())
                    await pilot.tick()
                    isTicking.store(false, ordering: .releasing)
                }
            }
        }
    }

    /// Stops accepting, lets requests under way finish within `timeouts.drain`, keeps what has arrived, and closes the store.
    /// Blocks.
    /// - Returns: whether every client was done in time and the store took everything.
    package func stop() -> Bool {
        isReady.store(false, ordering: .releasing)
        isStopped.store(true, ordering: .relaxed)
        reverseSync.stop()
        streams.end()
        let controller = controller
        let limit = waitFor { await controller.picture.settings.timeouts.drainMilliseconds }
        let isDrained = dataPlane.drain(milliseconds: limit)
        if !isDrained { logLine("drain: some clients were not done in time and are cut off") }
        waitFor { [self] in
            await history.finish(
                wall: clinux_wall_milliseconds(), monotonic: monotonicMilliseconds, snapshot: board.snapshot())
        }
        let isKept = journal.close()
        if !isKept {
            logLine("drain: the store did not take everything; what is missing is sent again after the next start")
        }
        storage.cluster?.leave()
        admin.withLock { $0 }?.stop()
        alerts.finish(milliseconds: 2_000)
        return isDrained && isKept
    }

    // MARK: Reload

    /// Reads the configuration again and takes it over when it is valid; changes nothing otherwise.
    package func reload(_ origin: ChangeOrigin) async -> ReloadOutcome {
        let isFree = reloading.withLock { busy in
            defer { busy = true }
            return !busy
        }
        guard isFree else { return .unavailable("another reload is under way") }
        defer { reloading.withLock { $0 = false } }
        let fresh: Settings
        switch loader() {
        case .errors(let errors): return .invalid(errors.map(\.description))
        case .ok(let settings, _): fresh = settings
        }
        let old = await controller.picture.settings
        let fixed = fresh.restartOnlyDifferences(from: old)
        if !fixed.isEmpty {
            return .invalid(fixed.map { "\($0): takes a restart to change; nothing was changed" })
        }
        let identity: IdentitySources
        do throws(IdentityError) { identity = try IdentitySources(fresh.user) } catch { return .invalid([error.text]) }
        do throws(TokenError) {
            let pair = try tokens.reread(mayMake: !origin.isDryRun)
            if origin.isDryRun { return .done(await controller.outcome(ofReloading: fresh)) }
            if let pair, tokens.use(pair) { logLine("admin: the tokens are new ones; the old ones count no more") }
        } catch {
            return .invalid([error.text])
        }
        let outcome = await controller.reload(fresh, identity, origin)
        alerts.configure(fresh.plan?.alerts)
        journal.writer.setRetention(GatewayServer.retention(fresh))
        if fresh.plan?.windowSeconds != old.plan?.windowSeconds {
            board.restart(windowSeconds: fresh.plan?.windowSeconds ?? 300)
        }
        return .done(outcome)
    }
}

/// Whether the journal took its last group. Set on the journal thread, read anywhere.
final class JournalHealth: Sendable {
    let isWritable = Atomic<Bool>(true)
}

/// Why a gateway cannot run.
package struct ServerError: Error, Sendable {
    package let text: String
}

/// The journal is started before the lanes exist; nothing is submitted in between.
private final class CoordinatorBox: Sendable {
    private let coordinator = Mutex<WriteCoordinator?>(nil)

    func set(_ value: WriteCoordinator) { coordinator.withLock { $0 = value } }
    func enter(_ admitted: AdmittedGroup) { coordinator.withLock { $0 }?.enter(admitted) }
}

/// Runs asynchronous work and blocks the calling thread until it is done. For start-up and shutdown only.
package func waitFor<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
    let done = CountDown(1)
    let holder = WaitBox<Value>()
    Task.detached {
        let value = await work()
        holder.set(value)
        done.one()
    }
    while !done.wait(milliseconds: 60_000) {}
    return holder.take()
}

private final class WaitBox<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ new: Value) { value.withLock { $0 = new } }
    func take() -> Value {
        guard let value = value.withLock({ $0 }) else { preconditionFailure("the work has not been done") }
        return value
    }
}

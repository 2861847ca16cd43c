import CLinux
package import Configuration
package import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry
import Values

/// A whole gateway, from its start to its end. What `cutover serve` runs, and the demo.
///
/// `GatewayParts` puts it together, `SecondHand` is what it does every second, `Reloader` takes over another configuration.
package final class GatewayServer: Sendable {
    private let parts: GatewayParts
    private let secondHand: SecondHand
    private let reloader: Reloader
    private let admin = Mutex<LocalService?>(nil)
    private let watchdog = Mutex<Watchdog?>(nil)
    private let sockets: ListeningSockets
    private let manager: ServiceManager
    private let isReady = Atomic<Bool>(false)
    private let isFenced = Atomic<Bool>(false)
    /// Called once when another gateway has taken this one's place: what is in memory is void, and the process begins anew.
    private let onFenced: @Sendable () -> Void

    /// Opens the store and prepares everything; nothing listens yet. Blocks.
    /// - Parameters:
    ///   - settings: validated.
    ///   - sockets: owns what is listened on, and has what was passed to the process.
    ///   - manager: is told how this process does.
    ///   - reload: reads the configuration again, for SIGHUP and `POST reload`.
    ///   - onFenced: begins the process anew; called on any thread, at most once. Only where the store is shared.
    /// - Throws: what cannot be used, in words for an operator.
    package init(
        settings: Settings, sockets: ListeningSockets = ListeningSockets(),
        manager: ServiceManager = ServiceManager(), reload: @escaping @Sendable () -> ConfigurationOutcome,
        onFenced: @escaping @Sendable () -> Void = { _exit(75) }
    ) throws(ServerError) {
        self.onFenced = onFenced
        self.sockets = sockets
        self.manager = manager
        _ = programBegan
        clinux_raise_descriptor_limit()
        parts = try GatewayParts(settings)
        secondHand = SecondHand(parts)
        reloader = Reloader(parts, load: reload)
    }

    /// Brings back what was outstanding, then listens. Blocks until everything is up.
    /// - Returns: the ports of the listeners and of the admin listener.
    package func start() throws(ServerError) -> (ports: [UInt16], adminPort: UInt16) {
        let begun = waitFor { [self] () async -> Result<Void, ServerError> in
            await parts.attach()
            do throws(JournalError) {
                if let cluster = parts.storage.cluster {
                    try await parts.join(cluster, onFenced: { [self] in fenced() })
                } else {
                    try await parts.recover()
                }
                await parts.history.begin(parts.controller, parts.storage)
                return .success(())
            } catch {
                return .failure(ServerError(text: error.message))
            }
        }
        try begun.get()
        do throws(ListenError) {
            let ports = try parts.dataPlane.start(listeners: parts.settings.listeners, from: sockets)
            let api = parts.makeAPI(
                reload: { [self] origin in await reload(origin) },
                isReady: { [self] in isReady.load(ordering: .acquiring) })
            let service = LocalService(
                bodyMaxBytes: 1 << 20, commonFields: AdminAPI.commonFields, metrics: parts.control,
                // The only writer of this counter is the service's own thread.
                whenFull: { [parts] in parts.control.limitHit(.adminConnections) }
            ) {
                await api.handle($0)
            }
            try service.start(address: parts.settings.admin.address, tls: parts.tls.admin, from: sockets)
            admin.withLock { $0 = service }
            let name = gatewayName(parts.settings, port: service.port)
            parts.alerts.call(name)
            waitFor { [parts] in await parts.pilot.call(name) }
            parts.alerts.configure(parts.settings.plan?.alerts)
            secondHand.start()
            let watchdog = Watchdog(parts, service, manager)
            self.watchdog.withLock { $0 = watchdog }
            isReady.store(true, ordering: .releasing)
            manager.ready("ready: serves clients")
            watchdog.start()
            return (ports, service.port)
        } catch {
            // The others are not to wait for a lease of a gateway that never ran.
            parts.storage.cluster?.leave()
            throw ServerError(text: error.text)
        }
    }

    private func fenced() {
        guard !isFenced.exchange(true, ordering: .sequentiallyConsistent) else { return }
        isReady.store(false, ordering: .releasing)
        logLine("fenced: another gateway has this one's place in the shared store, because its lease had run out")
        onFenced()
    }

    /// Reads the configuration again and takes it over when it is valid; changes nothing otherwise.
    package func reload(_ origin: ChangeOrigin) async -> ReloadOutcome {
        guard !origin.isDryRun else { return await reloader.reload(origin) }
        manager.reloading("reads its configuration again")
        let outcome = await reloader.reload(origin)
        // Whoever drains meanwhile has said something newer.
        guard isReady.load(ordering: .acquiring) else { return outcome }
        if case .done = outcome {
            manager.ready("ready: serves clients, configuration reloaded")
        } else {
            manager.ready("ready: serves clients, the last reload was refused and changed nothing")
        }
        return outcome
    }

    /// What would keep a process with these settings from starting in the place of this one; empty when nothing is known. Blocks.
    package func obstacles(to fresh: Settings) -> [String] {
        Rehearsal(inUse: parts.settings, sockets: sockets).obstacles(to: fresh)
    }

    /// Beyond `timeouts.drain`: for the store and the last alerts.
    private static let closingMilliseconds: Int64 = 15_000

    /// Tells the history that this program has taken the place of another one, which drained for it.
    /// - Parameter version: that of the program before; nil where it did not say.
    package func noteUpgrade(from version: String?) async {
        await parts.controller.note(
            "upgrade", before: .object([("version", version.map { .string($0) } ?? .null)]),
            after: .object([("version", .string(productVersion))]), ChangeOrigin(actor: "SIGUSR2"))
    }

    /// Opens the access log anew by its name: it was renamed. Any thread.
    package func reopenLogs() { parts.dataPlane.shared.accessLog.reopen() }

    /// Stops accepting, lets requests under way finish within `timeouts.drain`, keeps what has arrived, and closes the store.
    /// Blocks.
    /// - Parameter handsOver: the listening sockets stay open, for a process that replaces this one: clients wait there.
    /// - Returns: whether every client was done in time and the store took everything.
    package func stop(handsOver: Bool = false) -> Bool {
        isReady.store(false, ordering: .releasing)
        secondHand.stop()
        parts.reverseSync.stop()
        parts.streams.end()
        let controller = parts.controller
        let limit = waitFor { await controller.picture.settings.timeouts.drainMilliseconds }
        watchdog.withLock { $0 }?.ends(withinMilliseconds: limit + GatewayServer.closingMilliseconds)
        if handsOver {
            manager.reloading("drains, for another program to take over")
        } else {
            manager.stopping("drains", withinMilliseconds: limit + GatewayServer.closingMilliseconds)
            sockets.close(.client)
        }
        let (isDrained, cutOff) = parts.dataPlane.drain(milliseconds: limit)
        if !isDrained {
            logLine("drain: some clients were not done in time and are cut off (\(cutOff) requests under way)")
        }
        waitFor { [parts] in
            await parts.history.finish(
                wall: clinux_wall_milliseconds(), monotonic: monotonicMilliseconds, snapshot: parts.board.snapshot())
        }
        let isKept = parts.journal.close()
        if !isKept {
            logLine("drain: the store did not take everything; what is missing is sent again after the next start")
        }
        parts.storage.cluster?.leave()
        if !handsOver { sockets.close(.admin) }
        admin.withLock { $0 }?.stop()
        parts.alerts.finish(milliseconds: 2_000)
        parts.dataPlane.shared.accessLog.finish(milliseconds: 1_000)
        parts.spans.finish(milliseconds: 1_000)
        return isDrained && isKept
    }
}

/// Why a gateway cannot run.
package struct ServerError: Error, Sendable {
    package let text: String

    package init(text: String) { self.text = text }
}

import CLinux
import Gateway
import Synchronization

/// What a gateway does every second, apart from its requests: reads the counters, keeps the history, looks for what is to be
/// alerted of, and lets the controller and the pilot act.
final class SecondHand: Sendable {
    private let parts: GatewayParts
    private let watch: AlertWatch
    private let isStopped = Atomic<Bool>(false)
    /// The controller's last tick is not done yet: one at a time.
    private let isTicking = Atomic<Bool>(false)
    /// The last look for alerts is not done yet. Apart from the tick above: what it waits for may be what is to be told.
    private let isWatching = Atomic<Bool>(false)

    init(_ parts: GatewayParts) {
        self.parts = parts
        watch = AlertWatch(
            desk: parts.alerts, controller: parts.controller, dataPlane: parts.dataPlane, storage: parts.storage,
            health: parts.health, board: parts.board)
    }

    /// Begins, on a thread of its own.
    func start() {
        startThread(name: "figures") { [self] in
            while !isStopped.load(ordering: .relaxed) {
                usleep(1_000_000)
                tick()
            }
        }
    }

    /// After the present second.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func tick() {
        parts.board.tick()
        parts.history.observe(parts.board, parts.dataPlane, parts.controller, parts.storage)
        if !isWatching.exchange(true, ordering: .acquiringAndReleasing) {
            Task.detached { [self] in
                await watch.look()
                isWatching.store(false, ordering: .releasing)
            }
        }
        guard !isTicking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task.detached { [self] in
            await parts.controller.lookForCatchUp(now: clinux_wall_milliseconds())
            await parts.pilot.tick()
            isTicking.store(false, ordering: .releasing)
        }
    }
}

import CLinux
import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry

/// Gathers once a second what the alert rules look at.
final class AlertWatch: Sendable {
    private let desk: AlertDesk
    private let controller: RolloutController
    private let dataPlane: DataPlane
    private let storage: Storage
    private let health: JournalHealth
    private let board: FigureBoard
    private let parked = Mutex(ParkedLook())

    /// When parked legs are counted, which asks the store: whenever this gateway has parked one, and now and then.
    private struct ParkedLook {
        /// Legs that this gateway had parked when it looked.
        var total: UInt64?
        var known: (legacy: Int, new: Int)?
        var nextAt: Int64 = 0
    }

    init(
        desk: AlertDesk, controller: RolloutController, dataPlane: DataPlane, storage: Storage, health: JournalHealth,
        board: FigureBoard
    ) {
        self.desk = desk
        self.controller = controller
        self.dataPlane = dataPlane
        self.storage = storage
        self.health = health
        self.board = board
    }

    /// One look. Waits for the store for at most a second.
    func look() async {
        let plan = await controller.picture.settings.plan
        let writer = storage.journal.writer.figures
        var seen = AlertObservation(
            wall: clinux_wall_milliseconds(), monotonic: Int64(clinux_monotonic_nanoseconds() / 1_000_000))
        seen.plan = plan?.name
        seen.onBreach = plan?.onBreach ?? .alert
        let lag = dataPlane.oldestPendingSeconds()
        seen.lagSeconds = (lag.legacy, lag.new)
        seen.lagLimitSeconds =
            plan?.alerts.lagSeconds ?? plan?.gates.journalLagSeconds ?? PlanAlerts.standardLagSeconds
        seen.isStoreWritable = health.isWritable.load(ordering: .relaxed)
        seen.isStoreConnected = storage.cluster?.state.isConnected ?? true
        (seen.journalQueue, seen.journalGroups) = (writer.queueDepth, writer.groups)
        seen.isHealthy = (dataPlane.isHealthy(.legacy), dataPlane.isHealthy(.new))
        seen.parked = await parkedLegs(board.snapshot(), now: seen.monotonic)
        desk.observe(seen)
    }

    private func parkedLegs(_ totals: MetricsSnapshot, now: Int64) async -> (legacy: Int, new: Int)? {
        let total = Backend.allCases.reduce(UInt64(0)) { $0 + totals.counter(Cells.legsParked + $1.index) }
        let (isDue, known) = parked.withLock { ($0.total != total || $0.known == nil || now >= $0.nextAt, $0.known) }
        guard isDue else { return known }
        // While a shared store is away, the last count says nothing.
        if storage.cluster?.state.isConnected == false { return nil }
        let journal = storage.journal
        let counts = await within(milliseconds: 1_000) {
            try? await journal.read { reader throws(JournalError) in try reader.counts() }
        }
        guard let counts else { return nil }
        let found = (legacy: counts.parkedLegacy, new: counts.parkedNew)
        parked.withLock {
            let isAny = found.legacy + found.new > 0
            $0 = ParkedLook(total: total, known: found, nextAt: now + (isAny ? 5_000 : 60_000))
        }
        return found
    }
}

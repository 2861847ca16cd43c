import CLinux
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry

extension HistoryRecorder {
    /// A second has passed: reads the counters and both clocks, and has a look at the rollout for the next time.
    func observe(_ board: FigureBoard, _ dataPlane: DataPlane, _ controller: RolloutController, _ storage: Storage) {
        let coordinator = dataPlane.shared.coordinator
        let isSpanOver = tick(
            wall: clinux_wall_milliseconds(), monotonic: monotonicMilliseconds, snapshot: board.snapshot(),
            pending: HistoryRow.Pair(
                legacy: Int64(coordinator.backlog(.legacy).count), new: Int64(coordinator.backlog(.new).count)))
        guard !isLooking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task.detached { [self] in
            await look(at: controller, storage, countsParked: isSpanOver)
            isLooking.store(false, ordering: .releasing)
        }
    }

    /// Begins with what the rollout is and what the store holds.
    func begin(_ controller: RolloutController, _ storage: Storage) async {
        await begin(wall: clinux_wall_milliseconds(), monotonic: monotonicMilliseconds)
        await look(at: controller, storage, countsParked: true)
    }

    /// - Parameter countsParked: asks the store how many legs are parked, which is too much for every second.
    private func look(at controller: RolloutController, _ storage: Storage, countsParked: Bool) async {
        note(await controller.picture.state)
        guard countsParked, storage.cluster?.state.isConnected ?? true else { return }
        let journal = journal
        let counts = await within(milliseconds: patienceMilliseconds) {
            try? await journal.read { reader throws(JournalError) in try reader.counts() }
        }
        if let counts { note(parked: counts.parkedLegacy + counts.parkedNew) }
    }
}

/// Milliseconds of a clock that never jumps.
var monotonicMilliseconds: Int64 { Int64(clamping: clinux_monotonic_nanoseconds() / 1_000_000) }

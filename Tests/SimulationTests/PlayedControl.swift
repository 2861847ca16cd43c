import Configuration
import Journal
import Rollout

@testable import Gateway
@testable import StoreSQLite

/// The rollout of one life of the gateway: the machine, the store and the snapshots, in the order in which
/// `RolloutController` uses them. The actor itself needs threads.
final class PlayedControl {
    private let settings: Settings
    private let journal: SimulatedJournal
    private let timeline: Timeline
    private let ledger: Ledger
    private let identity: IdentitySources
    private let machine: RolloutMachine
    private var state: RolloutState
    private var inForce: RolloutState
    private var pins: [String: Side] = [:]
    private var movedBackAt: UInt64
    /// Puts a snapshot in force.
    var publish: (Snapshot) -> Void = { _ in }

    init(
        store: SQLiteStore, settings: Settings, journal: SimulatedJournal, timeline: Timeline, ledger: Ledger
    ) throws {
        self.settings = settings
        self.journal = journal
        self.timeline = timeline
        self.ledger = ledger
        // As after every start: whoever was draining goes on doing so.
        movedBackAt = timeline.now / 1_000_000
        identity = try IdentitySources(settings.user)
        machine = RolloutMachine(plan: nil, configuredShadowHundredths: settings.shadow.shareHundredths)
        state = machine.freshState(atMilliseconds: timeline.wall)
        if let stored = try store.loadRollout() {
            state.percentHundredths = stored.percentHundredths
            state.condition = RolloutState.Condition(rawValue: stored.state) ?? .running
            state.generation = stored.generation
        }
        inForce = state
        for pin in try store.pins() { pins[pin.user] = pin.side }
        if !ledger.percents.contains(state.percentHundredths) {
            ledger.violated(
                "after the start \(state.percentHundredths) is in force, not one of \(ledger.percents.sorted())")
        }
        ledger.percents = [state.percentHundredths]
    }

    var snapshot: Snapshot {
        let view = RolloutView(
            percentHundredths: state.percentHundredths, shadowHundredths: state.shadowHundredths,
            dualWrite: state.dualWrite, generation: state.generation, movedBackAt: movedBackAt)
        return Snapshot(settings: settings, rollout: view, pins: pins, identity: identity)
    }

    func apply(_ command: RolloutCommand) {
        guard case .changed(let next, _) = machine.apply(command, to: state, atMilliseconds: timeline.wall) else {
            return
        }
        let isRollback = if case .rollback = command { true } else { false }
        if isRollback || next.percentHundredths < state.percentHundredths { movedBackAt = timeline.now / 1_000_000 }
        state = next
        ledger.percents.insert(next.percentHundredths)
        if isRollback { putInForce() }
        save(next, isRollback: isRollback)
    }

    private func putInForce() {
        inForce = state
        publish(snapshot)
    }

    private func save(_ next: RolloutState, isRollback: Bool) {
        let record = RolloutRecord(
            generation: next.generation, plan: "", stage: "", percentHundredths: next.percentHundredths,
            state: next.condition.rawValue, sinceMilliseconds: next.sinceMilliseconds)
        let event = event("change")
        // Everything runs on the thread of the simulation.
        nonisolated(unsafe) let control = self
        journal.perform { store in
            guard let store else { return }
            do throws(JournalError) {
                let stored = try store.loadRollout()?.generation ?? 0
                guard stored < record.generation else { return }
                if try store.saveRollout(record, replacing: stored, event: event) { control.saved(next, isRollback) }
            } catch {
                control.notSaved(next, isRollback)
            }
        }
    }

    private func saved(_ next: RolloutState, _ isRollback: Bool) {
        // Newer ones may be on their way.
        ledger.percents =
            state.generation == next.generation
            ? [next.percentHundredths] : [next.percentHundredths, state.percentHundredths]
        if !isRollback { putInForce() }
    }

    private func notSaved(_ next: RolloutState, _ isRollback: Bool) {
        if isRollback {
            timeline.after(milliseconds: 500) { [self] in
                if state.generation == next.generation, !journal.isDead { save(next, isRollback: true) }
            }
        } else if state.generation == next.generation {
            state = inForce
        }
    }

    func pin(_ user: String, _ side: Side?) {
        let event = event("pin")
        let pin = side.map { Pin(user: user, side: $0, sinceMilliseconds: timeline.wall) }
        nonisolated(unsafe) let control = self
        journal.perform { store in
            guard let store else { return }
            do throws(JournalError) {
                if let pin {
                    try store.setPin(pin, event: event)
                } else {
                    _ = try store.removePin(user: user, event: event)
                }
                control.pins[user] = side
                if side != .new { control.movedBackAt = control.timeline.now / 1_000_000 }
                control.publish(control.snapshot)
            } catch {}
        }
    }

    private func event(_ action: String) -> RolloutEvent {
        RolloutEvent(
            atMilliseconds: timeline.wall, actor: "simulation", action: action, before: "", after: "", reason: "")
    }
}

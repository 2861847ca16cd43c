import Journal
import Rollout

/// The states of the rollout from the one that the store holds, as far as this gateway knows, to the one that was decided last.
/// Pure.
///
/// Commands may come faster than the store takes them: each is decided on the one before, and stands or falls with it. A step
/// is stored only over a record that it stands on, so nobody's decision, of this gateway or of another one, is passed over.
struct RolloutSteps {
    /// A state that was decided, and what the store must hold for it to be stored.
    struct Step {
        fileprivate(set) var state: RolloutState
        /// How the store keeps it.
        fileprivate(set) var record: RolloutRecord
        /// The records over which it may be stored; nil is a store that has none.
        fileprivate(set) var below: [RolloutRecord?]
        /// In force whatever the store says: the way back does not wait for a disk.
        fileprivate(set) var standsUnstored: Bool

        func isStored(over record: RolloutRecord?) -> Bool { below.contains(record) }
    }

    /// What the store holds as far as this gateway knows; nil is nothing.
    private var ground: RolloutRecord?
    /// What the ground means to this gateway.
    private var groundState: RolloutState
    /// What was decided since, each on the one before.
    private var steps: [Step] = []

    /// - Parameters:
    ///   - record: what the store holds.
    ///   - state: what it means to this gateway, whose plan may differ.
    init(stored record: RolloutRecord?, as state: RolloutState) {
        ground = record
        groundState = state
    }

    /// What was decided last.
    var state: RolloutState { steps.last?.state ?? groundState }

    /// Whether something newer was decided on a step.
    func isOvertaken(_ step: Step) -> Bool { state.generation > step.record.generation }

    /// A state is decided on the last one.
    /// - Parameter standsUnstored: it is in force even if the store refuses it.
    /// - Returns: the step, to be stored.
    mutating func decide(_ state: RolloutState, as record: RolloutRecord, standsUnstored: Bool) -> Step {
        // What is under a rollback may still be what is stored, and so on down.
        let firm = steps.lastIndex { !$0.standsUnstored }
        let below = firm.map { steps[$0...].map(\.record) } ?? [ground] + steps.map(\.record)
        let step = Step(state: state, record: record, below: below, standsUnstored: standsUnstored)
        steps.append(step)
        return step
    }

    /// The store has taken a step.
    mutating func stored(_ step: Step) { see(step.record, as: step.state) }

    /// The store has not taken a step: it falls, with all that was decided on it.
    mutating func fall(_ step: Step) {
        guard let index = steps.firstIndex(where: { $0.record == step.record }) else { return }
        steps.removeSubrange(index...)
    }

    /// What the store was seen to hold.
    /// - Parameter state: what it means to this gateway.
    mutating func see(_ record: RolloutRecord, as state: RolloutState) {
        if let index = steps.firstIndex(where: { $0.record == record }) {
            (ground, groundState) = (record, steps[index].state)
            steps.removeSubrange(...index)
            return
        }
        // Reads may be answered out of turn; a generation is given once.
        guard record.generation > ground?.generation ?? 0 else { return }
        (ground, groundState) = (record, state)
        // The way back counts until it is stored, or decided anew on this; all else that is on its way falls.
        let isBehind = steps.last.map { $0.record.generation <= record.generation } ?? true
        let firm = isBehind ? steps.indices.last : steps.lastIndex { !$0.standsUnstored }
        if let firm { steps.removeSubrange(...firm) }
    }
}

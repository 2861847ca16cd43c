import CLinux
package import Configuration
import FoundationEssentials
package import Gateway
package import Journal
import JournalThreads
package import Rollout
import Telemetry
package import Values

/// Who asks for a change, and why.
package struct ChangeOrigin: Sendable {
    package var actor: String
    package var reason: String
    /// The change is wanted only while the rollout is at one of these generations; nil: at any.
    package var ifGenerations: [Int64]?
    package var isDryRun: Bool

    package init(actor: String, reason: String = "", ifGeneration: Int64? = nil, isDryRun: Bool = false) {
        self.actor = actor
        self.reason = reason
        ifGenerations = ifGeneration.map { [$0] }
        self.isDryRun = isDryRun
    }

    /// Whether the change is still wanted at this generation.
    func accepts(_ generation: Int64) -> Bool { ifGenerations?.contains(generation) ?? true }

    /// The actor of what the gates do by themselves.
    package static let gate = "gate"

    /// Why, for whoever asks later: a gate says it, an operator may.
    var words: String {
        if actor == Self.gate { return reason }
        return "by \(actor)" + (reason.isEmpty ? "" : ": \(reason)")
    }
}

/// What came of a change.
package enum ChangeOutcome: Sendable {
    case done(before: JSONValue, after: JSONValue, warnings: [String], generation: Int64)
    /// The caller's generation is old.
    case outdated(current: Int64)
    case refused([String])
    /// The store did not take it; nothing was changed.
    case unavailable(String)
}

/// The one place where the rollout changes: applies a command, makes it durable, puts it in force on every loop, in this
/// order, one command at a time. Where several gateways share a store, `RolloutController+Sharing.swift` is between the last two.
package actor RolloutController {
    /// What was decided, as far as the store may not have it yet.
    private(set) var steps: RolloutSteps
    /// What was decided last; in force a moment later.
    var state: RolloutState { steps.state }
    private(set) var settings: Settings
    private(set) var machine: RolloutMachine
    private var identity: IdentitySources
    var pins: [String: Pin]
    /// Whoever was draining when the gateway last stopped goes on doing so.
    private var movedBackAt = clinux_monotonic_nanoseconds() / 1_000_000
    /// What the loops decide by.
    private(set) var inForce: Decided
    /// A rollback that is in force and not durable yet; the newest one.
    private var unstored: (step: RolloutSteps.Step, event: RolloutEvent)?
    private var isTrying = false
    /// How long a rollback waits for the store before it is answered, in milliseconds.
    private let saveWaitMilliseconds: Int
    /// Which of two that wait for the other gateways is the later one.
    var arming = 0
    /// What other gateways may begin to read, see `RolloutView.announces`.
    private var armedSides: SideSet = []
    var isAdopting = false
    var adoptsAgain = false
    /// The journal was closed: nothing is read any more.
    var isEnded = false
    let journal: ThreadedJournal
    /// The other gateways of the store; nil where the store is this one's alone.
    let cluster: (any JournalCluster)?
    private let metrics: LoopMetrics
    private(set) var dataPlane: DataPlane?
    /// Brings legacy what it lacks, once it is written again.
    private(set) var reverseSync: ReverseSync?
    /// Whether legacy has caught up since the last rollback.
    var catchUp = LegacyCatchUp()
    /// Why legacy is still written although `keep` has ended, as sentences.
    var keepWaits: [String] = []
    /// Hears of every change that this gateway has carried out. Must not block.
    private var onChange: (@Sendable (RolloutChange) -> Void)?

    /// A state of the rollout with its pins: all that decides who is where.
    struct Decided: Equatable {
        var state: RolloutState
        var pins: [String: Pin]
    }

    /// - Parameters:
    ///   - cluster: the other gateways of the store, if it is shared.
    ///   - metrics: the control plane's own counters; written on this actor only.
    ///   - saveWaitMilliseconds: how long a rollback waits for the store before it is answered.
    init(
        settings: Settings, identity: IdentitySources, stored: RolloutRecord?, pins: [Pin], journal: ThreadedJournal,
        cluster: (any JournalCluster)? = nil, metrics: LoopMetrics, saveWaitMilliseconds: Int = 1_500
    ) {
        self.saveWaitMilliseconds = saveWaitMilliseconds
        self.settings = settings
        self.identity = identity
        self.journal = journal
        self.cluster = cluster
        self.metrics = metrics
        let pins = Dictionary(pins.map { ($0.user, $0) }, uniquingKeysWith: { $1 })
        self.pins = pins
        machine = RolloutMachine(plan: settings.plan, configuredShadowHundredths: settings.shadow.shareHundredths)
        let now = clinux_wall_milliseconds()
        var start = machine.freshState(atMilliseconds: now)
        if let stored, let kept = RolloutController.state(in: stored) {
            start = machine.adopting(kept, atMilliseconds: now)
            start.generation = max(start.generation, stored.generation)
        }
        steps = RolloutSteps(stored: stored, as: start)
        inForce = Decided(state: start, pins: pins)
    }

    /// The state that a record holds; nil when another version wrote something that this one cannot read.
    static func state(in record: RolloutRecord) -> RolloutState? {
        try? JSONDecoder().decode(RolloutState.self, from: Data(record.details.utf8))
    }

    /// The data plane that changes are put in force on, from now on.
    package func attach(_ dataPlane: DataPlane) { self.dataPlane = dataPlane }

    /// What is called when legacy is written again.
    package func attach(_ reverseSync: ReverseSync) { self.reverseSync = reverseSync }

    /// Who hears of every change that this gateway carries out.
    func attach(onChange: @escaping @Sendable (RolloutChange) -> Void) { self.onChange = onChange }

    private func tell(_ event: RolloutEvent, _ action: String, from before: RolloutState, to next: RolloutState) {
        onChange?(
            RolloutChange(
                atMilliseconds: event.atMilliseconds, action: action, actor: event.actor, reason: event.reason,
                before: before, after: next))
    }

    /// What every loop decides by.
    package var snapshot: Snapshot { snapshot(announcing: []) }

    /// - Parameter sides: the sides that other gateways may begin to read for users whose writes are under way here.
    private func snapshot(announcing sides: SideSet) -> Snapshot {
        let state = inForce.state
        let view = RolloutView(
            percentHundredths: state.percentHundredths,
            // What legacy was not told cannot be compared with it.
            shadowHundredths: state.legacyWrites ? state.shadowHundredths : 0,
            dualWrite: state.dualWrite, generation: state.generation, movedBackAt: movedBackAt, announces: sides,
            legacyWrites: state.legacyWrites)
        return Snapshot(settings: settings, rollout: view, pins: inForce.pins.mapValues(\.side), identity: identity)
    }

    /// What is in force, and the settings, as one consistent picture.
    package var picture: (state: RolloutState, settings: Settings) { (inForce.state, settings) }

    package func pin(of user: String) -> Pin? { pins[user] }

    // MARK: Commands

    /// Applies a command.
    /// - Parameters:
    ///   - obstacles: see `RolloutMachine.apply`; what the controller knows by itself is added.
    ///   - cautions: see `RolloutMachine.apply`.
    package func apply(
        _ command: RolloutCommand, gates: [GateFinding], obstacles: [String] = [], cautions: [String] = [],
        _ origin: ChangeOrigin
    ) async -> ChangeOutcome {
        for _ in 0..<RolloutController.conflictsMax {
            guard origin.accepts(state.generation) else { return .outdated(current: state.generation) }
            let before = state
            let now = clinux_wall_milliseconds()
            let obstacles = command == .stopLegacy ? whoNeedsLegacy + obstacles : obstacles
            switch machine.apply(
                command, to: state, atMilliseconds: now, reason: origin.words, gates: gates, obstacles: obstacles,
                cautions: cautions)
            {
            case .refused(let reasons): return .refused(reasons)
            case .unchanged(let same, let warnings):
                return .done(
                    before: rolloutJSON(before), after: rolloutJSON(same), warnings: warnings,
                    generation: same.generation)
            case .changed(let next, let warnings):
                if origin.isDryRun {
                    let more = await legacyWarnings(from: before, to: next, isDryRun: true)
                    return .done(
                        before: rolloutJSON(before), after: rolloutJSON(next), warnings: warnings + more,
                        generation: before.generation)
                }
                if let outcome = await change(to: next, command, warnings, origin) { return outcome }
            }
        }
        return .unavailable("other gateways change the rollout at the same time")
    }

    /// How often a command is judged anew because another gateway was quicker.
    private static let conflictsMax = 5

    /// - Returns: nil when another gateway has changed the rollout meanwhile: the command is to be judged anew.
    private func change(
        to next: RolloutState, _ command: RolloutCommand, _ warnings: [String], _ origin: ChangeOrigin
    ) async -> ChangeOutcome? {
        let before = state
        var warnings = warnings
        let isRollback = if case .rollback = command { true } else { false }
        let event = event(command.action, before: rolloutJSON(before), after: rolloutJSON(next), origin)
        // Nobody else may decide on the old state while the store writes: the state moves first and is taken back
        // when the store refuses.
        let step = decide(next, standsUnstored: isRollback)
        if isRollback {
            // The way back does not wait for a disk.
            metrics.rollback(origin.actor == ChangeOrigin.gate ? .gate : .operator)
            if isShared { putInForceSoon(next) } else { putInForce(next) }
            watchForCatchUp(legs: dataPlane?.shared.coordinator.backlog(.legacy).count ?? 0)
        } else if next.condition != .rolledBack {
            catchUp = LegacyCatchUp()
        } else if next.percentHundredths < before.percentHundredths {
            // More users go back: what they wrote has to be there, too.
            watchForCatchUp(legs: dataPlane?.shared.coordinator.backlog(.legacy).count ?? 0)
        }
        do throws(JournalError) {
            if isRollback { try await saveInTime(step, event) } else { try await save(step, event) }
        } catch {
            if error == RolloutController.otherGeneration {
                steps.fall(step)
                if await readShared() {
                    // Whatever becomes of this command: what another gateway has decided is put in force.
                    Task { await adoptShared() }
                    return nil
                }
            }
            guard isRollback else {
                steps.fall(step)
                return .unavailable(error.message)
            }
            putInForce(next)
            warnings.append("in force, but not durable yet: \(error.message)")
            if error != Self.slowStore { keepTrying(step, event) }
        }
        tell(event, command.action, from: before, to: next)
        warnings += await bringIntoForce(next)
        warnings += await legacyWarnings(from: before, to: next)
        return .done(
            before: rolloutJSON(before), after: rolloutJSON(next), warnings: warnings, generation: next.generation)
    }

    /// Pins a user to a side, or (`nil`) lets the percent decide again.
    package func setPin(_ user: String, _ side: Side?, _ origin: ChangeOrigin) async -> ChangeOutcome {
        guard origin.accepts(state.generation) else { return .outdated(current: state.generation) }
        let old = pins[user]
        let now = clinux_wall_milliseconds()
        let before = JSONValue.object([("pin", old.map { .string("\($0.side.name)") } ?? .null)])
        let after = JSONValue.object([("pin", side.map { .string("\($0.name)") } ?? .null)])
        if origin.isDryRun || old?.side == side {
            return .done(before: before, after: after, warnings: [], generation: state.generation)
        }
        if side == .legacy, !state.legacyWrites {
            return .refused(["legacy is not written: a user who is sent there would miss their writes"])
        }
        let event = event(side == nil ? "unpin" : "pin", before: before, after: after, origin, subject: user)
        do throws(JournalError) {
            if let side {
                let pin = Pin(user: user, side: side, sinceMilliseconds: now)
                try await journal.write { store throws(JournalError) in try store.setPin(pin, event: event) }
                pins[user] = pin
            } else {
                _ = try await journal.write { store throws(JournalError) in
                    try store.removePin(user: user, event: event)
                }
                pins[user] = nil
            }
        } catch {
            return .unavailable(error.message)
        }
        let warnings = await bringIntoForce(inForce.state)
        return .done(before: before, after: after, warnings: warnings, generation: state.generation)
    }

    /// Takes over a configuration that has been validated. The event says what has changed in the plan's rules.
    /// - Parameter remarks: what is to be said of it.
    package func reload(
        _ settings: Settings, _ identity: IdentitySources, remarks: [String] = [], _ origin: ChangeOrigin
    ) async -> ChangeOutcome {
        let old = self.settings
        let before = state
        self.settings = settings
        self.identity = identity
        machine = RolloutMachine(plan: settings.plan, configuredShadowHundredths: settings.shadow.shareHundredths)
        let next = machine.adopting(before, atMilliseconds: clinux_wall_milliseconds())
        let rules = changedRules(from: old.plan, to: settings.plan)
        let event = event(
            "reload", before: rolloutJSON(before).adding(rules.before), after: rolloutJSON(next).adding(rules.after),
            origin)
        let step = next == before ? nil : decide(next, standsUnstored: true)
        inForce.state = next
        dataPlane?.reload(snapshot, from: old)
        var warnings = remarks
        do throws(JournalError) {
            if let step {
                try await save(step, event)
            } else {
                try await journal.write { store throws(JournalError) in try store.appendEvent(event) }
            }
        } catch {
            warnings.append("in force, but the event is not durable: \(error.message)")
            if error == RolloutController.otherGeneration, let step {
                steps.fall(step)
                Task { await adoptShared() }
            }
        }
        if next != before { tell(event, "reload", from: before, to: next) }
        return .done(
            before: rolloutJSON(before), after: rolloutJSON(next), warnings: warnings, generation: next.generation)
    }

    /// Keeps what an operator did to the journal.
    /// - Parameter at: when that was, in milliseconds since 1970; nil: now.
    package func note(
        _ action: String, before: JSONValue, after: JSONValue, _ origin: ChangeOrigin, at: Int64? = nil
    ) async {
        let event = event(action, before: before, after: after, origin, at: at)
        do throws(JournalError) {
            try await journal.write { store throws(JournalError) in try store.appendEvent(event) }
        } catch {
            logLine("the event \"\(action)\" is not durable: \(error.message)")
        }
    }

    /// Stores the state that the gateway starts in, when the store has none or the plan has moved it.
    package func persistStart() async {
        if state.condition == .rolledBack { await resumeWatching() }
        do throws(JournalError) {
            let stored = try await journal.read { reader throws(JournalError) in try reader.loadRollout() }
            let next = state
            if let stored, stored.details == record(of: next).details { return }
            let origin = ChangeOrigin(actor: "gateway", reason: stored == nil ? "first start" : "plan changed")
            let event = event("start", before: .null, after: rolloutJSON(next), origin)
            let step = decide(next, standsUnstored: true)
            do throws(JournalError) {
                try await save(step, event)
            } catch {
                guard error == RolloutController.otherGeneration else { throw error }
                steps.fall(step)
                _ = await readShared()
            }
        } catch {
            logLine("the rollout's state is not durable yet: \(error.message)")
        }
    }

    /// What the store was seen to hold.
    func see(_ record: RolloutRecord, as state: RolloutState) { steps.see(record, as: state) }

    private func decide(_ next: RolloutState, standsUnstored: Bool) -> RolloutSteps.Step {
        steps.decide(next, as: record(of: next), standsUnstored: standsUnstored)
    }

    /// Stores a step over what it stands on. Saves keep the order of the commands: the journal takes its work in order.
    /// - Throws: `otherGeneration` when another gateway has changed the rollout meanwhile.
    func save(_ step: RolloutSteps.Step, _ event: RolloutEvent) async throws(JournalError) {
        let isSaved = try await journal.write { store throws(JournalError) -> Bool in
            let stored = try store.loadRollout()
            guard step.isStored(over: stored) else { return false }
            return try store.saveRollout(step.record, replacing: stored?.generation ?? 0, event: event)
        }
        if !isSaved { throw RolloutController.otherGeneration }
        steps.stored(step)
        // Whoever commanded this knew of the rollback.
        if let unstored, unstored.step.record.generation <= step.record.generation { self.unstored = nil }
    }

    /// As `save`, but whoever asked for the way back is answered soon: a save that takes long goes on by itself.
    private func saveInTime(_ step: RolloutSteps.Step, _ event: RolloutEvent) async throws(JournalError) {
        // At once, not in a turn of its own: saves keep the order of the commands.
        let saving = Task.immediate { () async -> Result<Void, JournalError> in
            do throws(JournalError) {
                try await save(step, event)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        let saved = await within(milliseconds: saveWaitMilliseconds) { await saving.value }
        guard let saved else {
            Task { if case .failure = await saving.value { keepTrying(step, event) } }
            throw Self.slowStore
        }
        try saved.get()
    }

    private static let slowStore = JournalError(.busy, "the store takes long")

    /// A state is what the loops decide by, from now on, with the pins that hold now; unless a newer one is in force.
    func putInForce(_ state: RolloutState) {
        arming += 1
        let isNewer = state.generation >= inForce.state.generation
        let next = Decided(state: isNewer ? state : inForce.state, pins: pins)
        if isMovingBack(from: inForce, to: next) { movedBackAt = clinux_monotonic_nanoseconds() / 1_000_000 }
        // Nobody may write to legacy past what it lacks, from the first moment in which it is written again.
        let legacyIsBack = !inForce.state.legacyWrites && next.state.legacyWrites
        if legacyIsBack { dataPlane?.shared.coordinator.legacyGate.close() }
        inForce = next
        dataPlane?.publish(snapshot(announcing: armedSides))
        if !armedSides.isEmpty { disarmLater() }
        if legacyIsBack { reverseSync?.legacyIsWrittenAgain() }
    }

    /// The loops go on as before, and take care that other gateways know of what they leave outstanding to these sides.
    func publish(announcing sides: SideSet) {
        armedSides.formUnion(sides)
        dataPlane?.publish(snapshot(announcing: armedSides))
    }

    /// For a second after a change gateways may disagree about it, or about the one before: what is left outstanding is announced
    /// for as long.
    private func disarmLater() {
        let mine = arming
        Task {
            try? await Task.sleep(for: .milliseconds(1_000))
            guard mine == arming else { return }
            armedSides = []
            dataPlane?.publish(snapshot)
        }
    }

    /// Stores a rollback as soon as the store takes it: what is in force must survive a restart. Of several the newest counts; one
    /// on which a later command was stored is over.
    private func keepTrying(_ step: RolloutSteps.Step, _ event: RolloutEvent) {
        guard step.record.generation > unstored?.step.record.generation ?? 0 else { return }
        unstored = (step: step, event: event)
        guard !isTrying else { return }
        isTrying = true
        Task {
            while unstored != nil {
                try? await Task.sleep(for: .milliseconds(500))
                // What is on its way and was decided on the rollback may be stored any moment, and the rollback with it.
                guard let (step, event) = unstored, !steps.isOvertaken(step) else { continue }
                do throws(JournalError) {
                    try await save(step, event)
                } catch {
                    if error == RolloutController.otherGeneration {
                        // Another gateway has gone on without having seen this rollback: the way back counts, and is commanded anew.
                        await rollBackAgain(step, event)
                    } else if !error.isTransient {
                        unstored = nil
                    }
                }
            }
            isTrying = false
        }
    }

    /// A rollback that is in force here and was never durable, on top of what others have decided since.
    private func rollBackAgain(_ mine: RolloutSteps.Step, _ event: RolloutEvent) async {
        steps.fall(mine)
        guard await readShared() else { return }
        var next = mine.state
        next.generation = state.generation + 1
        unstored = (step: decide(next, standsUnstored: true), event: event)
        putInForce(next)
    }

    static let otherGeneration = JournalError(.other, "the stored rollout is at another generation")

    private func record(of state: RolloutState) -> RolloutRecord {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // A state is numbers, words and switches: there is none that JSON could not hold.
        let details = (try? encoder.encode(state)) ?? Data()
        return RolloutRecord(
            generation: state.generation, plan: state.planName ?? "", stage: state.stageName ?? "",
            percentHundredths: state.percentHundredths, state: state.condition.rawValue,
            sinceMilliseconds: state.sinceMilliseconds, details: String(decoding: details, as: UTF8.self))
    }

    private func event(
        _ action: String, before: JSONValue, after: JSONValue, _ origin: ChangeOrigin, subject: String? = nil,
        at: Int64? = nil
    ) -> RolloutEvent {
        RolloutEvent(
            atMilliseconds: at ?? clinux_wall_milliseconds(), actor: origin.actor,
            action: subject.map { "\(action) \($0)" } ?? action,
            before: before.text, after: after.text, reason: origin.reason)
    }
}

extension RolloutCommand {
    /// The word of the command line.
    var action: String {
        switch self {
        case .promote: "promote"
        case .rollback: "rollback"
        case .pause: "pause"
        case .resume: "resume"
        case .setPercent: "set-percent"
        case .stopLegacy: "stop-legacy"
        case .resumeLegacy: "resume-legacy"
        }
    }
}

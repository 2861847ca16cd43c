import CLinux
import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Telemetry

/// Asks the pilot every second what is to be done, and does it: rollback and pause on a breach, automatic promotion.
///
/// What it commands goes through the controller like an operator's command, for the generation that was judged: whoever was
/// quicker wins, and the pilot looks again a second later.
actor PilotDriver {
    private let controller: RolloutController
    private let board: FigureBoard
    private let dataPlane: DataPlane
    private let journal: ThreadedJournal
    private let wayBack: WayBack
    /// What operators call this gateway.
    private var name: String
    /// Seconds under load since an instant (milliseconds since 1970), as the stored history knows it.
    private let loadSeconds: @Sendable (Int64) async -> Int64
    /// Told of what the gates say, once a second and before anything is done about it.
    private let onJudged: @Sendable ([GateFinding]) -> Void
    /// Told of a breach that nothing was done about by itself.
    private let onAlert: @Sendable (String) -> Void
    private var pilot: RolloutPilot?
    /// Where the present stage began on the board's clock; nil while it has lasted since before the start.
    private var stageBegan: UInt64?
    private var stage: (name: String?, since: Int64)?
    private var requests: UInt64 = 0
    /// Legs to new that were refused for good, as they were last seen.
    private var parked = ParkedLegs()

    /// - Parameters:
    ///   - loadSeconds: how long the stage was under load before this start.
    ///   - onJudged: any thread; must not block.
    ///   - onAlert: any thread; must not block.
    init(
        controller: RolloutController, board: FigureBoard, dataPlane: DataPlane, journal: ThreadedJournal,
        wayBack: WayBack = .real, name: String = "",
        loadSeconds: @escaping @Sendable (Int64) async -> Int64 = { _ in 0 },
        onJudged: @escaping @Sendable ([GateFinding]) -> Void = { _ in },
        onAlert: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.controller = controller
        self.board = board
        self.dataPlane = dataPlane
        self.journal = journal
        self.wayBack = wayBack
        self.name = name
        self.loadSeconds = loadSeconds
        self.onJudged = onJudged
        self.onAlert = onAlert
    }

    private var now: Int64 { Int64(clinux_monotonic_nanoseconds() / 1_000_000) }

    /// To be called every second.
    func tick() async {
        let (state, settings) = await controller.picture
        await follow(state, plan: settings.plan)
        guard var pilot else { return }
        let (findings, counters) = judge(state, plan: settings.plan)
        let own = findings.filter(\.isGate)
        onJudged(own)
        tellOthers(own)
        let gates = own + failingElsewhere
        let action = pilot.tick(state, gates: gates, ahead: ahead, hasTraffic: noticeTraffic(counters), now: now)
        self.pilot = pilot
        await act(action, state, gates)
        guard settings.plan != nil else { return }
        // What a breach takes has been done: the store may take its time from here on.
        await lookForParked()
        await controller.endKeep(
            now: clinux_wall_milliseconds(), state, holds: state.holds(gates: gates, ahead: ahead))
    }

    private func act(_ action: RolloutPilot.Action, _ state: RolloutState, _ gates: [GateFinding]) async {
        switch action {
        case .none: break
        case .alert(let reason): onAlert(reason)
        case .rollback(let reason): await command(.rollback(to: nil), state, gates, reason)
        case .pause(let reason): await command(.pause, state, gates, reason)
        case .promote(let reason):
            // A leg may have been parked within the last second.
            await lookForParked()
            guard pilot?.nextStep(state, gates: gates, ahead: ahead)?.isReady == true else { return }
            await command(.promote(to: nil, force: false), state, gates, reason)
        }
    }

    /// Every figure of the plan as the gates see it now, and the next step. Figures that are no gates are judged against nothing.
    func reading() async -> (gates: [GateFinding], next: NextStep?) {
        let (state, settings) = await controller.picture
        await follow(state, plan: settings.plan)
        let gates = judge(state, plan: settings.plan).findings
        return (gates, pilot?.nextStep(state, gates: gates.filter(\.isGate) + failingElsewhere, ahead: ahead))
    }

    /// The rollout may have changed: a stage that has begun is measured from now on.
    func follow() async {
        let (state, settings) = await controller.picture
        await follow(state, plan: settings.plan)
    }

    /// What speaks for or against a promotion now: the plan's gates, and those that fail at other gateways of the store.
    func gates() async -> [GateFinding] { await reading().gates.filter(\.isGate) + failingElsewhere }

    // MARK: The other gateways

    /// Gates that fail at others of the store that live: the rollout is theirs too.
    private var failingElsewhere: [GateFinding] {
        (controller.cluster?.state.failing ?? []).flatMap { other in
            other.gates.map { GateFinding(name: $0, verdict: .fail, gateway: other.gateway) }
        }
    }

    /// Says what tells this gateway from others, which is known for certain only when it listens.
    func call(_ name: String) { self.name = name }

    private func tellOthers(_ gates: [GateFinding]) {
        let failing = gates.filter { $0.verdict == .fail }.map(\.name)
        controller.cluster?.tell(FailingGates(gateway: name, gates: failing))
    }

    /// What is to be said to whoever sends users to new now.
    func cautions() async -> [String] {
        await lookForParked()
        return ahead.cautions
    }

    /// When the next step would come by itself if a pause ended now.
    func outlookOfResuming() async -> [String] {
        let (state, settings) = await controller.picture
        await follow(state, plan: settings.plan)
        guard state.condition == .paused else { return [] }
        var resumed = state
        resumed.condition = .running
        let gates = judge(state, plan: settings.plan).findings.filter(\.isGate) + failingElsewhere
        return [pilot?.nextStep(resumed, gates: gates, ahead: ahead)?.outlook].compactMap(\.self)
    }

    private var ahead: WayAhead {
        WayAhead(
            newAnswers: dataPlane.isHealthy(.new), parkedLegs: parked.count,
            parkedLastMilliseconds: parked.lastMilliseconds)
    }

    /// While the store does not answer, what was seen last stands.
    private func lookForParked() async { parked = await ParkedLegs.toNew(in: journal) ?? parked }

    // MARK: Following the stages

    /// A stage that was entered while this process runs is judged by what came since; one that was there before, by what came since
    /// the start.
    private func follow(_ state: RolloutState, plan: Plan?) async {
        if pilot == nil {
            let before = await loadSeconds(state.heldFrom) * 1000
            guard pilot == nil else { return }
            pilot = RolloutPilot(plan: plan, state: state, underLoadMilliseconds: before, now: now)
            stage = (state.stageName, state.attemptSince)
        }
        if pilot?.plan != plan { pilot = pilot?.with(plan: plan) }
        guard stage?.name != state.stageName || stage?.since != state.attemptSince else { return }
        stage = (state.stageName, state.attemptSince)
        stageBegan = board.mark()
    }

    private func noticeTraffic(_ counters: MetricsSnapshot) -> Bool {
        let reads = [Backend.legacy, .new].map { counters.reads($0, failed: false) &+ counters.reads($0, failed: true) }
        let total = reads[0] &+ reads[1] &+ counters.writesReceived
        defer { requests = total }
        return total != requests
    }

    /// - Returns: what every figure of the plan says, and the counters that it is judged by.
    private func judge(_ state: RolloutState, plan: Plan?) -> (findings: [GateFinding], counters: MetricsSnapshot) {
        let (evidence, counters) = board.evidence(since: stageBegan)
        let seen = GateEvidence(evidence, lag: dataPlane.oldestPendingSeconds())
        return (GateJudge(plan: plan).judge(seen, in: state), counters)
    }

    // MARK: Acting

    private func command(
        _ command: RolloutCommand, _ state: RolloutState, _ gates: [GateFinding], _ reason: String
    ) async {
        var obstacles: [String] = []
        if case .promote(let name, _) = command, await controller.promotesToLastStage(name) {
            obstacles = await wayBack.obstacles(
                await controller.picture.settings, dataPlane: dataPlane, journal: journal)
        }
        let origin = ChangeOrigin(actor: ChangeOrigin.gate, reason: reason, ifGeneration: state.generation)
        switch await controller.apply(command, gates: gates, obstacles: obstacles, origin) {
        case .done:
            logLine("\(command.action) by itself: \(reason)")
            await follow(await controller.picture.state, plan: await controller.picture.settings.plan)
        case .outdated: break  // Somebody was quicker: the next tick judges what is now.
        case .refused(let reasons):
            if refused != reasons {
                logLine("\(command.action) by itself is refused: \(reasons.joined(separator: "; "))")
            }
            refused = reasons
        case .unavailable(let why): logLine("\(command.action) by itself is not possible now: \(why)")
        }
    }

    /// What the last refusal said, so that it is not said every second.
    private var refused: [String] = []
}

extension GateEvidence {
    /// What was counted, as the judge reads it.
    init(_ evidence: FigureEvidence, lag: ByBackend<Double>) {
        self.init()
        let counts = evidence.counts
        func tally(_ proportion: Proportion) -> Tally { Tally(proportion.part, of: proportion.whole) }
        func times(_ histogram: Histogram) -> WaitTimes {
            WaitTimes(
                count: histogram.count, quantile: { histogram.quantile($0) },
                countAbove: { histogram.countAbove(seconds: $0) })
        }
        legacyReads = tally(counts.reads.legacy)
        newReads = tally(counts.reads.new)
        legacyWrites = times(counts.clientWriteDurations.legacy)
        newWrites = times(counts.clientWriteDurations.new)
        conflicts = tally(counts.conflicted)
        let aside = counts.aside
        keptAwayReads = aside.readsKeptAway
        shadowReads = Tally(aside.shadowFailures, of: aside.shadowFailures &+ counts.mismatched.whole)
        keptAwayShadowReads = aside.shadowKeptAway
        let whole = counts.fallbacks.whole
        fallbacks = Tally(counts.fallbacks.part, of: whole - min(whole, aside.requestsWhileBehind))
        mismatches = tally(counts.mismatched)
        droppedShadowReads = aside.shadowDropped
        failedShadowReads = aside.shadowErrors
        legacyLagSeconds = lag.legacy
        newLagSeconds = lag.new
        coveredSeconds = evidence.coveredSeconds
    }
}

import CLinux
import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry
import Testing

@testable import ControlPlane
import Values

/// The pilot on a real controller and store. The loops of its data plane do not run: their counters are what the tests count.
private struct Cockpit {
    let house: House
    let dataPlane: DataPlane
    let board: FigureBoard
    let pilot: PilotDriver
    let alerts = Alerts()

    final class Alerts: Sendable {
        let said = Mutex<[String]>([])
    }

    init(_ change: (inout Plan) -> Void = { _ in }, loadSeconds: Int64 = 0) async throws {
        var gates = Gates()
        gates.readErrorRate = 0.01
        var plan = plan(gates: gates, minSamples: 20)
        plan.windowSeconds = 1
        change(&plan)
        house = try await House(plan: plan)
        dataPlane = DataPlane(snapshot: await house.controller.snapshot, journal: house.journal, workers: 1)
        board = FigureBoard(dataPlane: dataPlane, control: house.metrics, windowSeconds: plan.windowSeconds)
        let alerts = alerts
        pilot = PilotDriver(
            controller: house.controller, board: board, dataPlane: dataPlane, journal: house.journal,
            wayBack: WayBack { _ in nil }, loadSeconds: { _ in loadSeconds },
            onAlert: { text in alerts.said.withLock { $0.append(text) } })
    }

    func reads(of backend: Backend, failed: Int = 0, ok: Int = 0) {
        for number in 0..<(failed + ok) { dataPlane.metrics[0].read(backend, failed: number < failed) }
    }

    var state: RolloutState { get async { await house.controller.state } }
}

struct PilotDriverTests {
    @Test func aBreachIsRolledBackAsTheGatesOwnCommand() async throws {
        let cockpit = try await Cockpit()
        await cockpit.house.done(.promote(to: "half", force: true))
        await cockpit.pilot.tick()
        cockpit.reads(of: .new, failed: 10, ok: 30)
        await cockpit.pilot.tick()
        let state = await cockpit.state
        #expect(state.condition == .rolledBack && state.percentHundredths == 0)
        let event = try #require(try await cockpit.house.events.first)
        #expect(event.actor == "gate" && event.action == "rollback")
        #expect(event.reason == "gate read_error_rate fails: 25 % of 40 reads of new, limit 1 %")
        #expect(state.conditionReason == event.reason)
        let counted = MetricsSnapshot(of: [cockpit.house.metrics])
        #expect(counted.counter(Cells.rollbacks + RollbackTrigger.gate.index) == 1)
        #expect(counted.counter(Cells.rollbacks + RollbackTrigger.operator.index) == 0)
        await cockpit.pilot.tick()
        #expect(try await cockpit.house.events.count == 3)
        cockpit.house.close()
    }

    @Test func whatCameBeforeTheStageSaysNothingAboutIt() async throws {
        let cockpit = try await Cockpit()
        await cockpit.pilot.tick()
        cockpit.reads(of: .new, failed: 500)
        await cockpit.house.done(.promote(to: "half", force: true))
        let gates = await cockpit.pilot.gates()
        #expect(gates.map(\.name) == ["read_error_rate"] && gates[0].samples == 0 && gates[0].verdict == .warmingUp)
        await cockpit.pilot.tick()
        #expect(await cockpit.state.stageName == "half")
        cockpit.house.close()
    }

    @Test func whatIsHeldAndPassesIsPromotedByItselfButNotPastAnOperator() async throws {
        let cockpit = try await Cockpit {
            $0.promote = .automatic
            $0.gates = Gates()
            $0.gates.journalLagSeconds = 30
        }
        await cockpit.pilot.tick()
        while await cockpit.state.stageName == "dual-write" {
            cockpit.reads(of: .legacy, ok: 1)
            try await Task.sleep(for: .milliseconds(20))
            await cockpit.pilot.tick()
        }
        #expect(await cockpit.state.stageName == "shadow")
        #expect(try await cockpit.house.events.first?.actor == "gate")
        await cockpit.house.done(.rollback(to: nil))
        for _ in 0..<5 {
            cockpit.reads(of: .legacy, ok: 1)
            try await Task.sleep(for: .milliseconds(20))
            await cockpit.pilot.tick()
        }
        #expect(await cockpit.state.stageName == "dual-write", "after a rollback nothing advances by itself")
        cockpit.house.close()
    }

    /// The one gate of this plan sees what the metrics do not count as reads of new.
    @Test func aNewThatIsNotAskedAnyMoreIsJudgedAllTheSame() async throws {
        let cockpit = try await Cockpit()
        await cockpit.house.done(.promote(to: "half", force: true))
        await cockpit.pilot.tick()
        cockpit.reads(of: .legacy, ok: 100)
        cockpit.reads(of: .new, failed: 10)
        for _ in 0..<90 { cockpit.dataPlane.metrics[0].fallback(.read, reason: .breakerOpen) }
        await cockpit.pilot.tick()
        let state = await cockpit.state
        #expect(state.condition == .rolledBack)
        #expect(
            state.conditionReason == "gate read_error_rate fails: 100 % of 100 reads of new, of them 90 kept away by "
                + "its open breaker, limit 1 %")
        cockpit.house.close()
    }

    @Test func usersWhoAreBehindDoNotThinOutTheFallbacks() async throws {
        let cockpit = try await Cockpit {
            $0.gates = Gates()
            $0.gates.fallbackRate = 0.01
        }
        await cockpit.house.done(.promote(to: "half", force: true))
        await cockpit.pilot.tick()
        let metrics = cockpit.dataPlane.metrics[0]
        for number in 0..<1_000 {
            metrics.requestOfNewUser()
            if number < 960 { metrics.requestWhileBehind() } else { metrics.fallback(.read, reason: .connect) }
        }
        let gate = try #require(await cockpit.pilot.gates().first)
        #expect(gate.name == "fallback_rate" && gate.verdict == .fail && gate.value == 1 && gate.samples == 40)
        cockpit.house.close()
    }

    @Test func aShadowStageIsJudgedByWhatNewAnswersToShadowReads() async throws {
        let cockpit = try await Cockpit()
        await cockpit.house.done(.promote(to: "shadow", force: true))
        await cockpit.pilot.tick()
        cockpit.reads(of: .legacy, ok: 100)
        for _ in 0..<30 { cockpit.dataPlane.metrics[0].shadowFailure() }
        for _ in 0..<70 { cockpit.dataPlane.metrics[0].shadow(.match) }
        let gate = try #require(await cockpit.pilot.gates().first)
        #expect(gate.verdict == .fail && gate.reason == "30 % of 100 shadow reads of new, limit 1 %")
        cockpit.house.close()
    }

    @Test func whatNewRefusedIsSaidAndHoldsTheStepOnlyInTheStageInWhichItDid() async throws {
        let cockpit = try await Cockpit {
            $0.promote = .automatic
            $0.gates = Gates()
            $0.gates.journalLagSeconds = 30
        }
        await cockpit.pilot.tick()
        // The newest parked leg is one to legacy: it says nothing about new.
        let now = clinux_wall_milliseconds()
        try await cockpit.house.park([(.new, now + 1), (.new, now + 2), (.legacy, now + 3)])
        let said = ["new lacks what clients were told is saved: 2 legs to new are parked (cutover journal --parked)"]
        #expect(await cockpit.pilot.cautions() == said)
        // Window and hold are over by then.
        try await Task.sleep(for: .milliseconds(1_100))
        for _ in 0..<2 {
            cockpit.reads(of: .legacy, ok: 1)
            await cockpit.pilot.tick()
        }
        #expect(await cockpit.state.stageName == "dual-write")
        let next = try #require(await cockpit.pilot.reading().next)
        #expect(next.blockedBy.count == 1 && next.blockedBy[0].contains("2 legs to it parked"), "\(next.blockedBy)")
        // Whoever promotes has been told.
        await cockpit.house.done(.promote(to: nil, force: false))
        while await cockpit.state.stageName == "shadow" {
            cockpit.reads(of: .legacy, ok: 1)
            try await Task.sleep(for: .milliseconds(50))
            await cockpit.pilot.tick()
        }
        #expect(try await cockpit.house.events.first?.actor == "gate")
        cockpit.house.close()
    }

    @Test func keepDoesNotEndWhileAGateDoesNotPass() async throws {
        let cockpit = try await Cockpit {
            $0.keepSeconds = 0
            $0.onBreach = .alert
        }
        await cockpit.house.done(.promote(to: "full", force: true))
        cockpit.reads(of: .new, failed: 40)
        await cockpit.pilot.tick()
        #expect(await cockpit.state.legacyWrites)
        let keep = await cockpit.house.controller.keep
        #expect(keep.endsMilliseconds != nil && keep.waits.count == 1, "\(keep)")
        #expect(stateJSON(await cockpit.state, keep)["keep_waits"]?.text.contains("gate read_error_rate") == true)
        // Once it passes, legacy's end comes.
        let deadline = ContinuousClock.now + .seconds(60)
        while await cockpit.state.legacyWrites, ContinuousClock.now < deadline {
            cockpit.reads(of: .new, ok: 50)
            cockpit.board.tick()
            await cockpit.pilot.tick()
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(await !cockpit.state.legacyWrites)
        #expect(try await cockpit.house.events.first?.actor == "gateway")
        #expect(await cockpit.house.controller.keep.waits.isEmpty)
        cockpit.house.close()
    }

    @Test func whoeverResumesIsToldWhatComesByItself() async throws {
        let cockpit = try await Cockpit { $0.promote = .automatic }
        #expect(await cockpit.pilot.outlookOfResuming() == [])
        await cockpit.house.done(.pause)
        let said = await cockpit.pilot.outlookOfResuming()
        #expect(said.count == 1 && said[0].hasPrefix("stage shadow (0 %) comes by itself when"), "\(said)")
        cockpit.house.close()
    }

    @Test func theHoldGoesOnWhereTheHistorySaysItWas() async throws {
        let cockpit = try await Cockpit(loadSeconds: 1_234)
        await cockpit.pilot.tick()
        #expect(await cockpit.pilot.reading().next?.heldMilliseconds == 1_234_000)
        cockpit.house.close()
    }

    @Test func aBreachThatNobodyIsMovedForIsSaidOnce() async throws {
        let cockpit = try await Cockpit { $0.onBreach = .alert }
        await cockpit.house.done(.promote(to: "half", force: true))
        await cockpit.pilot.tick()
        cockpit.reads(of: .new, failed: 40)
        await cockpit.pilot.tick()
        await cockpit.pilot.tick()
        #expect(
            cockpit.alerts.said.withLock { $0 } == ["gate read_error_rate fails: 100 % of 40 reads of new, limit 1 %"])
        #expect(await cockpit.state.percentHundredths == 5_000)
        cockpit.house.close()
    }

    @Test func anOperatorsReasonIsKeptWhileTheRolloutIsPausedOrRolledBack() async throws {
        let cockpit = try await Cockpit()
        await cockpit.house.done(.promote(to: "half", force: true))
        await cockpit.house.done(.pause, ChangeOrigin(actor: "admin@127.0.0.1", reason: "lunch"))
        #expect(await cockpit.state.conditionReason == "by admin@127.0.0.1: lunch")
        await cockpit.house.done(.resume)
        #expect(await cockpit.state.conditionReason == nil)
        await cockpit.house.done(.rollback(to: nil), ChangeOrigin(actor: "admin@127.0.0.1"))
        #expect(await cockpit.state.conditionReason == "by admin@127.0.0.1")
        let again = try await cockpit.house.restarted(plan: cockpit.house.settings.plan)
        #expect(await again.controller.state.conditionReason == "by admin@127.0.0.1")
        again.close()
    }
}

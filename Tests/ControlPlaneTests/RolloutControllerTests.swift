import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Telemetry
import Testing

@testable import ControlPlane
import Values

private let origin = ChangeOrigin(actor: "test", reason: "to see")

@Suite(.timeLimit(.minutes(2)))
struct RolloutControllerTests {
    @Test func aFreshStoreStartsInTheFirstStageAndSaysSoOnce() async throws {
        let house = try await House()
        let state = await house.controller.state
        #expect(state.stageName == "dual-write" && state.generation == 1 && state.percentHundredths == 0)
        #expect(try await house.events.map(\.action) == ["start"])
        let again = try await house.restarted()
        #expect(await again.controller.state == state)
        #expect(try await again.events.count == 1)
        again.close()
    }

    @Test func whatAnOperatorDoesIsThereAfterARestart() async throws {
        var house = try await House()
        let commands: [RolloutCommand] = [
            .promote(to: nil, force: false), .promote(to: "half", force: false), .pause, .resume,
            .setPercent(hundredths: 1234), .rollback(to: nil), .promote(to: "canary", force: false),
        ]
        for (index, command) in commands.enumerated() {
            let before = await house.controller.state
            let change = try #require(await house.done(command, origin))
            let after = await house.controller.state
            #expect(after.generation == Int64(index) + 2 && change.generation == after.generation)
            #expect(change.before.text == rolloutJSON(before).text && change.after.text == rolloutJSON(after).text)
            house = try await house.restarted()
            #expect(await house.controller.state == after, "\(command)")
            #expect(await house.controller.snapshot.rollout.percentHundredths == after.percentHundredths)
            let event = try #require(try await house.events.first)
            #expect(event.action == command.action && event.actor == "test" && event.reason == "to see")
            #expect(event.before == rolloutJSON(before).text && event.after == rolloutJSON(after).text)
        }
        house.close()
    }

    @Test func aRollbackIsCountedAndSaysWhenUsersMovedBack() async throws {
        let house = try await House()
        await house.done(.promote(to: "half", force: false))
        let before = await house.controller.snapshot.rollout.movedBackAt
        #expect(before > 0, "whoever was draining before the start goes on")
        try await Task.sleep(for: .milliseconds(5))
        await house.done(.rollback(to: nil))
        #expect(await house.controller.snapshot.rollout.movedBackAt > before)
        #expect(await house.controller.state.condition == .rolledBack)
        #expect(MetricsSnapshot(of: [house.metrics]).counter(Cells.rollbacks + RollbackTrigger.operator.index) == 1)
        house.close()
    }

    @Test func aPinIsThereAfterARestartUntilItIsTakenAway() async throws {
        var house = try await House()
        for side in [Side.new, .legacy] {
            guard case .done(_, let after, _, let generation) = await house.controller.setPin("anna", side, origin)
            else {
                Issue.record("not pinned")
                return
            }
            #expect(after.text == "{\"pin\":\"\(side.name)\"}" && generation == 1)
            house = try await house.restarted()
            #expect(await house.controller.pin(of: "anna")?.side == side)
        }
        _ = await house.controller.setPin("bert", .new, origin)
        _ = await house.controller.setPin("anna", nil, origin)
        house = try await house.restarted()
        #expect(await house.controller.pin(of: "anna") == nil)
        #expect(await house.controller.pin(of: "bert")?.side == .new)
        #expect(try await house.events.map(\.action).prefix(4) == ["unpin anna", "pin bert", "pin anna", "pin anna"])
        house.close()
    }

    @Test func whoeverHasSeenAnOldGenerationChangesNothing() async throws {
        let house = try await House()
        await house.done(.promote(to: nil, force: false), ChangeOrigin(actor: "a", ifGeneration: 1))
        let state = await house.controller.state
        let late = ChangeOrigin(actor: "b", ifGeneration: 1)
        guard case .outdated(current: 2) = await house.controller.apply(.rollback(to: nil), gates: [], late),
            case .outdated(current: 2) = await house.controller.setPin("anna", .new, late)
        else {
            Issue.record("an old generation was taken")
            return
        }
        #expect(await house.controller.state == state)
        #expect(await house.controller.pin(of: "anna") == nil)
        #expect(try await house.events.count == 2)
        house.close()
    }

    @Test func aDryRunSaysWhatWouldHappenAndChangesNothing() async throws {
        let house = try await House()
        let state = await house.controller.state
        let dry = ChangeOrigin(actor: "a", isDryRun: true)
        let change = try #require(await house.done(.promote(to: "canary", force: false), dry))
        #expect(change.after["stage"]?.text == "\"canary\"" && change.after["generation"]?.text == "2")
        #expect(change.generation == 1 && change.warnings.contains("skips shadow"))
        await house.done(.rollback(to: nil), dry)
        _ = await house.controller.setPin("anna", .new, dry)
        #expect(await house.controller.state == state)
        #expect(await house.controller.pin(of: "anna") == nil)
        #expect(try await house.events.count == 1)
        house.close()
    }

    @Test func whatThePlanForbidsIsRefusedWithTheReasons() async throws {
        let house = try await House()
        let failing = [
            GateFinding(name: "read_error_rate", verdict: .fail), GateFinding(name: "write_p95", verdict: .fail),
        ]
        for (command, gates, reasons) in [
            (.promote(to: "nowhere", force: false), [], 1), (.promote(to: nil, force: false), failing, 2),
            (.rollback(to: "half"), [], 1), (.setPercent(hundredths: 10_001), [], 1),
        ] as [(RolloutCommand, [GateFinding], Int)] {
            guard case .refused(let said) = await house.controller.apply(command, gates: gates, origin) else {
                Issue.record("\(command) was not refused")
                continue
            }
            #expect(said.count == reasons)
        }
        #expect(await house.controller.state.generation == 1)
        let forced = await house.done(.promote(to: nil, force: true), gates: failing)
        #expect(forced?.warnings.count == 2)
        house.close()
    }

    @Test func whatIsAlreadySoIsAcceptedAndNotAnEvent() async throws {
        let house = try await House()
        await house.done(.pause)
        let change = await house.done(.pause)
        #expect(change?.generation == 2 && change?.warnings == ["the rollout is already paused"])
        #expect(try await house.events.count == 2)
        house.close()
    }

    @Test func commandsThatComeAtOnceAreAllKeptInOneOrder() async throws {
        let house = try await House()
        await withTaskGroup(of: Void.self) { group in
            for number in 1...40 {
                group.addTask {
                    await house.done(number % 10 == 0 ? .rollback(to: nil) : .setPercent(hundredths: number * 100))
                }
            }
        }
        let state = await house.controller.state
        let events = try await house.events
        #expect(events.count == Int(state.generation))
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.before == $1.after || $1.action == "start" })
        let again = try await house.restarted()
        #expect(await again.controller.state == state)
        again.close()
    }

    @Test func aChangeThatTheStoreRefusesIsNoChange() async throws {
        let house = try await House()
        let state = await house.controller.state
        try await house.setStoreFull(true)
        let long = ChangeOrigin(actor: "a", reason: longReason)
        guard case .unavailable = await house.controller.apply(.promote(to: nil, force: false), gates: [], long),
            case .unavailable = await house.controller.setPin("anna", .new, long)
        else {
            Issue.record("a full store took a change")
            return
        }
        #expect(await house.controller.state == state)
        #expect(await house.controller.pin(of: "anna") == nil)
        try await house.setStoreFull(false)
        await house.done(.promote(to: nil, force: false))
        let again = try await house.restarted()
        #expect(await again.controller.state.stageName == "shadow")
        again.close()
    }

    @Test func aRollbackHappensEvenIfTheStoreRefusesAndTheNextCommandIsDurableAgain() async throws {
        let house = try await House()
        await house.done(.promote(to: "half", force: false))
        try await house.setStoreFull(true)
        let change = await house.done(.rollback(to: nil), ChangeOrigin(actor: "a", reason: longReason))
        #expect(change?.warnings.first?.hasPrefix("in force, but not durable") == true)
        #expect(await house.controller.state.percentHundredths == 0)
        try await house.setStoreFull(false)
        await house.done(.promote(to: "canary", force: false))
        let state = await house.controller.state
        #expect(state.stageName == "canary" && state.generation == 4)
        let again = try await house.restarted()
        #expect(await again.controller.state == state)
        again.close()
    }

    @Test func aRollbackIsAnsweredWithoutTheStoreAndKeepsItsPlaceAmongTheCommands() async throws {
        let house = try await House(saveWaitMilliseconds: 0)
        await house.done(.promote(to: "half", force: false))
        let change = await house.done(.rollback(to: nil))
        #expect(change?.generation == 3)
        await house.done(.setPercent(hundredths: 100))
        #expect(try await house.events.map(\.action) == ["set-percent", "rollback", "promote", "start"])
        let again = try await house.restarted()
        #expect(await again.controller.state.percentHundredths == 100)
        again.close()
    }

    @Test func aRollbackThatTheStoreRefusedIsStoredAsSoonAsThereIsRoom() async throws {
        let house = try await House()
        await house.done(.promote(to: "half", force: false))
        try await house.setStoreFull(true)
        await house.done(.rollback(to: nil), ChangeOrigin(actor: "a", reason: longReason))
        try await house.setStoreFull(false)
        while try await house.journal.read({ reader throws(JournalError) in try reader.loadRollout() })?.state
            != "rolled_back"
        { try await Task.sleep(for: .milliseconds(20)) }
        let state = await house.controller.state
        let again = try await house.restarted()
        #expect(await again.controller.state == state && state.percentHundredths == 0)
        again.close()
    }

    @Test func aReloadedPlanIsTakenOverAndMovesNobody() async throws {
        var house = try await House()
        await house.done(.setPercent(hundredths: 700))
        var fresh = house.settings
        fresh.plan?.stages[2].name = "first users"
        fresh.plan?.stages[2].shadowHundredths = 50
        let outcome = await house.controller.reload(fresh, try IdentitySources(fresh.user), origin)
        guard case .done(_, let after, let warnings, let generation) = outcome else {
            Issue.record("not reloaded")
            return
        }
        #expect(after["stage"]?.text == "\"first users\"" && after["percent"]?.text == "7" && warnings.isEmpty)
        #expect(generation == 3)
        #expect(await house.controller.snapshot.rollout.shadowHundredths == 50)
        house = try await house.restarted(plan: fresh.plan)
        #expect(await house.controller.state.stageName == "first users")
        #expect(try await house.events.map(\.action) == ["reload", "set-percent", "start"])
        house.close()
    }

    @Test func theEventOfAReloadSaysWhichRulesHaveChanged() async throws {
        let house = try await House()
        var fresh = house.settings
        fresh.plan?.onBreach = .pause
        fresh.plan?.gates.readErrorRate = 0.005
        fresh.plan?.stages[2].holdSeconds = 7_200
        let outcome = await house.controller.reload(
            fresh, try IdentitySources(fresh.user), remarks: ["a remark"], origin)
        guard case .done(_, _, ["a remark"], _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let event = try #require(try await house.events.first)
        let before = try JSONValue(reading: Array(event.before.utf8))
        let after = try JSONValue(reading: Array(event.after.utf8))
        for (name, was, now) in [
            ("on_breach", "\"rollback\"", "\"pause\""), ("gates.read_error_rate", "null", "\"0.5%\""),
            ("stages.canary", "\"1 % held for 0s\"", "\"1 % held for 2h\""),
        ] {
            #expect(before[name]?.text == was && after[name]?.text == now, "\(name)")
        }
        #expect(after["promote"] == nil && before["keep"] == nil)
        house.close()
    }

    @Test func withoutAPlanThePercentIsSetByHand() async throws {
        let house = try await House(plan: nil)
        await house.done(.setPercent(hundredths: 10_000))
        guard case .refused = await house.controller.apply(.promote(to: nil, force: false), gates: [], origin) else {
            Issue.record("promoted without a plan")
            return
        }
        let again = try await house.restarted(plan: nil)
        #expect(await again.controller.state.percentHundredths == 10_000)
        again.close()
    }
}

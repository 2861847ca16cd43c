import Rollout
import Testing

@testable import ControlPlane

private func state(_ stage: String?, _ percent: Int, _ condition: RolloutState.Condition, generation: Int64 = 1)
    -> RolloutState
{
    RolloutState(
        planName: stage == nil ? nil : "my-migration", stageIndex: nil, stageName: stage, percentHundredths: percent,
        shadowHundredths: 10_000, dualWrite: true, condition: condition, sinceMilliseconds: 0, generation: generation,
        isPercentDirect: false)
}

private func message(
    _ action: String, by actor: String = "admin@127.0.0.1", reason: String = "", from before: RolloutState,
    to after: RolloutState
) -> Alert {
    AlertRules(instance: "gw:9900").message(
        of: RolloutChange(
            atMilliseconds: 5_000, action: action, actor: actor, reason: reason, before: before, after: after))
}

/// What is told of changes of the rollout.
@Suite struct AlertChangeTests {
    private let canary = state("canary", 100, .running)

    @Test func aPromotionIsAMessageAndNothingToResolve() {
        let alert = message(
            "promote", reason: "quiet since noon", from: canary, to: state("early", 1000, .running, generation: 7))
        #expect(alert.status == .message && alert.severity == .info)
        #expect(alert.summary == "Promote: stage canary → early, percent 1 → 10")
        #expect(alert.description.hasPrefix("By admin@127.0.0.1: quiet since noon."))
        #expect(
            alert.labels == [
                "action": "promote", "generation": "7", "instance": "gw:9900", "plan": "my-migration",
                "trigger": "operator",
            ])
        #expect(alert.startsAt == 5_000 && alert.endsAt == 905_000, "Alertmanager lets it end by itself")
    }

    @Test func aRollbackByAGateIsCriticalAndSaysWhy() {
        let alert = message(
            "rollback", by: "gate", reason: "gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %",
            from: canary, to: state("dual-write", 0, .rolledBack))
        #expect(alert.severity == .critical && alert.labels["trigger"] == "gate")
        #expect(alert.summary == "Rollback: stage canary → dual-write, percent 1 → 0, state running → rolled_back")
        #expect(alert.description.contains("gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %"))
    }

    @Test func aRollbackByHandIsAWarningAPauseIsNot() {
        #expect(message("rollback", from: canary, to: state("dual-write", 0, .rolledBack)).severity == .warning)
        let pause = message("pause", from: canary, to: state("canary", 100, .paused))
        #expect(pause.severity == .info && pause.summary == "Pause: state running → paused")
    }

    @Test func withoutAPlanThePercentIsTold() {
        let alert = message("set-percent", from: state(nil, 0, .running), to: state(nil, 1250, .running))
        #expect(alert.summary == "Set percent: percent 0 → 12.5" && alert.labels["plan"] == nil)
    }

    @Test func aLongReasonIsCut() {
        let alert = message(
            "pause", reason: String(repeating: "é", count: 5000), from: canary, to: state("canary", 100, .paused))
        #expect(alert.description.count < 700)
    }

    @Test func twoChangesAreTwoMessages() {
        let one = message("pause", from: canary, to: state("canary", 100, .paused, generation: 2))
        let two = message("pause", from: canary, to: state("canary", 100, .paused, generation: 4))
        #expect(one.fingerprint != two.fingerprint)
    }

    @Test func aChangeThatIsCarriedOutIsToldAndADryRunIsNot() async throws {
        let house = try await House()
        let heard = Heard()
        await house.controller.attach(onChange: { heard.add($0) })
        _ = await house.controller.apply(
            .promote(to: nil, force: false), gates: [], ChangeOrigin(actor: "test", isDryRun: true))
        #expect(heard.changes == [])
        await house.done(.promote(to: "half", force: false), ChangeOrigin(actor: "test", reason: "to see"))
        await house.done(.promote(to: "half", force: false))
        await house.done(.rollback(to: nil))
        #expect(heard.changes.map(\.action) == ["promote", "rollback"], "what changes nothing is no change")
        #expect(heard.changes.first?.reason == "to see" && heard.changes.first?.after.stageName == "half")
        #expect(heard.changes.last?.before == heard.changes.first?.after)
        house.close()
    }

    @Test func aChangeThatTheStoreRefusesIsNotToldAndARollbackIs() async throws {
        let house = try await House(saveWaitMilliseconds: 50)
        await house.done(.promote(to: "half", force: false))
        let heard = Heard()
        await house.controller.attach(onChange: { heard.add($0) })
        try await house.setStoreFull(true)
        _ = await house.controller.apply(.pause, gates: [], ChangeOrigin(actor: "test", reason: longReason))
        #expect(heard.changes == [])
        await house.done(.rollback(to: nil), ChangeOrigin(actor: "test", reason: longReason))
        #expect(heard.changes.map(\.action) == ["rollback"], "it is in force")
        try await house.setStoreFull(false)
        house.close()
    }
}

import FoundationEssentials
import Rollout
import Testing

@testable import Configuration

@Suite struct PlanTests {
    private func load(plan: String) -> ConfigurationOutcome {
        ConfigurationLoader.load(
            text: minimal + "plan: plans/p.yaml\n", file: "etc/cutover.yaml",
            files: files(["etc/plans/p.yaml": plan]))
    }

    private let stages = "name: p\nstages:\n  - {name: a, percent: 0}\n"

    @Test func theShippedPlanIsThatOfTheContract() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let shipped = root.appendingPathComponent("rollout/staged.yaml").path
        let outcome = ConfigurationLoader.load(
            file: nil, flags: ConfigurationFlags(legacy: "http://a", new: "http://b", plan: shipped))
        #expect(outcome.messages == [])
        expectContractPlan(outcome.settings?.plan)
        let text = try String(contentsOfFile: shipped, encoding: .utf8)
        #expect(text.contains(contractPlan))
    }

    @Test func aPlanHasDefaults() {
        let plan = load(plan: stages).settings?.plan
        #expect(plan == Plan(name: "p", stages: [Stage(name: "a", percentHundredths: 0)]))
    }

    @Test func aPlanMayBeJSON() {
        let outcome = load(
            plan: """
                {"name":"p","stages":[{"name":"a","percent":0,"shadow":"12.5%","dual_write":true,"hold":"90s"}],
                \t"gates":{"read_error_rate":"0.5%","write_p95":"300ms"},"window":"1m","on_breach":"pause"}
                """)
        #expect(outcome.messages == [])
        let plan = outcome.settings?.plan
        #expect(plan?.stages.first?.shadowHundredths == 1250)
        #expect(plan?.stages.first?.holdSeconds == 90)
        #expect(plan?.gates.readErrorRate == 0.005)
        #expect(plan?.windowSeconds == 60)
        #expect(plan?.onBreach == .pause)
    }

    @Test func wrongPlansAreNamedWithFileAndLine() {
        let outcome = load(
            plan: """
                stages:
                  - {percent: 1.25, hold: 500ms}
                  - {name: b, percent: 120, shadw: 1%}
                  - c
                gates: {read_error_rate: 0.005, write_p95: 0s, errors: 1%}
                window: 10ms
                min_samples: 0
                on_breach: rolback
                promote: auto
                keep: forever
                alerts: {webhook: "chat.example/hook/s3cret"}
                """)
        #expect(
            outcome.messages == [
                "etc/plans/p.yaml:1: name: missing; accepted: text that is not empty",
                "etc/plans/p.yaml:2: stages[0].name: missing; accepted: text that is not empty",
                "etc/plans/p.yaml:2: stages[0].hold: not whole seconds \"500ms\"; accepted: 10s, 5m, 2h, 90d",
                "etc/plans/p.yaml:3: stages[1].shadw: unknown key \"shadw\"; accepted: name, percent, shadow, "
                    + "dual_write, hold; did you mean shadow?",
                "etc/plans/p.yaml:3: stages[1].percent: out of range \"120\"; accepted: 0 to 100 with at most two "
                    + "decimals",
                "etc/plans/p.yaml:4: stages[2]: a single value where a mapping is expected; accepted: name, percent, "
                    + "shadow, dual_write, hold",
                "etc/plans/p.yaml:5: gates.errors: unknown key \"errors\"; accepted: read_error_rate, write_p95, "
                    + "conflict_rate, fallback_rate, mismatch_rate, journal_lag",
                "etc/plans/p.yaml:5: gates.read_error_rate: a share without % \"0.005\"; accepted: 0% to 100% with at "
                    + "most four decimals, such as 0.5%; did you mean 0.5%?",
                "etc/plans/p.yaml:5: gates.write_p95: out of range \"0s\"; accepted: 1ms to 3650d",
                "etc/plans/p.yaml:6: window: out of range \"10ms\"; accepted: 1s to 3650d",
                "etc/plans/p.yaml:7: min_samples: out of range \"0\"; accepted: a whole number from 1 to 1000000000",
                "etc/plans/p.yaml:8: on_breach: unknown word \"rolback\"; accepted: rollback, pause, alert; did you "
                    + "mean rollback?",
                "etc/plans/p.yaml:9: promote: unknown word \"auto\"; accepted: manual, automatic; did you mean "
                    + "automatic?",
                "etc/plans/p.yaml:10: keep: not a duration \"forever\"; accepted: a whole number with ms, s, m, h or d, "
                    + "such as 250ms, 10s, 2h, 90d",
                "etc/plans/p.yaml:11: alerts.webhook: not an http or https URL \"[redacted]\"; accepted: "
                    + "http://host/path or https://host/path",
            ])
    }

    @Test(arguments: [
        ("", "etc/plans/p.yaml:1: stages: missing; accepted: a list of stages"),
        ("name: p\nstages: []", "etc/plans/p.yaml:2: stages: a plan needs at least one stage"),
        (
            "name: p\nstages: {a: 1}",
            "etc/plans/p.yaml:2: stages: a mapping where a list is expected; accepted: a list of stages"
        ),
        (
            "name: p\nstages:",
            "etc/plans/p.yaml:2: stages: no value where a list is expected; accepted: a list of stages"
        ),
        ("\na: [", "etc/plans/p.yaml:2: did not find expected node content (while parsing a flow node)"),
    ])
    func aPlanWithoutStagesIsRefused(_ plan: String, _ message: String) {
        #expect(load(plan: plan).messages.contains(message), "\(load(plan: plan).messages)")
    }

    @Test func aPlanThatCannotWorkIsRefused() {
        let outcome = load(
            plan: """
                name: p
                stages:
                  - {name: a, percent: 50}
                  - {name: b, percent: 10}
                  - {name: a, percent: 60, dual_write: false}
                """)
        #expect(
            outcome.messages == [
                "etc/plans/p.yaml:2: stages: no stage has percent 0 and dual write: there would be nowhere to roll back "
                    + "to",
                "etc/plans/p.yaml:4: stages[1].percent: is below that of stage a: a plan only goes up \"10\"",
                "etc/plans/p.yaml:5: stages[2].name: an earlier stage has the same name \"a\"",
                "etc/plans/p.yaml:5: stages[2].dual_write: must be true where new serves users: else legacy misses "
                    + "their writes \"false\"",
            ])
    }

    @Test func errorsOfBothFilesAreReportedTogether() {
        let outcome = ConfigurationLoader.load(
            text: minimal + "expose: no\nplan: p.yaml\n", file: "cutover.yaml", files: files(["p.yaml": "name: p\n"]))
        #expect(
            outcome.messages == [
                "cutover.yaml:4: expose: not a boolean \"no\"; accepted: true, false; did you mean false?",
                "p.yaml:1: stages: missing; accepted: a list of stages",
            ])
    }

    @Test func aGateHasALimitOfItsOwnOneAgainstLegacyOrBoth() {
        func gates(_ text: String) -> Gates? { load(plan: stages + "gates: {\(text)}\n").settings?.plan?.gates }
        var expected = Gates()
        expected.readErrorRate = 0.005
        expected.writeP95Seconds = 0.3
        #expect(gates("read_error_rate: {max: 0.5%}, write_p95: {max: 300ms}") == expected)
        #expect(gates("read_error_rate: 0.5%, write_p95: 300ms") == expected)
        expected.readErrorRateOverLegacy = 0.002
        expected.writeP95OverLegacy = 1.5
        #expect(
            gates("read_error_rate: {max: 0.5%, over_legacy: 0.2%}, write_p95: {max: 300ms, over_legacy: 1.5}")
                == expected)
        expected.readErrorRate = nil
        expected.writeP95Seconds = nil
        #expect(gates("read_error_rate: {over_legacy: 0.2%}, write_p95: {over_legacy: 1.5}") == expected)
        #expect(load(plan: stages + "confidence: 99%\n").settings?.plan?.confidence == 0.99)
    }

    @Test func automaticPromotionWithoutAGateIsRefusedAndByHandItIsSaid() {
        for text in ["promote: automatic\n", "promote: automatic\ngates: {}\n"] {
            let outcome = load(plan: stages + text)
            #expect(outcome.settings == nil && outcome.messages.count == 1)
            #expect(
                outcome.messages.first?.hasPrefix(
                    "etc/plans/p.yaml:4: promote: automatic promotion needs at least one gate") == true)
        }
        guard case .ok(_, let warnings) = load(plan: stages) else {
            Issue.record("refused")
            return
        }
        #expect(warnings.map(\.keyPath) == ["gates"] && warnings[0].problem.contains("nothing judges"))
        // One that is mistyped is not none.
        let mistyped = load(plan: stages + "promote: automatic\ngates: {journal_lag: soon}\n")
        #expect(mistyped.messages.count == 1 && mistyped.messages[0].contains("gates.journal_lag"))
    }

    @Test func keepIsNotShorterThanTheLastHold() {
        let full = "  - {name: full, percent: 100, hold: 7d}\ngates: {journal_lag: 30s}\n"
        let outcome = load(plan: stages + full + "keep: 3s\n")
        #expect(
            outcome.messages == [
                "etc/plans/p.yaml:6: keep: 3s is shorter than the hold of the last stage, full (7d): legacy would be given "
                    + "up before that was held \"3s\""
            ])
        #expect(load(plan: stages + full + "keep: 7d\n").messages == [])
    }

    @Test(arguments: [
        ("gates: {read_eror_rate: 0.5%}", "gates.read_eror_rate: unknown key \"read_eror_rate\""),
        ("gates: {read_error_rate: {maximum: 0.5%}}", "gates.read_error_rate.maximum: unknown key \"maximum\""),
        ("gates: {read_error_rate: {max: 0.5}}", "gates.read_error_rate.max: a share without % \"0.5\""),
        ("gates: {read_error_rate: {over_legacy: 1.5}}", "gates.read_error_rate.over_legacy: a share without %"),
        ("gates: {write_p95: {over_legacy: 0.9}}", "gates.write_p95.over_legacy: out of range \"0.9\""),
        ("gates: {write_p95: {over_legacy: 50%}}", "gates.write_p95.over_legacy: not a factor \"50%\""),
        (
            "gates: {read_error_rate: {}}",
            "gates.read_error_rate: an empty mapping, which is no limit; accepted: max, over_legacy"
        ),
        ("gates: {write_p95: {max: fast}}", "gates.write_p95.max: not a duration \"fast\""),
        (
            "gates: {conflict_rate: {max: 1%}}",
            "gates.conflict_rate: a mapping where a single value is expected; "
                + "accepted: 0% to 100% with at most four decimals, such as 0.5%"
        ),
        (
            "gates: {write_p95: [300ms]}",
            "gates.write_p95: a list where a single value is expected; "
                + "accepted: a whole number with ms, s, m, h or d, such as 250ms, 10s, 2h, 90d"
        ),
        ("confidence: 100%", "confidence: must be from 50% to below 100%"),
        ("confidence: 20%", "confidence: must be from 50% to below 100%"),
    ])
    func aMistypedGateIsAnErrorAndNotAPass(text: String, message: String) {
        let outcome = load(plan: stages + text + "\n")
        #expect(outcome.settings == nil)
        #expect(
            outcome.messages.count == 1 && outcome.messages[0].hasPrefix("etc/plans/p.yaml:4: \(message)"),
            "\(outcome.messages)")
    }
}

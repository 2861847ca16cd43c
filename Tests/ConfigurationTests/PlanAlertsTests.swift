import Rollout
import Testing

@testable import Configuration

/// `alerts` of the plan (contract §4).
@Suite struct PlanAlertsTests {
    private static let stages = "name: p\nstages: [{name: a, percent: 0}]\ngates: {journal_lag: 30s}\n"

    private func load(_ alerts: String, files extra: [String: String] = [:]) -> ConfigurationOutcome {
        ConfigurationLoader.load(
            text: minimal + "plan: plans/p.yaml\n", file: "etc/cutover.yaml",
            files: files(extra.merging(["etc/plans/p.yaml": Self.stages + "alerts: {\(alerts)}\n"]) { $1 }))
    }

    @Test func everyKeyIsTakenOver() {
        let outcome = load("webhook: \"https://u:pw@chat.example/hook/s3cret?k=1\", format: slack, lag: 1500ms")
        #expect(outcome.messages == [] && outcome.warnings == [])
        #expect(
            outcome.settings?.plan?.alerts
                == PlanAlerts(webhook: "https://u:pw@chat.example/hook/s3cret?k=1", format: .slack, lagSeconds: 1.5))
    }

    @Test func theFormatIsFoundFromTheURLByDefaultAndTheLagIsTheGates() {
        let alerts = load("webhook: \"http://am:9093/api/v2/alerts\"").settings?.plan?.alerts
        #expect(alerts?.format == .auto && alerts?.lagSeconds == nil)
    }

    @Test func theURLMayStandInAFileBesideThePlan() {
        let outcome = load("webhook_file: secrets/hook", files: ["etc/plans/secrets/hook": "https://chat/x/s3cret\n"])
        #expect(outcome.messages == [])
        #expect(outcome.settings?.plan?.alerts.webhook == "https://chat/x/s3cret")
        #expect(outcome.settings?.plan?.alerts.webhookFile == "etc/plans/secrets/hook")
    }

    @Test(arguments: [
        (
            "webhook: \"ftp://chat/hook/s3cret\"",
            "etc/plans/p.yaml:4: alerts.webhook: not an http or https URL \"ftp://chat/[redacted]\"; accepted: "
                + "http://host/path or https://host/path"
        ),
        (
            "webhook: \"https://u:s3cret@/hook\"",
            "etc/plans/p.yaml:4: alerts.webhook: not an http or https URL \"https://[redacted]@/[redacted]\"; accepted: "
                + "http://host/path or https://host/path"
        ),
        (
            "webhook: \"http://h;s3cret/x\"",
            "etc/plans/p.yaml:4: alerts.webhook: not an http or https URL \"http://[redacted]\"; accepted: "
                + "http://host/path or https://host/path"
        ),
        (
            "webhook: \"https://a/b\", webhook_file: f",
            "etc/plans/p.yaml:4: alerts.webhook_file: does not go with webhook; accepted: one of webhook, webhook_file"
        ),
        (
            "webhook: \"https://a/b\", format: slak",
            "etc/plans/p.yaml:4: alerts.format: unknown word \"slak\"; accepted: auto, alertmanager, slack, plain; did "
                + "you mean slack?"
        ),
        (
            "webhook: \"https://a/b\", lag: 30",
            "etc/plans/p.yaml:4: alerts.lag: a duration without its unit \"30\"; accepted: 30ms or 30s, or with m, h or d"
        ),
        (
            "hook: \"https://a/s3cret\"",
            "etc/plans/p.yaml:4: alerts.hook: unknown key \"hook\"; accepted: webhook, webhook_file, format, lag"
        ),
        (
            "webhook_file: https://hooks.slack.com/services/s3cret",
            "etc/plans/p.yaml:4: alerts.webhook_file: cannot be read (No such file or directory); accepted: a file that "
                + "holds the URL"
        ),
        (
            "webhook_file: hooks.slack.com/services/s3cret",
            "etc/plans/p.yaml:4: alerts.webhook_file: cannot be read (No such file or directory); accepted: a file that "
                + "holds the URL"
        ),
        (
            "webhook_file: empty",
            "etc/plans/p.yaml:4: alerts.webhook_file: an empty file \"etc/plans/empty\"; accepted: one line, https://host/path"
        ),
        (
            "webhook_file: token",
            "etc/plans/p.yaml:4: alerts.webhook_file: no http or https URL in \"etc/plans/token\"; accepted: one line, "
                + "https://host/path"
        ),
    ])
    func whatIsWrongIsNamedAndNoSecretIsShown(_ alerts: String, _ message: String) {
        let messages = load(alerts, files: ["etc/plans/empty": " \n", "etc/plans/token": "s3cret\n"]).messages
        #expect(messages == [message])
        #expect(!messages.joined().contains("s3cret"))
    }

    @Test func alertsThatGoNowhereAreWarnedAbout() {
        let outcome = load("lag: 10s")
        #expect(outcome.messages == [])
        #expect(
            outcome.warnings == [
                "etc/plans/p.yaml:4: alerts: nobody is told: there is neither webhook nor webhook_file"
            ])
    }
}

import FoundationEssentials
import Rollout
import Testing

@testable import ControlPlane
import Values

private struct Postable: Decodable {
    var labels: [String: String]
    var annotations: [String: String]
    var startsAt: String
    var endsAt: String?
}

private struct Plain: Decodable {
    struct Event: Decodable {
        struct State: Decodable { var stage: String?, percent: Double? }
        var at: String, actor: String, action: String, reason: String
        var before: State, after: State
    }
    var text: String, name: String, severity: String, status: String
    var labels: [String: String]
    var starts_at: String, ends_at: String?
    var event: Event?
}

private func decoded<Value: Decodable>(_ type: Value.Type, _ alerts: [Alert], _ format: AlertFormat) throws -> Value {
    try JSONDecoder().decode(Value.self, from: Data(AlertMessage.body(alerts, format).text.utf8))
}

private func text(_ alert: Alert) throws -> String {
    try decoded([String: String].self, [alert], .slack)["text"] ?? ""
}

private let change: Alert = {
    let before = RolloutState(
        planName: "p", stageIndex: 0, stageName: "canary", percentHundredths: 100, shadowHundredths: 0, dualWrite: true,
        condition: .running, sinceMilliseconds: 0, generation: 4, isPercentDirect: false)
    var after = before
    (after.stageName, after.percentHundredths, after.generation) = ("early", 1000, 5)
    return AlertRules(instance: "gw").message(
        of: RolloutChange(
            atMilliseconds: 1_000_000, action: "promote", actor: "admin@::1", reason: "quiet <since> \"noon\"",
            before: before, after: after))
}()

@Suite struct AlertMessageTests {
    @Test func alertmanagerGetsAListOfWhatItKnows() throws {
        let items = try decoded([Postable].self, [alert(1), alert(2, .warning, endsAt: 1_060_000)], .alertmanager)
        #expect(items.map(\.labels["alertname"]) == ["Test", "Test"])
        #expect(items.map(\.labels["severity"]) == ["critical", "warning"])
        #expect(items.map(\.labels["number"]) == ["1", "2"])
        #expect(items.map(\.annotations["summary"]) == ["number 1", "number 2"])
        #expect(items.map(\.startsAt) == ["1970-01-01T00:16:40Z", "1970-01-01T00:16:40Z"])
        #expect(items.map(\.endsAt) == [nil, "1970-01-01T00:17:40Z"])
    }

    @Test func aChangeEndsByItselfInAlertmanager() throws {
        let item = try #require(try decoded([Postable].self, [change], .alertmanager).first)
        #expect(item.endsAt == "1970-01-01T00:31:40Z" && item.labels["generation"] == "5")
    }

    @Test func anEmptyLabelIsLeftOut() throws {
        var empty = alert()
        empty.labels["plan"] = ""
        #expect(try decoded([Postable].self, [empty], .alertmanager).first?.labels.keys.contains("plan") == false)
    }

    @Test func slackGetsOneText() throws {
        #expect(try text(alert()) == "*[CRITICAL] number 1*\nDo something.")
        #expect(try text(alert(1, .critical, endsAt: 5)) == "*[RESOLVED] number 1*")
        #expect(
            try text(change)
                == "*[CUTOVER] Promote: stage canary → early, percent 1 → 10*\n"
                + "By admin@::1: quiet &lt;since&gt; \"noon\". `cutover status` shows where the rollout is.")
    }

    @Test func nobodyIsCalledByAReason() throws {
        var loud = alert()
        loud.summary = "<!channel> & <https://evil|click>"
        #expect(try text(loud).contains("&lt;!channel&gt; &amp; &lt;https://evil|click&gt;"))
    }

    @Test func plainGetsEverything() throws {
        let plain = try decoded(Plain.self, [change], .plain)
        #expect(plain.name == "CutoverRolloutChanged" && plain.severity == "info" && plain.status == "message")
        #expect(plain.text.hasPrefix("Promote: stage canary → early, percent 1 → 10. By admin@::1"))
        #expect(plain.starts_at == "1970-01-01T00:16:40Z" && plain.ends_at == nil)
        let event = try #require(plain.event)
        #expect(event.action == "promote" && event.actor == "admin@::1" && event.reason == "quiet <since> \"noon\"")
        #expect(event.before.stage == "canary" && event.after.stage == "early" && event.after.percent == 10)
        let resolved = try decoded(Plain.self, [alert(1, .warning, endsAt: 1_060_000)], .plain)
        #expect(resolved.status == "resolved" && resolved.ends_at == "1970-01-01T00:17:40Z" && resolved.event == nil)
        #expect(resolved.text == "number 1")
    }

    // MARK: Receivers

    @Test(arguments: [
        ("http://am:9093/api/v2/alerts", AlertFormat.alertmanager, "http://am:9093"),
        ("https://u:pw@am.example/prefix/api/v2/alerts/?x=1", .alertmanager, "https://am.example"),
        ("https://hooks.slack.com/workflows/T0/s3cret", .slack, "https://hooks.slack.com"),
        ("https://Chat.Example:8443/services/T0/B0/s3cret", .slack, "https://chat.example:8443"),
        ("https://example/hook?services/=1", .plain, "https://example"),
        ("http://[::1]:5000/hook/s3cret", .plain, "http://[::1]:5000"),
        ("https://s3cret@example", .plain, "https://example"),
        ("https://example?token=s3cret", .plain, "https://example"),
    ])
    func theURLSaysWhatItsReceiverTakesAndIsNotShown(_ url: String, _ format: AlertFormat, _ shown: String) throws {
        let receiver = try #require(AlertReceiver(PlanAlerts(webhook: url)))
        #expect(receiver.format == format && receiver.shown == shown)
        #expect(AlertReceiver(PlanAlerts(webhook: url, format: .plain))?.format == .plain)
    }

    @Test func withoutAURLThereIsNoReceiver() {
        #expect(AlertReceiver(nil) == nil && AlertReceiver(PlanAlerts(lagSeconds: 1)) == nil)
    }
}

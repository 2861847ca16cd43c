import HTTPClient
import Rollout
import Synchronization
import Telemetry
import Testing

@testable import ControlPlane
import Values

/// A desk with a receiver that takes everything.
private struct Desk {
    let sent = Mailbox()
    let desk: AlertDesk
    let sender: AlertSender

    init() {
        let sent = sent
        sender = AlertSender(
            exchange: { request in
                sent.add(String(decoding: request.body ?? [], as: UTF8.self))
                return .success(HTTPAnswer(status: 200))
            }, log: { _ in })
        desk = AlertDesk(instance: "gw:9900", sender: sender)
    }

    func observe(at monotonic: Int64, failing: Bool) {
        judged("conflict_rate", failing ? .fail : .pass)
        desk.observe(AlertObservation(wall: 1_764_500_000_000 + monotonic, monotonic: monotonic))
    }

    func judged(_ name: String, _ verdict: GateVerdict) {
        desk.judged([AlertGate(name: name, verdict: verdict, reason: "4 %")])
    }

    func arrived(_ count: UInt64) async throws {
        for _ in 0..<3000 where desk.gauges.sent < count { try await Task.sleep(for: .milliseconds(10)) }
        #expect(desk.gauges.sent == count)
    }
}

private final class Mailbox: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ text: String) { list.withLock { $0.append(text) } }
}

@Suite(.timeLimit(.minutes(2)))
struct AlertDeskTests {
    @Test(arguments: [("http://am/api/v2/alerts", true), ("http://other/hook", false)])
    func alertmanagerIsToldEveryMinuteWhatIsRaisedAndTheOthersOnce(_ url: String, _ isRepeated: Bool) async throws {
        let desk = Desk()
        desk.desk.configure(PlanAlerts(webhook: url))
        for minute in 0..<5 {
            for second in 0..<60 { desk.observe(at: Int64(minute * 60 + second) * 1000, failing: true) }
            try await desk.arrived(isRepeated ? UInt64(minute + 1) : 1)
        }
        #expect(desk.desk.raised.count == 1 && desk.desk.gauges.raised == 1)
        for second: Int64 in 300..<420 { desk.observe(at: second * 1000, failing: false) }
        try await desk.arrived(isRepeated ? 7 : 2)
        #expect(desk.sent.all.last?.contains("passes again") == true)
        desk.desk.finish(milliseconds: 5_000)
    }

    @Test func aBreachThatIsOverBeforeAnybodyLooksIsTold() async throws {
        let desk = Desk()
        desk.desk.configure(PlanAlerts(webhook: "http://chat/services/1"))
        desk.judged("conflict_rate", .fail)
        // The gateway has rolled back, and the stage's figures begin anew.
        desk.judged("conflict_rate", .warmingUp)
        desk.desk.observe(AlertObservation(wall: 1_764_500_000_000, monotonic: 1_000))
        try await desk.arrived(1)
        #expect(desk.desk.raised.map(\.name) == ["CutoverGateFailing"])
        desk.desk.finish(milliseconds: 5_000)
    }

    @Test func aGateOnTheLagIsToldByTheRuleOfTheLagUnlessThePlanHasAnotherLag() {
        let desk = Desk()
        desk.judged("journal_lag", .fail)
        desk.desk.observe(AlertObservation(wall: 1_764_500_000_000, monotonic: 1_000))
        #expect(desk.desk.raised == [])
        desk.desk.configure(PlanAlerts(lagSeconds: 300))
        desk.judged("journal_lag", .fail)
        desk.desk.observe(AlertObservation(wall: 1_764_500_001_000, monotonic: 2_000))
        #expect(desk.desk.raised.map { $0.labels["gate"] } == ["journal_lag"])
    }

    @Test func aReceiverThatIsNewHearsOfWhatIsRaised() async throws {
        let desk = Desk()
        desk.observe(at: 1_000, failing: true)
        #expect(desk.desk.gauges.waiting == 0 && desk.desk.gauges.raised == 1, "known, though nobody is told")
        desk.desk.configure(PlanAlerts(webhook: "http://chat/services/1"))
        try await desk.arrived(1)
        #expect(desk.sent.all.first?.contains("Gate conflict_rate fails: 4 %") == true)
        desk.desk.configure(PlanAlerts(webhook: "http://chat/services/1"))
        desk.desk.finish(milliseconds: 5_000)
        #expect(desk.sent.all.count == 1, "a reload that changes nothing tells nothing")
    }

    @Test func statusShowsTheReceiversHostOnly() {
        let desk = Desk()
        desk.observe(at: 1_000, failing: true)
        #expect(desk.desk.json.text.hasPrefix("{\"receiver\":null,\"format\":null,\"waiting\":0,\"raised\":[{"))
        desk.desk.configure(PlanAlerts(webhook: "https://u:s3cret@chat/services/s3cret?s3cret"))
        let text = desk.desk.json.text
        #expect(text.contains("\"receiver\":\"https://chat\",\"format\":\"slack\"") && !text.contains("s3cret"))
        desk.desk.finish(milliseconds: 5_000)
    }
}

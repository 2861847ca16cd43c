import CLinux
import Gateway
import HTTPClient
import Rollout
import Synchronization
import Testing

@testable import ControlPlane

/// A receiver of alerts as the sender's thread sees it: one answer after the other, the last one for ever.
private final class PlayedReceiver: Sendable {
    private struct State {
        var answers: [Result<HTTPAnswer, HTTPFailure>]
        var requests: [HTTPRequest] = []
        var log: [String] = []
    }
    private let state: Mutex<State>
    /// Requests wait here while it is held.
    private let gate = Mutex(())

    init(_ answers: [Result<HTTPAnswer, HTTPFailure>] = [.success(HTTPAnswer(status: 200))]) {
        state = Mutex(State(answers: answers))
    }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    var log: [String] { state.withLock { $0.log } }
    var bodies: [String] { requests.map { String(decoding: $0.body ?? [], as: UTF8.self) } }

    func sender() -> AlertSender {
        AlertSender(
            exchange: { [self] request in
                state.withLock { state in
                    state.requests.append(request)
                    return state.answers.count > 1
                        ? state.answers.removeFirst() : state.answers.first ?? .success(HTTPAnswer(status: 200))
                }
            }, log: { [self] line in state.withLock { $0.log.append(line) } })
    }
}

private let plain = AlertReceiver(PlanAlerts(webhook: "https://u:pw@chat.example/hook/s3cret?k=s3cret"))

/// Waits for what another thread does.
private func eventually(_ what: Comment, _ check: () -> Bool) async throws {
    for _ in 0..<3000 {
        if check() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record(what)
}

@Suite(.timeLimit(.minutes(2)))
struct AlertSenderTests {
    @Test func alertsArriveInTheirOrderAndAreCounted() async throws {
        let receiver = PlayedReceiver()
        let sender = receiver.sender()
        sender.aim(at: plain)
        sender.send([alert(1), alert(2)])
        sender.send([alert(3)])
        try await eventually("three alerts arrive") { sender.figures.counts.sent == 3 }
        let bodies = receiver.bodies
        #expect(zip(1...3, bodies).map { number, body in body.contains("number \(number)") } == [true, true, true])
        let request = try #require(receiver.requests.first)
        #expect(request.method == "POST" && request.url == "https://u:pw@chat.example/hook/s3cret?k=s3cret")
        #expect(request.headers.contains { $0.name == "Content-Type" && $0.value == "application/json" })
        sender.finish(milliseconds: 2_000)
    }

    @Test func alertmanagerTakesManyAtOnce() async throws {
        let receiver = PlayedReceiver([.success(HTTPAnswer(status: 503)), .success(HTTPAnswer(status: 200))])
        let sender = receiver.sender()
        sender.aim(at: AlertReceiver(PlanAlerts(webhook: "http://am/api/v2/alerts")))
        sender.send((1...70).map { alert($0) })
        try await eventually("all arrive") { sender.figures.counts.sent == 70 }
        #expect(receiver.requests.count <= 4 && receiver.bodies.allSatisfy { $0.hasPrefix("[{\"labels\":") })
        sender.finish(milliseconds: 2_000)
    }

    @Test func withoutAReceiverNothingIsQueued() {
        let sender = PlayedReceiver().sender()
        sender.send([alert()])
        #expect(sender.figures.waiting == 0 && sender.figures.counts == AlertCounts())
        sender.finish(milliseconds: 2_000)
    }

    @Test func aReceiverThatRefusesIsSaidOnceAndNothingOfItsURLButTheHost() async throws {
        let receiver = PlayedReceiver([.success(HTTPAnswer(status: 404))])
        let sender = receiver.sender()
        sender.aim(at: plain)
        sender.send((1...20).map { alert($0) })
        try await eventually("all are given up") { sender.figures.counts.refused == 20 }
        #expect(
            receiver.log == [
                "alerts: https://chat.example refuses them (it answers 404): given up; is alerts.webhook of the plan right?"
            ])
        sender.finish(milliseconds: 2_000)
    }

    @Test func aReceiverThatComesBackIsTriedAgainAndBothAreSaid() async throws {
        let failure = HTTPFailure(kind: .refused, detail: "Couldn't connect to server")
        let receiver = PlayedReceiver([.failure(failure), .success(HTTPAnswer(status: 200))])
        let sender = receiver.sender()
        sender.aim(at: plain)
        sender.send([alert()])
        try await eventually("it arrives") { sender.figures.counts == AlertCounts(sent: 1, retried: 1) }
        try await eventually("both are said") { receiver.log.count == 2 }
        #expect(
            receiver.log == [
                "alerts: https://chat.example does not take them (Couldn't connect to server): tried again for 15 min",
                "alerts: https://chat.example takes them again",
            ])
        sender.finish(milliseconds: 2_000)
    }

    @Test func theEndGivesWhatWaitsOneLastTry() async throws {
        let receiver = PlayedReceiver([
            .success(HTTPAnswer(status: 429, headers: [(name: "Retry-After", value: "600")])),
            .success(HTTPAnswer(status: 200)),
        ])
        let sender = receiver.sender()
        sender.aim(at: plain)
        sender.send([alert(1), alert(2)])
        try await eventually("it was told to wait") { sender.figures.counts.retried == 1 }
        sender.finish(milliseconds: 5_000)
        #expect(sender.figures.counts.sent == 2 && sender.figures.waiting == 0)
        #expect(receiver.requests.last.map { $0.timeoutMilliseconds <= 5_000 } == true)
        sender.send([alert(3)])
        #expect(sender.figures.waiting == 0, "it is over")
    }

    @Test func theEndDoesNotWaitForAReceiverThatHangs() async throws {
        let release = CountDown(1)
        let lines = Mutex<[String]>([])
        let sender = AlertSender(
            exchange: { _ in
                _ = release.wait(milliseconds: 60_000)
                return .failure(HTTPFailure(kind: .timedOut, detail: "Timeout was reached"))
            }, log: { line in lines.withLock { $0.append(line) } })
        sender.aim(at: plain)
        for number in 1...(AlertQueue.limit + 5) { sender.send([alert(number)]) }
        #expect(sender.figures.waiting == AlertQueue.limit && sender.figures.counts.dropped == 5)
        sender.finish(milliseconds: 100)
        #expect(lines.withLock { $0 } == ["alerts: 256 were not delivered before the end"])
        release.one()
    }

    @Test func anotherReceiverGetsWhatWaits() async throws {
        let receiver = PlayedReceiver([
            .success(HTTPAnswer(status: 429, headers: [(name: "retry-after", value: "600")])),
            .success(HTTPAnswer(status: 200)),
        ])
        let sender = receiver.sender()
        sender.aim(at: plain)
        sender.send([alert()])
        try await eventually("it was told to wait") { sender.figures.counts.retried == 1 }
        let other = AlertReceiver(PlanAlerts(webhook: "http://other/"))
        #expect(sender.aim(at: other) && !sender.aim(at: other))
        try await eventually("the other one gets it") { sender.figures.counts.sent == 1 }
        #expect(receiver.requests.last?.url == "http://other/")
        sender.aim(at: nil)
        sender.send([alert()])
        #expect(sender.figures.waiting == 0)
        sender.finish(milliseconds: 2_000)
    }

    @Test(arguments: [
        (200, nil, AlertQueue.Outcome.taken), (202, "5", .taken), (302, nil, .refused), (400, nil, .refused),
        (404, "5", .refused), (408, nil, .later(after: nil)), (429, "7", .later(after: 7_000)),
        (429, "soon", .later(after: nil)), (429, "-1", .later(after: nil)), (500, "7", .later(after: nil)),
        (503, "99999999999", .later(after: 86_400_000)), (503, "Thu, 01 Jan 1970 00:01:00 GMT", .later(after: 50_000)),
        (503, "Thu, 01 Jan 1970 00:00:00 GMT", .later(after: 0)),
    ])
    func whatAnAnswerMeans(_ status: Int, _ retryAfter: String?, _ outcome: AlertQueue.Outcome) {
        let headers = retryAfter.map { [(name: "Retry-After", value: $0)] } ?? []
        let answer = HTTPAnswer(status: status, headers: headers)
        #expect(AlertSender.judge(.success(answer), wall: 10_000).outcome == outcome)
    }

    @Test(arguments: [
        (HTTPFailure.Kind.timedOut, AlertQueue.Outcome.later(after: nil)), (.unknownHost, .later(after: nil)),
        (.tls, .later(after: nil)), (.badURL, .refused), (.tooLarge, .later(after: nil)),
        (.broken, .later(after: nil)),
    ])
    func whatNoAnswerMeans(_ kind: HTTPFailure.Kind, _ outcome: AlertQueue.Outcome) {
        #expect(AlertSender.judge(.failure(HTTPFailure(kind: kind, detail: "")), wall: 0).outcome == outcome)
    }
}

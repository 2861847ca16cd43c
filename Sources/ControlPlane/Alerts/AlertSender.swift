import CLinux
import Gateway
import HTTPClient
import Rollout
import Synchronization
import Values

/// Posts alerts, on a thread of its own: whoever raises one never waits for a receiver.
final class AlertSender: Sendable {
    /// Connecting, sending and receiving together, in milliseconds.
    static let attemptMilliseconds = 10_000

    typealias Exchange = @Sendable (HTTPRequest) -> Result<HTTPAnswer, HTTPFailure>

    private struct State {
        var queue = AlertQueue()
        var receiver: AlertReceiver?
        var isRunning = false
        /// The last tries are under way; nothing goes out after this moment.
        var endsAt: Int64?
        var complaint = AlertComplaint()
    }

    private let state = Mutex(State())
    private let exchange: Exchange
    private let log: @Sendable (String) -> Void
    private let wakeUp = clinux_eventfd()
    private let ended = CountDown(1)

    /// - Parameters:
    ///   - exchange: one request and its answer; blocks.
    ///   - log: takes one line for an operator.
    init(exchange: @escaping Exchange = AlertSender.real, log: @escaping @Sendable (String) -> Void = { logLine($0) }) {
        self.exchange = exchange
        self.log = log
    }

    /// libcurl, on the calling thread. A fresh connection for each request: a receiver is talked to rarely.
    static let real: Exchange = { request in
        do throws(HTTPFailure) { return .success(try EasyHandle().exchange(request)) } catch { return .failure(error) }
    }

    // MARK: What is to be sent

    /// Alerts go there from now on; nil: nowhere. What waits goes to the new receiver.
    /// - Returns: whether it is another one than before.
    @discardableResult
    func aim(at receiver: AlertReceiver?) -> Bool {
        let (isOther, starts) = state.withLock { state -> (Bool, Bool) in
            guard receiver != state.receiver else { return (false, false) }
            state.receiver = receiver
            state.complaint = AlertComplaint()
            if receiver == nil { state.queue.clear() } else { state.queue.forgetPause() }
            let starts = receiver != nil && !state.isRunning
            if starts { state.isRunning = true }
            return (true, starts)
        }
        if starts { startThread(name: "alerts") { [self] in run() } }
        if isOther { clinux_eventfd_signal(wakeUp) }
        return isOther
    }

    /// Puts alerts in line. Never blocks.
    func send(_ alerts: [Alert], isRepeat: Bool = false) {
        guard !alerts.isEmpty else { return }
        let now = milliseconds()
        let isWanted = state.withLock { state in
            guard state.receiver != nil, state.endsAt == nil else { return false }
            for alert in alerts { state.queue.push(alert, isRepeat: isRepeat, now: now) }
            return true
        }
        if isWanted { clinux_eventfd_signal(wakeUp) }
    }

    /// What has become of alerts, and how many wait.
    var figures: (counts: AlertCounts, waiting: Int) { state.withLock { ($0.queue.counts, $0.queue.entries.count) } }

    var receiver: AlertReceiver? { state.withLock { $0.receiver } }

    /// Whether something that is raised was dropped, so that it has to be told anew. Asked once.
    func takeLostRaised() -> Bool { state.withLock { $0.queue.takeLostRaised() } }

    /// Gives what waits one last try and ends the thread. Blocks for at most that long, whatever the receiver does.
    func finish(milliseconds limit: Int64) {
        let waits = state.withLock { state in
            state.endsAt = milliseconds() + limit
            return state.isRunning
        }
        guard waits else { return }
        clinux_eventfd_signal(wakeUp)
        _ = ended.wait(milliseconds: limit)
        let left = state.withLock { $0.queue.entries.count }
        if left > 0 { log("alerts: \(left) \(left == 1 ? "was" : "were") not delivered before the end") }
    }

    private func milliseconds() -> Int64 { Int64(clinux_monotonic_nanoseconds() / 1_000_000) }

    // MARK: The thread

    private enum Step {
        case send(AlertReceiver, [AlertQueue.Entry], timeout: Int64)
        case wait(Int64?)
        case end
    }

    private func run() {
        while true {
            switch next() {
            case .end:
                ended.one()
                return
            case .wait(let pause):
                var poll = pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)
                _ = CLinux.poll(&poll, 1, pause.map { Int32(min($0, 600_000)) } ?? -1)
                clinux_eventfd_drain(wakeUp)
            case .send(let receiver, let entries, let timeout):
                let answer = exchange(request(receiver, entries.map(\.alert), timeout: timeout))
                conclude(entries, answer, to: receiver)
            }
        }
    }

    private func next() -> Step {
        let now = milliseconds()
        return state.withLock { state in
            guard let receiver = state.receiver else { return state.endsAt == nil ? .wait(nil) : .end }
            if let end = state.endsAt {
                // One last try for everything that is left, whatever the receiver has said of waiting.
                let batch = Array(state.queue.entries.prefix(AlertMessage.batchMax(receiver.format)))
                return batch.isEmpty || now >= end ? .end : .send(receiver, batch, timeout: end - now)
            }
            switch state.queue.next(now: now, atMost: AlertMessage.batchMax(receiver.format)) {
            case .wait(let pause): return .wait(pause)
            case .send(let batch): return .send(receiver, batch, timeout: Int64(Self.attemptMilliseconds))
            }
        }
    }

    private func request(_ receiver: AlertReceiver, _ alerts: [Alert], timeout: Int64) -> HTTPRequest {
        var request = HTTPRequest(
            method: "POST", url: receiver.url, body: Array(AlertMessage.body(alerts, receiver.format).text.utf8))
        request.headers = [(name: "Content-Type", value: "application/json")]
        request.timeoutMilliseconds = Int(timeout)
        request.wantsBody = false
        request.userAgent = "cutover/\(productVersion)"
        return request
    }

    private func conclude(
        _ entries: [AlertQueue.Entry], _ answer: Result<HTTPAnswer, HTTPFailure>, to receiver: AlertReceiver
    ) {
        let (outcome, problem) = AlertSender.judge(answer, wall: clinux_wall_milliseconds())
        let now = milliseconds()
        let line = state.withLock { state -> String? in
            // The receiver was changed meanwhile: its silence says nothing of the new one.
            if receiver != state.receiver, outcome != .taken { return nil }
            state.queue.conclude(entries, outcome, now: now, random: Double.random(in: 0..<1))
            if state.endsAt != nil, case .later = outcome { state.endsAt = now }
            return state.complaint.line(outcome, problem, receiver: receiver.shown)
        }
        if let line { log("alerts: \(line)") }
    }

    /// What an answer means, and what is wrong in words that may be printed.
    static func judge(
        _ answer: Result<HTTPAnswer, HTTPFailure>, wall: Int64
    ) -> (outcome: AlertQueue.Outcome, problem: String) {
        switch answer {
        case .success(let answer):
            switch answer.status {
            case 200..<300: return (.taken, "")
            case 408, 429, 500...: return (.later(after: retryAfter(answer, wall: wall)), "it answers \(answer.status)")
            default: return (.refused, "it answers \(answer.status)")
            }
        case .failure(let failure):
            // What is no answer (a proxy that starts, another service for a moment) says nothing about the next try.
            return (failure.kind == .badURL ? .refused : .later(after: nil), failure.detail)
        }
    }

    /// `Retry-After` in milliseconds, seconds or a date (RFC 9110 §10.2.3).
    private static func retryAfter(_ answer: HTTPAnswer, wall: Int64) -> Int64? {
        guard answer.status == 429 || answer.status == 503, let text = answer.header("Retry-After") else { return nil }
        if let seconds = Int64(text) { return seconds < 0 ? nil : min(seconds, 86_400) * 1000 }
        return httpDateSeconds(text).map { max(0, $0 * 1000 - wall) }
    }
}

/// Says once that a receiver does not take alerts, and once that it does again.
struct AlertComplaint {
    private var last: AlertQueue.Outcome?
    private var lastProblem = ""

    /// - Returns: a line for the log, when there is something new to say.
    mutating func line(_ outcome: AlertQueue.Outcome, _ problem: String, receiver: String) -> String? {
        defer { (last, lastProblem) = (outcome, problem) }
        switch outcome {
        case .taken: return last == nil || last == .taken ? nil : "\(receiver) takes them again"
        case .refused:
            if last == .refused, lastProblem == problem { return nil }
            return "\(receiver) refuses them (\(problem)): given up; is alerts.webhook of the plan right?"
        case .later:
            if case .later = last { return nil }
            return "\(receiver) does not take them (\(problem)): tried again for 15 min"
        }
    }
}

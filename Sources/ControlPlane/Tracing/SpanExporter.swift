import CLinux
import Gateway
import HTTPClient
import Synchronization
import Values

/// Sends spans to a collector (OTLP over HTTP), on a thread of its own: no request ever waits for it.
///
/// Limits: 512 spans a message, five tries each, 1 to 16 s apart or when the collector says; meanwhile the queue fills up and
/// drops what comes.
final class SpanExporter: Sendable {
    static let batchMax = 512
    static let triesMax = 5
    /// Spans wait so long at most for a message of their own, in milliseconds.
    private static let pauseMilliseconds: Int64 = 1_000
    private static let attemptMilliseconds: Int64 = 10_000

    typealias Exchange = @Sendable (HTTPRequest) -> Result<HTTPAnswer, HTTPFailure>

    /// What an answer means for the spans of a message.
    enum Outcome: Equatable {
        case taken
        /// Again, after so many milliseconds where the collector says when.
        case later(after: Int64?)
        case refused
    }

    private struct State {
        var url: String?
        var isRunning = false
        var endsAt: Int64?
    }

    private let state = Mutex(State())
    private let queue: SpanQueue
    private let instance: String
    private let exchange: Exchange
    private let log: @Sendable (String) -> Void
    private let ended = CountDown(1)

    init(
        _ queue: SpanQueue, instance: String, exchange: @escaping Exchange = AlertSender.real,
        log: @escaping @Sendable (String) -> Void = { logLine($0) }
    ) {
        self.queue = queue
        self.instance = instance
        self.exchange = exchange
        self.log = log
    }

    /// Spans go there from now on; nil: nowhere.
    func aim(at url: String?) {
        let starts = state.withLock { state in
            state.url = url
            let starts = url != nil && !state.isRunning
            if starts { state.isRunning = true }
            return starts
        }
        if starts {
            queue.wakeUp.prepare()
            startThread(name: "spans") { [self] in run() }
        }
        queue.wakeUp.signal()
    }

    /// Gives what waits one last try and ends the thread. Blocks for at most that long.
    func finish(milliseconds limit: Int64) {
        let waits = state.withLock { state in
            state.endsAt = milliseconds() + limit
            return state.isRunning
        }
        guard waits else { return }
        queue.wakeUp.signal()
        _ = ended.wait(milliseconds: limit)
    }

    private func milliseconds() -> Int64 { Int64(clinux_monotonic_nanoseconds() / 1_000_000) }

    // MARK: The thread

    private func run() {
        var wasTaken = true
        while true {
            let isEnding = state.withLock { $0.endsAt != nil }
            let batch = queue.take(atMost: SpanExporter.batchMax)
            if batch.isEmpty {
                if isEnding { return ended.one() }
                rest(SpanExporter.pauseMilliseconds)
                continue
            }
            let (isTaken, problem) = deliver(batch)
            if isTaken {
                queue.note(exported: batch.count)
                if !wasTaken { log("tracing: the collector takes spans again") }
            } else {
                queue.note(dropped: batch.count)
                if wasTaken { log("tracing: the collector takes no spans (\(problem)): they are dropped and counted") }
            }
            wasTaken = isTaken
        }
    }

    /// Waits for so long, or until there is much to send, or the end.
    private func rest(_ milliseconds: Int64) {
        queue.wakeUp.sleep(milliseconds: milliseconds)
    }

    private func deliver(_ batch: [Span]) -> (isTaken: Bool, problem: String) {
        let body = Array(SpanMessage.body(batch, instance: instance).text.utf8)
        var problem = ""
        for attempt in 0..<SpanExporter.triesMax {
            let (url, end) = state.withLock { ($0.url, $0.endsAt) }
            guard let url else { return (false, "there is none") }
            let left = end.map { $0 - milliseconds() } ?? SpanExporter.attemptMilliseconds
            if left <= 0 { return (false, "the gateway ends") }
            let outcome: Outcome
            (outcome, problem) = SpanExporter.judge(
                exchange(request(url, body, timeout: min(left, SpanExporter.attemptMilliseconds))))
            switch outcome {
            case .taken: return (true, "")
            case .refused: return (false, problem)
            case .later(let wanted):
                if attempt == SpanExporter.triesMax - 1 || end != nil { return (false, problem) }
                waitBeforeNext(wanted ?? (1_000 << Int64(attempt)) + Int64.random(in: 0..<250))
            }
        }
        return (false, problem)
    }

    /// The queue's own signal must not cut the pause short: a collector that is busy is left alone.
    private func waitBeforeNext(_ milliseconds: Int64) {
        let until = self.milliseconds() + min(milliseconds, 60_000)
        while self.milliseconds() < until, state.withLock({ $0.endsAt == nil }) {
            rest(min(200, until - self.milliseconds()))
        }
    }

    private func request(_ url: String, _ body: [UInt8], timeout: Int64) -> HTTPRequest {
        var request = HTTPRequest(method: "POST", url: url, body: body)
        request.headers = [(name: "Content-Type", value: "application/json")]
        request.timeoutMilliseconds = Int(timeout)
        request.wantsBody = false
        request.userAgent = "cutover/\(productVersion)"
        return request
    }

    /// Which answers are tried again: OTLP 1.x, "Failures" of OTLP/HTTP.
    static func judge(_ answer: Result<HTTPAnswer, HTTPFailure>) -> (outcome: Outcome, problem: String) {
        switch answer {
        case .success(let answer):
            switch answer.status {
            case 200..<300: return (.taken, "")
            case 429, 502, 503, 504:
                let seconds = answer.header("Retry-After").flatMap { Int64($0) }.map { min(max($0, 0), 60) * 1000 }
                return (.later(after: seconds), "it answers \(answer.status)")
            default: return (.refused, "it answers \(answer.status)")
            }
        case .failure(let failure): return (failure.kind == .badURL ? .refused : .later(after: nil), failure.detail)
        }
    }
}

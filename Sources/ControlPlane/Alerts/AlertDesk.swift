import CLinux
import Gateway
import Rollout
import Synchronization
import Telemetry
import Values

/// Tells people what they should know: looks at what the gateway sees every second, and is told of every change of the rollout.
/// Safe from any thread; nothing here waits for a receiver.
final class AlertDesk: Sendable {
    /// How often Alertmanager hears of what is raised: without news it takes an alert for over, after 5 min by default.
    static let repeatMilliseconds: Int64 = 60_000

    private struct State {
        var rules: AlertRules
        var repeatedAt: Int64?
        /// The plan asks for a lag of its own, so that a gate on the lag is another matter.
        var hasOwnLag = false
        var gates: [AlertGate] = []
        /// What has failed since the last look, even if it does not any more: a breach that was acted upon is over at once.
        var failed: [String: AlertGate] = [:]
    }

    private let state: Mutex<State>
    private let sender: AlertSender

    /// - Parameter instance: what tells this gateway from others.
    convenience init(instance: String) { self.init(instance: instance, sender: AlertSender()) }

    init(instance: String, sender: AlertSender) {
        state = Mutex(State(rules: AlertRules(instance: instance)))
        self.sender = sender
    }

    /// Says what tells this gateway from others, which is known for certain only when it listens.
    func call(_ instance: String) { state.withLock { $0.rules.instance = instance } }

    /// Takes over the plan's `alerts`. A new receiver hears of what is raised.
    func configure(_ alerts: PlanAlerts?) {
        let receiver = AlertReceiver(alerts)
        let isOther = state.withLock { state in
            state.hasOwnLag = alerts?.lagSeconds != nil
            guard sender.aim(at: receiver) else { return false }
            sender.send(state.rules.raised, isRepeat: true)
            return true
        }
        guard isOther else { return }
        logLine(receiver.map { "alerts: go to \($0.shown) (\($0.format.rawValue))" } ?? "alerts: go nowhere any more")
    }

    /// What the gates of the plan say, each time that they are judged; before anything is done about it.
    func judged(_ gates: [AlertGate]) {
        state.withLock { state in
            // Else the lag has a rule of its own, which tells whose it is.
            state.gates = gates.filter { state.hasOwnLag || $0.name != "journal_lag" }
            for gate in state.gates where gate.verdict == .fail { state.failed[gate.name] = gate }
        }
    }

    /// To be called every second.
    func observe(_ observation: AlertObservation) {
        // Under the lock, so that a resolution does not overtake what it resolves.
        state.withLock { state in
            var seen = observation
            seen.gates = state.gates.map { state.failed[$0.name] ?? $0 }
            state.failed = [:]
            sender.send(state.rules.observe(seen))
            let last = state.repeatedAt ?? seen.monotonic
            let isDue = seen.monotonic - last >= Self.repeatMilliseconds
            state.repeatedAt = isDue ? seen.monotonic : last
            let repeats = isDue && sender.receiver?.format == .alertmanager
            if sender.takeLostRaised() || repeats { sender.send(state.rules.raised, isRepeat: true) }
        }
    }

    /// This gateway has changed the rollout. What another one of the store has changed is told by that one.
    func changed(_ change: RolloutChange) {
        state.withLock { sender.send([$0.rules.message(of: change)]) }
    }

    /// One last try for what waits. Blocks for at most that long.
    func finish(milliseconds: Int64) { sender.finish(milliseconds: milliseconds) }

    /// What is raised now: names, for `status`.
    var raised: [Alert] { state.withLock { $0.rules.raised } }

    /// For the metrics.
    var gauges: AlertGauges {
        let (counts, waiting) = sender.figures
        return AlertGauges(
            sent: counts.sent, retried: counts.retried, dropped: counts.dropped, refused: counts.refused,
            waiting: UInt64(waiting), raised: UInt64(raised.count))
    }

    /// For `status`: whether somebody is told, and of what. Of the URL only scheme and host.
    var json: JSONValue {
        let receiver = sender.receiver
        return .object([
            ("receiver", receiver.map { .string($0.shown) } ?? .null),
            ("format", receiver.map { .string($0.format.rawValue) } ?? .null),
            ("waiting", .number(String(sender.figures.waiting))),
            (
                "raised",
                .array(
                    raised.map { alert in
                        .object([
                            ("name", .string(alert.name)), ("severity", .string(alert.severity.rawValue)),
                            ("summary", .string(alert.summary)),
                            ("since", .string(Instant(milliseconds: alert.startsAt).text)),
                        ])
                    })
            ),
        ])
    }
}

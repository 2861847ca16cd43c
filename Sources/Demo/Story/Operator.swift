import Gateway
import Values

/// The operator: everything it does goes over the admin API with the token, as `cutover promote` would. One thread.
final class Operator {
    private let url: String
    private let token: String
    private let connection: HTTPConnection

    init(url: String, token: String) throws(DemoFailure) {
        self.url = url
        self.token = token
        connection = try HTTPConnection()
    }

    /// `GET status`.
    func status() throws(DemoFailure) -> Status {
        let answer = try ask(Request(url: "\(url)/api/v1/status"))
        guard answer.status == 200, let status = answer.withFields({ Status($0) }) else {
            throw DemoFailure("GET status was answered \(answer.status) \(answer.text)")
        }
        return status
    }

    /// `POST rollout/promote` to a stage: nil when it is done, else the gates' reasons.
    func promote(to stage: String) throws(DemoFailure) -> [String]? {
        let answer = try change("rollout/promote", "{\"to\":\(jsonString(stage)),\"reason\":\"the demo\"}")
        if answer.status == 200 { return nil }
        guard answer.status == 409 else {
            throw DemoFailure("promote to \(stage) was answered \(answer.status) \(answer.text)")
        }
        return answer.withFields { $0.texts("reasons") } ?? []
    }

    /// `POST rollout/rollback`.
    func rollBack() throws(DemoFailure) {
        let answer = try change("rollout/rollback", "{\"reason\":\"the demo shows the way back\"}")
        guard answer.status == 200 else { throw DemoFailure("rollback was answered \(answer.status) \(answer.text)") }
    }

    private func change(_ path: String, _ body: String) throws(DemoFailure) -> Answer {
        try ask(
            Request(
                method: "POST", url: "\(url)/api/v1/\(path)",
                headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")], body: body))
    }

    private func ask(_ request: Request) throws(DemoFailure) -> Answer {
        do throws(ExchangeFailure) { return try connection.exchange(request) } catch {
            throw DemoFailure("the admin API did not answer: \(error.detail)")
        }
    }
}

/// What the demo reads of `GET status`.
struct Status {
    var stage: String
    var percent: Double
    var figures: Figures
    var compared: Int
    var mismatched: Int
    var pending: (legacy: Int, new: Int)
    var oldestPendingSeconds: (legacy: Double, new: Double)
    var parked: Int

    init?(_ fields: Fields) {
        func count(_ name: String) -> Int { Int(fields.integer(name) ?? 0) }
        guard let percent = fields.number("rollout/percent") else { return nil }
        stage = fields.optionalText("rollout/stage") ?? ""
        self.percent = percent
        figures = Figures(
            readErrorRate: fields.number("metrics/read_error_rate/value"),
            writeP95Seconds: fields.number("metrics/write_p95_seconds/value"),
            conflictRate: fields.number("metrics/conflict_rate/value"),
            fallbackRate: fields.number("metrics/fallback_rate/value"))
        compared = count("shadow/compared")
        mismatched = count("shadow/mismatched")
        pending = (count("journal/pending/legacy"), count("journal/pending/new"))
        oldestPendingSeconds = (
            fields.number("journal/oldest_pending_seconds/legacy") ?? 0,
            fields.number("journal/oldest_pending_seconds/new") ?? 0
        )
        parked = count("journal/parked")
    }
}

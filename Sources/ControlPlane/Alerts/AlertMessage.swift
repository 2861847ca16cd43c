import Rollout
import Values

/// Alerts as receivers understand them.
enum AlertMessage {
    /// How many alerts one request may hold: Alertmanager takes a list, the others one at a time.
    static func batchMax(_ format: AlertFormat) -> Int { format == .alertmanager ? 64 : 1 }

    /// The body of one request.
    static func body(_ alerts: [Alert], _ format: AlertFormat) -> JSONValue {
        switch format {
        case .alertmanager: .array(alerts.map(alertmanager))
        case .slack: .object([("text", .string(alerts.map(slackText).joined(separator: "\n\n")))])
        case .plain, .auto: alerts.first.map(plain) ?? .object([])
        }
    }

    // MARK: Alertmanager

    /// One item of `POST /api/v2/alerts` (`postableAlert`). Without `endsAt` Alertmanager lets the alert end by itself when it is not
    /// told again.
    private static func alertmanager(_ alert: Alert) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("labels", labels(alert)), ("annotations", annotations(alert)), ("startsAt", instant(alert.startsAt)),
        ]
        if let end = alert.endsAt { members.append(("endsAt", instant(end))) }
        return .object(members)
    }

    /// Every label of the alert, with its name and severity; an empty value is none.
    private static func labels(_ alert: Alert) -> JSONValue {
        let sorted = alert.labels.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
        let all =
            [("alertname", alert.name), ("severity", alert.severity.rawValue)] + sorted.map { ($0.key, $0.value) }
        return .object(all.map { ($0.0, .string($0.1)) })
    }

    private static func annotations(_ alert: Alert) -> JSONValue {
        .object([
            ("summary", .string(alert.summary)), ("description", .string(alert.description)),
            ("runbook", .string(alert.runbook)),
        ])
    }

    // MARK: Slack

    private static func slackText(_ alert: Alert) -> String {
        let head: String =
            switch alert.status {
            case .firing: alert.severity.rawValue.uppercased()
            case .resolved: "RESOLVED"
            case .message: alert.severity == .info ? "CUTOVER" : alert.severity.rawValue.uppercased()
            }
        let text = "*[\(head)] \(escaped(alert.summary))*"
        return alert.status == .resolved ? text : text + "\n" + escaped(alert.description)
    }

    /// The three characters that have a meaning in Slack's texts: nobody is called by an alert, and no link is made of a reason.
    private static func escaped(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            default: out.append(character)
            }
        }
        return out
    }

    // MARK: Plain

    private static func plain(_ alert: Alert) -> JSONValue {
        let end = alert.status == .message ? nil : alert.endsAt
        return .object([
            ("text", .string(alert.status == .resolved ? alert.summary : "\(alert.summary). \(alert.description)")),
            ("name", .string(alert.name)), ("severity", .string(alert.severity.rawValue)),
            ("status", .string(alert.status.rawValue)), ("fingerprint", .string(alert.fingerprint)),
            ("labels", labels(alert)), ("annotations", annotations(alert)),
            ("starts_at", instant(alert.startsAt)), ("ends_at", end.map(instant) ?? .null),
            ("event", alert.change.map(event) ?? .null),
        ])
    }

    /// As in `GET events`, without the number that only the store knows.
    private static func event(_ change: RolloutChange) -> JSONValue {
        .object([
            ("at", instant(change.atMilliseconds)), ("actor", .string(change.actor)),
            ("action", .string(change.action)),
            ("before", rolloutJSON(change.before)), ("after", rolloutJSON(change.after)),
            ("reason", .string(change.reason)),
        ])
    }

    private static func instant(_ milliseconds: Int64) -> JSONValue {
        .string(Instant(milliseconds: milliseconds).text)
    }
}

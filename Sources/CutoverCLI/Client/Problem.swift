import ControlPlane
import Values

/// An `application/problem+json` answer (RFC 9457) of the admin API.
struct Problem: Decodable {
    var type: String?
    var title: String?
    var status: Int?
    var detail: String?
    /// Why a step was refused.
    var reasons: [JSONValue]?
    var requestID: String?

    private enum CodingKeys: String, CodingKey {
        case type, title, status, detail, reasons
        case requestID = "request_id"
    }

    /// What went wrong and what to do, in one sentence.
    /// - Parameter command: what was refused: each knows another way on.
    func sentence(status: Int, token: TokenSearch, generation: Int?, command: RefusedCommand) -> String {
        let said = printable(detail ?? title ?? "the gateway answered \(status)")
        switch status {
        case 401:
            return "\(said); " + tokenAdvice(token)
        case 403:
            return "\(said); " + tokenAdvice(token) + " (a viewer token may only read)"
        case 409:
            let listed = (reasons ?? []).map(\.phrase).joined(separator: "; ")
            let why = listed.isEmpty ? said : printable(listed)
            return "refused: " + why + command.advice(on: why)
        case 412:
            let expected = generation.map { "the rollout is no longer at generation \($0)" } ?? said
            return "\(expected); look at `cutover status` and decide again"
        default:
            return said + (status >= 500 ? " (\(status)\(requestID.map { ", request \(printable($0))" } ?? ""))" : "")
        }
    }

    private func tokenAdvice(_ token: TokenSearch) -> String {
        switch token {
        case .found(let token):
            "the token from \(token.source) does not do; give an admin token with --token-file or CUTOVER_TOKEN"
        case .missing(let why): "no token was found (\(why)); give one with --token-file or CUTOVER_TOKEN"
        }
    }
}

/// A command that the gateway has refused, and what its operator may do instead.
struct RefusedCommand: Sendable {
    var name: String
    var isForced = false
    var isDryRun = false

    /// What helps, as the rest of a sentence; empty where the reason says it already.
    func advice(on reasons: String) -> String {
        let help: String? =
            switch name {
            case "promote" where isForced: nil
            case "promote" where reasons.contains("the way back"):
                "mend that first; `cutover status` shows legacy, --force goes on all the same"
            case "promote" where reasons.contains("gate "):
                "`cutover status` shows the figures, --force goes on all the same, `cutover rollback` goes back"
            case "promote" where reasons.contains("there is no plan"): "`cutover set-percent N` does"
            case "journal replay", "journal settle": "`cutover journal --parked` lists what can be sent again"
            case "resume" where reasons.contains("promote"): "`cutover promote` does"
            case "resume" where reasons.contains("percent"): "`cutover set-percent N` does"
            case "resume-legacy" where !isForced: "`cutover reverse-sync` brings it there"
            default: nil
            }
        return (help.map { "; \($0)" } ?? "") + (isDryRun ? " (dry run: nothing was changed)" : "")
    }
}

extension JSONValue {
    /// A value as words: a text as it is, an object as `key value, key value`.
    var phrase: String {
        switch self {
        case .null: "none"
        case .bool(let value): value ? "yes" : "no"
        case .number(let digits): digits
        case .string(let text): text
        case .array(let elements): elements.map(\.phrase).joined(separator: ", ")
        case .object(let members): members.map { "\($0.0) \($0.1.phrase)" }.joined(separator: ", ")
        }
    }
}

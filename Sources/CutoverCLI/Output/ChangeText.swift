import ControlPlane
import Values

/// What changed between two states of the API, as `percent 1 → 10, stage canary → early`.
enum ChangeText {
    /// These come first, and in this order; the rest follows by name.
    private static let order = ["percent", "stage", "state", "pin", "side", "shadow_percent", "dual_write"]
    /// These differ after every change and tell nobody anything.
    private static let silent: Set<String> = [
        "generation", "since", "state_since", "plan", "at", "legacy_unwritten_since", "keep_ends_at", "state_reason",
        "keep_waits",
    ]

    /// nil when nothing changed that is worth a word.
    static func describe(before: JSONValue?, after: JSONValue?) -> String? {
        guard case .object(let old)? = before, case .object(let new)? = after else {
            // A first state, as at the gateway's first start: what it is says more than that there was none.
            if case .object? = after { return state(after) }
            let (from, to) = (text(before), text(after))
            return from == to ? nil : "\(from) → \(to)"
        }
        var names = order
        for (name, _) in old + new where !names.contains(name) { names.append(name) }
        let parts = names.compactMap { name -> String? in
            guard !silent.contains(name) else { return nil }
            let (from, to) = (text(before?[name], of: name), text(after?[name], of: name))
            return from == to ? nil : "\(name.split(separator: "_").joined(separator: " ")) \(from) → \(to)"
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// A state by itself, as `percent 10, stage early, state running`.
    static func state(_ value: JSONValue?) -> String {
        let parts = order.prefix(4).compactMap { name -> String? in
            guard let member = value?[name] else { return nil }
            // Without a plan there is no stage to speak of.
            if name == "stage", case .null = member { return nil }
            return "\(name) \(text(member, of: name))"
        }
        return parts.isEmpty ? text(value) : parts.joined(separator: ", ")
    }

    private static func text(_ value: JSONValue?, of name: String = "") -> String {
        guard let value else { return "none" }
        if case .number(let digits) = value, let number = Double(digits) { return percentText(number) }
        return printable(value.phrase)
    }
}

/// What a command that changed something prints.
///
/// - Parameters:
///   - isDryRun: nothing was changed; the text says what would have.
///   - subject: who or what changed where that is not the rollout itself: `user 42`.
func changeLines(_ report: ChangeReport, isDryRun: Bool, subject: String? = nil) -> [String] {
    let prefix = subject.map { "\($0): " } ?? ""
    var lines: [String] = []
    if let change = ChangeText.describe(before: report.before, after: report.after) {
        lines.append(prefix + change)
    } else if report.after != nil {
        lines.append(prefix + "unchanged: \(ChangeText.state(report.after))")
    } else {
        lines.append(prefix + "done")
    }
    if let reason = report.reason, !reason.isEmpty { lines.append("reason: \(printable(reason))") }
    lines += (report.warnings ?? []).map { "warning: \(printable($0.phrase))" }
    if isDryRun { lines.append("dry run: nothing was changed") }
    return lines
}

import Rollout
import Values

/// What differs between two plans, apart from where the rollout is, as members of an event: by name, and as the plan's file has it.
func changedRules(
    from old: Plan?, to new: Plan?
) -> (before: [(String, JSONValue)], after: [(String, JSONValue)]) {
    let (was, now) = (rules(of: old), rules(of: new))
    var names = was.map(\.name)
    for rule in now where !names.contains(rule.name) { names.append(rule.name) }
    func value(_ rules: [(name: String, text: String)], _ name: String) -> String? {
        rules.first { $0.name == name }?.text
    }
    let changed = names.filter { value(was, $0) != value(now, $0) }
    func members(_ rules: [(name: String, text: String)]) -> [(String, JSONValue)] {
        changed.map { name in (name, value(rules, name).map { .string($0) } ?? .null) }
    }
    return (members(was), members(now))
}

private func rules(of plan: Plan?) -> [(name: String, text: String)] {
    guard let plan else { return [] }
    var rules = [
        ("promote", plan.promote.rawValue), ("on_breach", plan.onBreach.rawValue),
        ("window", durationWords(plan.windowSeconds)), ("min_samples", "\(plan.minSamples)"),
        ("confidence", share(plan.confidence)), ("keep", durationWords(plan.keepSeconds)),
        ("rollback_window", durationWords(plan.rollbackWindowSeconds)),
    ]
    let gates = plan.gates
    let limits: [(String, String?)] = [
        ("read_error_rate", gates.readErrorRate.map(share)),
        ("read_error_rate.over_legacy", gates.readErrorRateOverLegacy.map(share)),
        ("write_p95", gates.writeP95Seconds.map(seconds)),
        ("write_p95.over_legacy", gates.writeP95OverLegacy.map(plain)),
        ("conflict_rate", gates.conflictRate.map(share)), ("fallback_rate", gates.fallbackRate.map(share)),
        ("mismatch_rate", gates.mismatchRate.map(share)), ("journal_lag", gates.journalLagSeconds.map(seconds)),
    ]
    rules += limits.compactMap { name, text in text.map { ("gates.\(name)", $0) } }
    for stage in plan.stages {
        rules.append(
            (
                "stages.\(stage.name)",
                "\(Percent.text(hundredths: stage.percentHundredths)) % held for \(durationWords(stage.holdSeconds))"
            ))
    }
    return rules
}

private func share(_ value: Double) -> String { plain((value * 1_000_000).rounded() / 10_000) + "%" }
private func seconds(_ value: Double) -> String {
    value < 1 ? plain((value * 1000).rounded()) + "ms" : plain(value) + "s"
}
private func plain(_ value: Double) -> String { value == value.rounded() ? "\(Int64(value))" : "\(value)" }

import ControlPlane
import Values

/// Why a user is served by a side, in one sentence.
///
/// - Parameter rollout: where the rollout is; nil leaves stage and percent out.
func explainText(_ user: UserReport, rollout: RolloutReport?, now: Int64) -> String {
    let name = "user \(printable(user.user ?? noValue))"
    let side = user.side ?? noValue
    let other = side == "new" ? "legacy" : "new"
    let since = user.since.flatMap { Instant($0) }.map { " since \($0.shown(now: now))" } ?? ""
    let served = "served by \(side)\(since)"
    let place = user.bucket.map { "bucket \($0) of 10000" } ?? "no bucket"
    let stage = stageText(rollout)
    let admitted = "\(place), \(stage) admits it"
    switch user.reason {
    case "in-percent":
        return "\(name): \(admitted); \(served)"
    case "outside-percent":
        let needed = user.percentNeeded.map { " (it needs \(percentText($0)) %)" } ?? ""
        return "\(name): \(place), \(stage) does not admit it\(needed); \(served)"
    case "pinned-legacy", "pinned-new":
        return "\(name): pinned to \(side) by an operator, whatever the percent (\(place)); \(served)"
    case "anonymous":
        return "\(name): anonymous, so nothing to split by; \(served)"
    case "not-backfilled":
        return "\(name): \(admitted), but its history is not copied to new yet; \(served)"
    case "behind":
        return "\(name): \(admitted), but writes of this user are still on their way to new; \(served) until they hold"
    case "breaker-open":
        return "\(name): \(admitted), but new is failing and its breaker is open; \(served) meanwhile"
    case "draining":
        return "\(name): moves to \(other), but writes are still on their way there; \(served) until they hold"
    case let reason?:
        return "\(name): \(place); \(served) (\(printable(reason)))"
    case nil:
        return "\(name): \(place); \(served)"
    }
}

private func stageText(_ rollout: RolloutReport?) -> String {
    let percent = rollout?.percent.map { "\(percentText($0)) %" }
    switch (rollout?.stage, percent) {
    case (let stage?, let percent?): return "stage \(printable(stage)) (\(percent))"
    case (let stage?, nil): return "stage \(printable(stage))"
    case (nil, let percent?): return "the percent (\(percent))"
    case (nil, nil): return "the rollout"
    }
}

import Rollout

/// Decides what to raise and what to resolve. Pure: no I/O, time comes as an argument.
///
/// A condition is raised when it has held for its `hold`, and resolved when it has not held for its `calm`: what flaps is one
/// alert, not many. Durations are measured by the monotonic clock; the wall clock is only written down.
struct AlertRules {
    /// What distinguishes this gateway from the others of a store.
    var instance: String
    private var tracked: [String: Tracked] = [:]
    private var progress = JournalProgress()

    init(instance: String) { self.instance = instance }

    /// A condition that holds, or has held a moment ago.
    private struct Tracked {
        /// Raised and not resolved yet.
        var alert: Alert?
        var badSince: Int64?
        var notBadSince: Int64?
        /// Without a moment in which nobody could say.
        var goodSince: Int64?
        /// How bad it was when it was last told, and when that was.
        var toldWeight = 0
        var toldAt: Int64 = 0
    }

    /// What is raised now, the oldest first.
    var raised: [Alert] {
        tracked.values.compactMap(\.alert).sorted { ($0.startsAt, $0.name) < ($1.startsAt, $1.name) }
    }

    // MARK: Conditions

    /// - Returns: what is to be told now: newly raised, grown worse, or resolved.
    mutating func observe(_ seen: AlertObservation) -> [Alert] {
        progress.observe(seen)
        let conditions = self.conditions(seen)
        var told: [Alert] = []
        for condition in conditions { told += judge(condition, seen) }
        let known = Set(conditions.map(\.key))
        // A gate that the plan has no more: nothing to wait for.
        for key in tracked.keys.sorted() where !known.contains(key) {
            if var alert = tracked.removeValue(forKey: key)?.alert {
                alert.endsAt = max(alert.startsAt, seen.wall)
                alert.summary = "Resolved, because the plan does not ask any more: \(alert.summary)"
                told.append(alert)
            }
        }
        return told
    }

    private mutating func judge(_ condition: AlertCondition, _ seen: AlertObservation) -> [Alert] {
        var state = tracked[condition.key] ?? Tracked()
        defer { tracked[condition.key] = state.alert == nil && state.badSince == nil ? nil : state }
        if let startsAt = state.alert?.startsAt, startsAt > seen.wall {
            // The clock was set back: an alert does not begin in the future.
            state.alert?.startsAt = seen.wall
        }
        guard condition.state == .bad else { return becameCalm(&state, condition, seen) }
        (state.notBadSince, state.goodSince) = (nil, nil)
        let since = state.badSince ?? seen.monotonic
        state.badSince = since
        guard let old = state.alert else {
            guard seen.monotonic - since >= condition.hold else { return [] }
            state.alert = condition.alert(instance: instance, plan: seen.plan, startsAt: seen.wall)
            (state.toldWeight, state.toldAt) = (condition.weight, seen.monotonic)
            return state.alert.map { [$0] } ?? []
        }
        state.alert = condition.alert(instance: instance, plan: seen.plan, startsAt: old.startsAt)
        let isDue = seen.monotonic - state.toldAt >= AlertCondition.tellAgainAfter
        guard condition.weight > state.toldWeight, isDue else {
            // What has become fewer counts as grown when it grows again.
            state.toldWeight = min(state.toldWeight, condition.weight)
            return []
        }
        (state.toldWeight, state.toldAt) = (condition.weight, seen.monotonic)
        return state.alert.map { [$0] } ?? []
    }

    private func becameCalm(
        _ state: inout Tracked, _ condition: AlertCondition, _ seen: AlertObservation
    ) -> [Alert] {
        state.badSince = nil
        guard var alert = state.alert else { return [] }
        let isUnsure = condition.state == .unknown
        let notBadSince = state.notBadSince ?? seen.monotonic
        state.notBadSince = notBadSince
        state.goodSince = isUnsure ? nil : state.goodSince ?? seen.monotonic
        let isCalm = state.goodSince.map { seen.monotonic - $0 >= condition.calm } ?? false
        let isQuiet = condition.calmUnknown.map { seen.monotonic - notBadSince >= $0 } ?? false
        guard isCalm || isQuiet else { return [] }
        alert.summary = isUnsure ? condition.resolvedUnsure : condition.resolved
        alert.endsAt = max(alert.startsAt, seen.wall)
        state.alert = nil
        return [alert]
    }

    private func conditions(_ seen: AlertObservation) -> [AlertCondition] {
        var all = seen.gates.map { AlertCondition.gate($0, onBreach: seen.onBreach) }
        all.append(.parked(seen.parked))
        all.append(.lag(.legacy, seconds: seen.lagSeconds.legacy, limit: seen.lagLimitSeconds))
        all.append(.lag(.new, seconds: seen.lagSeconds.new, limit: seen.lagLimitSeconds))
        all.append(.backend(.legacy, isUp: seen.isHealthy.legacy))
        all.append(.backend(.new, isUp: seen.isHealthy.new))
        all.append(.store(seen, isStuck: progress.isStuck(seen)))
        return all
    }

    // MARK: Changes

    /// How long Alertmanager shows a change.
    static let messageMilliseconds: Int64 = 15 * 60_000

    /// The message about a change of the rollout.
    func message(of change: RolloutChange) -> Alert {
        let trigger = [ChangeOrigin.gate, "gateway"].contains(change.actor) ? change.actor : "operator"
        let isBack = change.action == "rollback"
        var labels = ["instance": instance, "action": change.action, "trigger": trigger]
        // Each change is one of its own.
        labels["generation"] = String(change.after.generation)
        labels["plan"] = change.after.planName
        let reason = change.reason.isEmpty ? "" : ": \(shortened(change.reason))"
        return Alert(
            name: "CutoverRolloutChanged",
            severity: trigger == ChangeOrigin.gate && change.action != "promote"
                ? .critical : isBack ? .warning : .info,
            labels: labels, summary: "\(words(change.action)): \(difference(change.before, change.after))",
            description: "By \(change.actor)\(reason). `cutover status` shows where the rollout is.",
            runbook: "docs/operating.md#rollout", startsAt: change.atMilliseconds,
            endsAt: change.atMilliseconds + Self.messageMilliseconds, change: change)
    }

    private func words(_ action: String) -> String {
        let text = action.split(separator: "-").joined(separator: " ")
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    private func difference(_ before: RolloutState, _ after: RolloutState) -> String {
        func change(_ name: String, _ old: String, _ new: String) -> String? {
            old == new ? nil : "\(name) \(old) → \(new)"
        }
        let parts = [
            change("stage", before.stageName ?? "none", after.stageName ?? "none"),
            change(
                "percent", Percent.text(hundredths: before.percentHundredths),
                Percent.text(hundredths: after.percentHundredths)),
            change("state", before.condition.rawValue, after.condition.rawValue),
            change("legacy writes", before.legacyWrites ? "on" : "off", after.legacyWrites ? "on" : "off"),
        ]
        let text = parts.compactMap(\.self).joined(separator: ", ")
        return text.isEmpty ? "stage \(after.stageName ?? "none") stays" : text
    }

    /// An operator's reason may be long; a message is read on a telephone.
    private func shortened(_ text: String) -> String {
        text.unicodeScalars.count <= 500 ? text : String(text.prefix(500)) + "…"
    }
}

/// Whether the journal makes progress.
private struct JournalProgress {
    /// How long writes may wait without any group becoming durable, in milliseconds.
    static let stuckAfter: Int64 = 5_000

    private var groups: UInt64?
    private var since: Int64 = 0

    mutating func observe(_ seen: AlertObservation) {
        if seen.journalQueue == 0 || groups != seen.journalGroups {
            groups = seen.journalGroups
            since = seen.monotonic
        }
    }

    func isStuck(_ seen: AlertObservation) -> Bool { seen.monotonic - since >= Self.stuckAfter }
}

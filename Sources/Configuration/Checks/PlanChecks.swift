internal import Rollout

/// Holds a plan against the rules that make it work.
struct PlanChecks {
    let plan: Plan
    let diagnostics: Diagnostics

    func run() {
        if plan.stages.isEmpty, !diagnostics.hasFailed("stages") {
            diagnostics.error("stages", "a plan needs at least one stage")
        }
    }
}

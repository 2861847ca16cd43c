internal import Rollout

/// Reports what keeps a plan from working where the file says it.
struct PlanChecks {
    let plan: Plan
    let diagnostics: Diagnostics

    func run() {
        for problem in plan.problems() {
            let stage = problem.stageIndex.map { "stages[\($0)]" }
            let path = stage.map { $0 + "." + problem.key } ?? problem.key
            // Nor does a gate that could not be read mean that there is none.
            if problem.key == "promote", diagnostics.hasFailedWithin("gates") { continue }
            // What is wrong already stands in the plan as a default: that says nothing about the file.
            if diagnostics.hasFailed(path) || stage.map(diagnostics.hasFailed) == true { continue }
            diagnostics.error(path, value: diagnostics.text(path), problem.message)
        }
        // Whoever has errors to mend is not told of what may be odd.
        if !diagnostics.errors.isEmpty { return }
        for remark in plan.remarks() { diagnostics.warn(remark.key, remark.message) }
    }
}

/// Why a plan cannot work.
package struct PlanProblem: Sendable, Equatable {
    /// The stage that it is about; nil for the plan as a whole.
    package var stageIndex: Int?
    /// The key, as it is written in the file: of the stage if there is one (`percent`), else of the plan
    /// (`gates.write_p95`).
    package var key: String
    /// A sentence without the key and the value.
    package var message: String

    package init(stageIndex: Int? = nil, key: String, message: String) {
        self.stageIndex = stageIndex
        self.key = key
        self.message = message
    }
}

extension Plan {
    /// Everything that keeps this plan from working, in the order of the file; empty for a sound plan.
    package func problems() -> [PlanProblem] {
        var problems: [PlanProblem] = []
        if name.isEmpty { problems.append(PlanProblem(key: "name", message: "a plan needs a name")) }
        if stages.isEmpty { problems.append(PlanProblem(key: "stages", message: "a plan needs at least one stage")) }
        for index in stages.indices { problems += problemsOfStage(index) }
        if !stages.isEmpty && !stages.contains(where: { $0.percentHundredths == 0 && $0.dualWrite }) {
            let message = "no stage has percent 0 and dual write: there would be nowhere to roll back to"
            problems.append(PlanProblem(key: "stages", message: message))
        }
        return problems + problemsOfGates() + problemsOfTimes()
    }

    /// What works and is likely not what was meant.
    package func remarks() -> [PlanProblem] {
        var remarks: [PlanProblem] = []
        if gates.isEmpty && promote == .manual {
            let message = "the plan has no gate: nothing judges whether new is well, and no breach acts"
            remarks.append(PlanProblem(key: "gates", message: message))
        }
        if let last = stages.last, last.percentHundredths == 10_000, keepSeconds == 0, last.holdSeconds == 0 {
            let message =
                "legacy is given up as soon as stage \(last.name) is entered: there is no quick way back from then on"
            remarks.append(PlanProblem(key: "keep", message: message))
        }
        return remarks
    }

    private func problemsOfStage(_ index: Int) -> [PlanProblem] {
        let stage = stages[index]
        let before = stages[..<index]
        var problems: [PlanProblem] = []
        func report(_ key: String, _ message: String) {
            problems.append(PlanProblem(stageIndex: index, key: key, message: message))
        }
        if stage.name.isEmpty { report("name", "a stage needs a name") }
        if !stage.name.isEmpty, before.contains(where: { $0.name == stage.name }) {
            report("name", "an earlier stage has the same name")
        }
        if !(0...10_000).contains(stage.percentHundredths) { report("percent", "must be from 0 to 100") }
        if let previous = before.last, stage.percentHundredths < previous.percentHundredths {
            report("percent", "is below that of stage \(previous.name): a plan only goes up")
        }
        if !(0...10_000).contains(stage.shadowHundredths) { report("shadow", "must be from 0% to 100%") }
        if !stage.dualWrite && stage.percentHundredths > 0 {
            report("dual_write", "must be true where new serves users: else legacy misses their writes")
        } else if !stage.dualWrite, let writer = before.last(where: \.dualWrite) {
            report("dual_write", "must stay true after stage \(writer.name): else new misses writes")
        }
        if stage.holdSeconds < 0 { report("hold", "must not be negative") }
        return problems
    }

    private func problemsOfGates() -> [PlanProblem] {
        let ratios: [(String, Double?)] = [
            ("read_error_rate", gates.readErrorRate), ("read_error_rate.over_legacy", gates.readErrorRateOverLegacy),
            ("conflict_rate", gates.conflictRate),
            ("fallback_rate", gates.fallbackRate), ("mismatch_rate", gates.mismatchRate),
        ]
        let times: [(String, Double?)] = [
            ("write_p95", gates.writeP95Seconds), ("journal_lag", gates.journalLagSeconds),
        ]
        var problems: [PlanProblem] = []
        // `!` in front of the comparison, so that NaN is a problem too.
        for case (let key, let value?) in ratios where !(value >= 0 && value <= 1) {
            problems.append(PlanProblem(key: "gates.\(key)", message: "must be from 0% to 100%"))
        }
        for case (let key, let value?) in times where !(value > 0 && value.isFinite) {
            problems.append(PlanProblem(key: "gates.\(key)", message: "must be longer than 0 s"))
        }
        if let factor = gates.writeP95OverLegacy, !(factor >= 1 && factor <= 1000) {
            problems.append(PlanProblem(key: "gates.write_p95.over_legacy", message: "must be from 1 to 1000"))
        }
        if gates.isEmpty && promote == .automatic {
            let message =
                "automatic promotion needs at least one gate under gates, and there is none: nothing would judge new"
            problems.append(PlanProblem(key: "promote", message: message))
        }
        if !(confidence >= 0.5 && confidence < 1) {
            problems.append(PlanProblem(key: "confidence", message: "must be from 50% to below 100%"))
        }
        return problems
    }

    private func problemsOfTimes() -> [PlanProblem] {
        var problems: [PlanProblem] = []
        if windowSeconds <= 0 { problems.append(PlanProblem(key: "window", message: "must be longer than 0 s")) }
        if minSamples < 1 { problems.append(PlanProblem(key: "min_samples", message: "must be at least 1")) }
        if keepSeconds < 0 { problems.append(PlanProblem(key: "keep", message: "must not be negative")) }
        if let last = stages.last, last.percentHundredths == 10_000, (0..<last.holdSeconds).contains(keepSeconds) {
            let message =
                "\(durationText(keepSeconds)) is shorter than the hold of the last stage, \(last.name) (\(durationText(last.holdSeconds))): "
                + "legacy would be given up before that was held"
            problems.append(PlanProblem(key: "keep", message: message))
        }
        if rollbackWindowSeconds < 0 {
            problems.append(PlanProblem(key: "rollback_window", message: "must not be negative"))
        }
        return problems
    }
}

/// Seconds as a plan would say them: `90d`, `24h`, `30s`.
private func durationText(_ seconds: Int64) -> String {
    let unit = [("d", 86_400), ("h", 3600), ("m", 60)].first { seconds >= $0.1 && seconds % Int64($0.1) == 0 }
    return unit.map { "\(seconds / Int64($0.1))\($0.0)" } ?? "\(seconds)s"
}

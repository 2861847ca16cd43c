internal import Rollout

/// Turns the tree of a plan file into a `Plan` (contract §4).
struct PlanDecoder {
    let diagnostics: Diagnostics

    /// - Returns: the plan as far as it is right; nil when the file is no mapping.
    func decode(_ root: Node) -> Plan? {
        guard let top = Section(root, path: "", schema: Schema.plan, diagnostics: diagnostics) else { return nil }
        top.requireKey("name", accepted: "text that is not empty")
        var plan = Plan(name: "", stages: [])
        top.set(&plan.name, "name", Value.text)
        top.requireKey("stages", accepted: "a list of stages")
        plan.stages = (top.list("stages", of: "a list of stages") ?? []).map { stage($0.node, path: $0.path) }
        if let gates = top.section("gates", Schema.gates) { plan.gates = self.gates(gates) }
        top.set(&plan.windowSeconds, "window", Value.seconds(from: 1))
        top.setPlain(&plan.minSamples, "min_samples", Value.integer(1...1_000_000_000))
        top.set(&plan.confidence, "confidence", Value.share)
        top.set(&plan.onBreach, "on_breach", Value.word(BreachAction.self))
        top.set(&plan.promote, "promote", Value.word(PromotionMode.self))
        top.set(&plan.keepSeconds, "keep", Value.seconds(from: 0))
        top.set(&plan.rollbackWindowSeconds, "rollback_window", Value.seconds(from: 0))
        plan.alerts = alerts(top)
        return plan
    }

    /// A stage that is wrong is still a stage, so that the paths of the others hold.
    private func stage(_ node: Node, path: String) -> Stage {
        var stage = Stage(name: "", percentHundredths: 0)
        guard let section = Section(node, path: path, schema: Schema.stage, diagnostics: diagnostics) else {
            return stage
        }
        section.requireKey("name", accepted: "text that is not empty")
        section.requireKey("percent", accepted: "0 to 100 with at most two decimals")
        section.set(&stage.name, "name", Value.text)
        section.setPlain(&stage.percentHundredths, "percent", Value.percent)
        section.setPlain(&stage.shadowHundredths, "shadow", Value.percent)
        section.setPlain(&stage.dualWrite, "dual_write", Value.boolean)
        section.set(&stage.holdSeconds, "hold", Value.seconds(from: 0))
        return stage
    }

    private func gates(_ section: Section) -> Gates {
        var gates = Gates()
        let errors = limits(section, "read_error_rate", max: Value.share, overLegacy: Value.share)
        gates.readErrorRate = errors.max
        gates.readErrorRateOverLegacy = errors.overLegacy
        section.value("conflict_rate", Value.share).map { gates.conflictRate = $0 }
        section.value("fallback_rate", Value.share).map { gates.fallbackRate = $0 }
        section.value("mismatch_rate", Value.share).map { gates.mismatchRate = $0 }
        let writes = limits(section, "write_p95", max: Value.duration(from: 1), overLegacy: Value.factor)
        gates.writeP95Seconds = writes.max.map { Double($0) / 1000 }
        gates.writeP95OverLegacy = writes.overLegacy
        section.value("journal_lag", Value.duration(from: 1)).map { gates.journalLagSeconds = Double($0) / 1000 }
        return gates
    }

    /// A gate of one value is its `max`; a mapping has `max`, `over_legacy` or both.
    private func limits<T>(
        _ section: Section, _ key: String, max: Reader<T>, overLegacy: Reader<Double>
    ) -> (max: T?, overLegacy: Double?) {
        guard let node = section.node(key), case .mapping(let entries) = node.content else {
            return (section.value(key, max), nil)
        }
        guard !entries.isEmpty else {
            diagnostics.error(
                section.path(key), line: node.line, "an empty mapping, which is no limit",
                accepted: Schema.limits(key).keys.joined(separator: ", "))
            return (nil, nil)
        }
        guard let limits = section.section(key, Schema.limits(key)) else { return (nil, nil) }
        return (limits.value("max", max), limits.value("over_legacy", overLegacy))
    }
}

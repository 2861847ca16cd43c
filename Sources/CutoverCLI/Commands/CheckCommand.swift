import Configuration
import ControlPlane
import Gateway
import Rollout
import Values

/// The flags with which `serve` and `check` find their configuration.
let configurationFlags: [Flag] = [
    .value("config", "FILE", "Configuration (YAML or JSON)"),
    .value("listen", "ADDR", "Address for clients, host:port"),
    .value("admin", "ADDR", "Address of the admin API and the metrics"),
    .value("legacy", "URL", "The backend to move away from"),
    .value("new", "URL", "The backend to move to"),
    .value("data", "DIR", "Directory of the embedded store and the tokens"),
    .value("plan", "FILE", "Plan of the rollout"),
]

extension Invocation {
    /// What `--config` and the flags over it come to: the one way in which `serve` and `check` read a configuration.
    func loadConfiguration(file: String? = nil) -> ConfigurationOutcome {
        let flags = ConfigurationFlags(
            listen: value("listen"), admin: value("admin"), legacy: value("legacy"), new: value("new"),
            data: value("data"),
            plan: value("plan"))
        return ConfigurationLoader.load(
            file: file ?? value("config"), flags: flags, problem: IdentitySources.problem,
            inspection: { TLSMaterial.inspection($0) + AccessLogFile.inspection($0) })
    }
}

let checkCommand = Command(
    "check", "Validate configuration and plan, and report everything that is wrong", operands: .optional("FILE"),
    details: """
        One line an error: FILE:LINE: key.path: what is wrong; accepted: …; did you mean …? \
        `serve` refuses what `check` refuses. FILE is short for --config FILE.
        """,
    flags: configurationFlags,
    example: """
        $ cutover check --config cutover.yaml
        cutover.yaml: valid; plan my-migration with 6 stages, 2 routes
        """,
    run: { invocation in
        if !invocation.operands.isEmpty, invocation.value("config") != nil {
            throw invocation.usage("FILE and --config are the same: give one")
        }
        let file = invocation.operands.first ?? invocation.value("config")
        switch invocation.loadConfiguration(file: file) {
        case .ok(let settings, let warnings):
            invocation.console.print(
                invocation.wantsJSON
                    ? checkJSON(errors: [], warnings: warnings).text
                    : (warnings.map { "warning: \($0)" } + [summary(settings, file: file)]).joined(separator: "\n"))
            return ExitStatus.done
        case .errors(let errors):
            invocation.console.print(
                invocation.wantsJSON
                    ? checkJSON(errors: errors, warnings: []).text
                    : (planHint(errors, file: file) + errors.map(\.description)).joined(separator: "\n"))
            return ExitStatus.refused
        }
    })

private func summary(_ settings: Settings, file: String?) -> String {
    let plan = settings.plan.map { "plan \($0.name) with \(counted($0.stages.count, "stage"))" } ?? "no plan"
    return "\(file ?? "command line"): valid; \(plan), \(counted(settings.routes.count, "route"))"
}

/// One line before all errors where the file is a plan: only a plan has stages, and then none of them is what is wrong.
private func planHint(_ errors: [ConfigurationError], file: String?) -> [String] {
    guard let file, errors.contains(where: { $0.file == file && $0.keyPath == "stages" }) else { return [] }
    let name = printable(file)
    return ["\(name) is a plan: check it with --plan \(name), beside --config FILE or --legacy URL --new URL"]
}

private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

private func checkJSON(errors: [ConfigurationError], warnings: [ConfigurationWarning]) -> JSONValue {
    .object([
        ("valid", .bool(errors.isEmpty)), ("errors", .array(errors.map(finding))),
        ("warnings", .array(warnings.map(finding))),
    ])
}

private func finding(_ error: ConfigurationError) -> JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
    return .object([
        ("file", .string(error.file)), ("line", error.line.map { .number(String($0)) } ?? .null),
        ("key", .string(error.keyPath)), ("value", text(error.value)), ("problem", .string(error.problem)),
        ("accepted", text(error.accepted)), ("suggestion", text(error.suggestion)),
        ("message", .string(error.description)),
    ])
}

import ControlPlane
import Values

/// What `cutover` and `cutover help` print.
func overview(_ commands: [Command]) -> String {
    let width = commands.map(\.name.count).max() ?? 0
    var lines = [
        "Cutover moves a service from a legacy backend to a new one, a share of its users at a time.",
        "",
        "Usage: cutover COMMAND [flags]",
    ]
    for group in CommandGroup.allCases {
        let members = commands.filter { group.names.contains($0.name) }
        guard !members.isEmpty else { continue }
        lines += ["", "\(group.title):"]
        lines += members.map { "  " + padded($0.name, to: width) + "  " + $0.summary }
    }
    lines += [
        "",
        "`cutover COMMAND --help` shows a command's flags and an example; every command knows `--json`.",
        "Exit status: 0 done, 1 refused or failed, 2 wrong usage.",
    ]
    return lines.joined(separator: "\n")
}

/// What `cutover COMMAND --help` prints.
func help(_ command: Command) -> String {
    var lines = ["cutover \(command.name): \(command.summary)", "", "Usage: \(command.synopsis)"]
    if !command.details.isEmpty { lines += ["", command.details] }
    let names = command.flags.map { "--" + $0.name + ($0.placeholder.map { " \($0)" } ?? "") }
    let width = names.map(\.count).max() ?? 0
    lines += ["", "Flags:"]
    for (name, flag) in zip(names, command.flags) {
        lines.append("  " + padded(name, to: width) + "  " + flag.summary + (flag.repeats ? " (may be repeated)" : ""))
    }
    lines += ["", "Example:"]
    lines += command.example.split(separator: "\n", omittingEmptySubsequences: false).map {
        $0.isEmpty ? "" : "  \($0)"
    }
    return lines.joined(separator: "\n")
}

/// The overview for machines.
func overviewJSON(_ commands: [Command]) -> JSONValue { .object([("commands", .array(commands.map(helpJSON)))]) }

/// A command's help for machines.
func helpJSON(_ command: Command) -> JSONValue {
    let flags = command.flags.map { flag -> JSONValue in
        .object([
            ("name", .string(flag.name)), ("value", flag.placeholder.map { .string($0) } ?? .null),
            ("repeats", .bool(flag.repeats)), ("summary", .string(flag.summary)),
        ])
    }
    return .object([
        ("name", .string(command.name)), ("summary", .string(command.summary)),
        ("synopsis", .string(command.synopsis)), ("flags", .array(flags)), ("example", .string(command.example)),
    ])
}

/// The sections of the overview.
enum CommandGroup: CaseIterable {
    case gateway, rollout, watching, local

    var title: String {
        switch self {
        case .gateway: "Run a gateway"
        case .rollout: "Move traffic"
        case .watching: "See what happens"
        case .local: "Work on files and ids, without a gateway"
        }
    }

    var names: [String] {
        switch self {
        case .gateway: ["serve", "check", "demo"]
        case .rollout:
            [
                "promote", "rollback", "pause", "resume", "set-percent", "pin", "unpin", "stop-legacy", "resume-legacy",
                "reverse-sync",
            ]
        case .watching: ["status", "explain", "mismatches", "journal", "journal replay", "journal settle", "events"]
        case .local: ["hash", "compare", "bucket", "store migrate", "version"]
        }
    }
}

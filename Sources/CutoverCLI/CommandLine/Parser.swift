/// What the parser made of the words after a command's name.
struct ParsedArguments: Sendable, Equatable {
    /// By flag name; a switch has one empty value.
    var values: [String: [String]] = [:]
    var operands: [String] = []
}

/// What the first words ask for.
enum Selection {
    case overview(asJSON: Bool)
    case help(Command, asJSON: Bool)
    case run(Command, [String])
}

/// Finds the command that `arguments` name.
func selectCommand(_ arguments: [String], from commands: [Command]) throws(UsageError) -> Selection {
    let asJSON = arguments.contains("--json")
    guard let first = arguments.first(where: { $0 != "--json" }) else { return .overview(asJSON: asJSON) }
    switch first {
    case "help":
        let words = arguments.filter { !$0.hasPrefix("-") }.dropFirst()
        if words.isEmpty || Array(words) == ["help"] { return .overview(asJSON: asJSON) }
        return .help(try findCommand(Array(words), in: commands).command, asJSON: asJSON)
    case "--help", "-h":
        return .overview(asJSON: asJSON)
    case "--version", "-V":
        return try selectCommand(["version"] + arguments.filter { $0 != first }, from: commands)
    default:
        break
    }
    guard !first.hasPrefix("-") else {
        throw UsageError(command: nil, message: "the command comes first, then its flags; \"\(first)\" is no command")
    }
    let found = try findCommand(Array(arguments.drop { $0 == "--json" }), in: commands)
    let leading = Array(arguments.prefix { $0 == "--json" })
    let rest = leading + found.rest
    if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
        return .help(found.command, asJSON: asJSON)
    }
    return .run(found.command, rest)
}

/// Commands that a later version brings: known, so that nobody takes them for a slip of the finger, and not listed.
private let laterCommands: Set<String> = ["backfill", "verify", "backup", "restore"]

/// The command named by the first two words, else by the first.
private func findCommand(
    _ words: [String], in commands: [Command]
) throws(UsageError) -> (command: Command, rest: [String]) {
    let pair = words.prefix(2).joined(separator: " ")
    if words.count > 1, let command = commands.first(where: { $0.name == pair }) {
        return (command, Array(words.dropFirst(2)))
    }
    if let word = words.first, let command = commands.first(where: { $0.name == word }) {
        return (command, Array(words.dropFirst()))
    }
    let word = words.first ?? ""
    if laterCommands.contains(word) {
        throw UsageError(command: nil, message: "\"\(word)\" is not in this version")
    }
    throw UsageError(
        command: nil,
        message: "unknown command \"\(word)\""
            + hint(nearest(to: word, among: commands.map(\.name) + ["help"]).map { "\"\($0)\"" }))
}

/// Sorts a command's words into flags and operands.
///
/// `--name value`, `--name=value`, `--` (what follows is no flag), `-` (standard input) and numbers below zero are understood.
func parse(_ words: [String], for command: Command) throws(UsageError) -> ParsedArguments {
    var parsed = ParsedArguments()
    var index = 0
    while index < words.count {
        let word = words[index]
        index += 1
        if word == "--" {
            parsed.operands += words[index...]
            break
        }
        guard isFlag(word) else {
            parsed.operands.append(word)
            continue
        }
        let (name, inline) = splitFlag(word)
        let flag = try findFlag(name, written: word, of: command)
        let value: String
        if flag.placeholder == nil {
            guard inline == nil else { throw UsageError(command: command.name, message: "--\(name) takes no value") }
            value = ""
        } else if let inline {
            value = inline
        } else {
            value = try following(words, &index, flag: flag, command: command)
        }
        if parsed.values[flag.name] != nil, !flag.repeats, flag.placeholder != nil {
            throw UsageError(command: command.name, message: "--\(name) is given twice")
        }
        parsed.values[flag.name, default: []].append(value)
    }
    try checkOperands(parsed.operands, of: command)
    return parsed
}

private func isFlag(_ word: String) -> Bool {
    guard word.hasPrefix("-"), word != "-" else { return false }
    // `-5` is a number: the command itself says what is wrong with it.
    return word.dropFirst().first.map { !$0.isNumber } ?? false
}

private func splitFlag(_ word: String) -> (name: String, inline: String?) {
    let body = word.drop { $0 == "-" }
    guard let equals = body.firstIndex(of: "=") else { return (String(body), nil) }
    return (String(body[..<equals]), String(body[body.index(after: equals)...]))
}

private func findFlag(_ name: String, written: String, of command: Command) throws(UsageError) -> Flag {
    if written.hasPrefix("--"), let flag = command.flags.first(where: { $0.name == name }) { return flag }
    let suggestion = nearest(to: name, among: command.flags.map(\.name)).map { "--\($0)" }
    let shown = written.prefix { $0 != "=" }
    throw UsageError(command: command.name, message: "unknown flag \(shown)" + hint(suggestion))
}

private func following(
    _ words: [String], _ index: inout Int, flag: Flag, command: Command
) throws(UsageError) -> String {
    guard index < words.count, !words[index].hasPrefix("--") else {
        throw UsageError(
            command: command.name,
            message: "--\(flag.name) needs a value: --\(flag.name) \(flag.placeholder ?? "VALUE")")
    }
    defer { index += 1 }
    return words[index]
}

private func checkOperands(_ operands: [String], of command: Command) throws(UsageError) {
    switch command.operands {
    case .none:
        guard let extra = operands.first else { return }
        throw UsageError(command: command.name, message: "unexpected argument \"\(extra)\"")
    case .exactly(let names):
        if operands.count < names.count {
            let missing = names[operands.count...].joined(separator: " and ")
            let verb = names.count - operands.count == 1 ? "is" : "are"
            throw UsageError(command: command.name, message: "\(missing) \(verb) missing")
        }
        if operands.count > names.count {
            throw UsageError(command: command.name, message: "unexpected argument \"\(operands[names.count])\"")
        }
    case .optional:
        guard operands.count > 1 else { return }
        throw UsageError(command: command.name, message: "unexpected argument \"\(operands[1])\"")
    case .atLeastOne(let name):
        if operands.isEmpty { throw UsageError(command: command.name, message: "\(name) is missing") }
    case .any:
        return
    }
}

private func hint(_ suggestion: String?) -> String { suggestion.map { "; did you mean \($0)?" } ?? "" }

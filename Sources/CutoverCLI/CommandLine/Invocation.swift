import ControlPlane
import Values

/// A wrong command line: exit status 2.
struct UsageError: Error, Equatable {
    /// The command whose help to read; nil is the overview.
    var command: String?
    var message: String
}

/// A command that was understood and could not be done: exit status 1.
struct CommandFailure: Error {
    /// One sentence that says what went wrong and what to do.
    var message: String
    /// What `--json` prints.
    var json: String

    init(_ message: String, json: String? = nil) {
        self.message = message
        self.json = json ?? JSONValue.object([("title", "failed"), ("detail", .string(message))]).text
    }
}

/// One run of a command: what was written, and the surroundings it runs in.
struct Invocation: Sendable {
    let command: Command
    let parsed: ParsedArguments
    let surroundings: Surroundings

    var console: Console { surroundings.console }
    var environment: [String: String] { surroundings.environment }
    var operands: [String] { parsed.operands }
    var wantsJSON: Bool { isSet("json") }

    /// The value of a flag, or nil when it was not given.
    func value(_ flag: String) -> String? { parsed.values[flag]?.last }

    /// All values of a flag that repeats, in order.
    func values(_ flag: String) -> [String] { parsed.values[flag] ?? [] }

    /// Whether a switch was given.
    func isSet(_ flag: String) -> Bool { parsed.values[flag] != nil }

    /// A flag's value as a whole number within bounds.
    func integer(_ flag: String, in bounds: ClosedRange<Int>) throws -> Int? {
        guard let text = value(flag) else { return nil }
        guard let number = Int(text), bounds.contains(number) else {
            throw usage("--\(flag) \"\(text)\" is not a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }

    func usage(_ message: String) -> UsageError { UsageError(command: command.name, message: message) }
}

/// The exit statuses of contract §2.
enum ExitStatus {
    static let done: Int32 = 0
    static let refused: Int32 = 1
    static let usage: Int32 = 2
}

/// A flag of a command: `--name`, or `--name VALUE`.
struct Flag: Sendable {
    /// Without the dashes.
    let name: String
    /// How the help calls the value; nil is a switch, which takes none.
    let placeholder: String?
    let summary: String
    /// Whether it may be given more than once.
    let repeats: Bool

    static func value(_ name: String, _ placeholder: String, _ summary: String, repeats: Bool = false) -> Flag {
        Flag(name: name, placeholder: placeholder, summary: summary, repeats: repeats)
    }

    static func toggle(_ name: String, _ summary: String) -> Flag {
        Flag(name: name, placeholder: nil, summary: summary, repeats: false)
    }
}

/// How many arguments besides flags a command takes, and what the help calls them.
enum Operands: Sendable {
    case none
    /// Exactly these, in this order.
    case exactly([String])
    /// At most one.
    case optional(String)
    /// One or more of a kind.
    case atLeastOne(String)
    /// Any number of a kind, none included.
    case any(String)
}

/// One command, as a value: the parser, the help and the documents all read it here.
struct Command: Sendable {
    /// One word, or two: `journal replay`.
    let name: String
    /// One line, no full stop.
    let summary: String
    let operands: Operands
    /// A paragraph for the help, beyond the summary; may be empty.
    let details: String
    /// The command's own flags; `--json` and `--help` come by themselves.
    let flags: [Flag]
    /// What to type and what it prints.
    let example: String
    let run: @Sendable (Invocation) throws -> Int32

    init(
        _ name: String, _ summary: String, operands: Operands = .none, details: String = "", flags: [Flag] = [],
        example: String, run: @escaping @Sendable (Invocation) throws -> Int32
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.details = details
        self.flags = flags + [.toggle("json", "Print JSON for machines"), .toggle("help", "Show this text")]
        self.example = example
        self.run = run
    }

    /// `cutover NAME OPERANDS [flags]`.
    var synopsis: String {
        var words = ["cutover", name]
        switch operands {
        case .none: break
        case .exactly(let names): words += names
        case .optional(let name): words.append("[\(name)]")
        case .atLeastOne(let name): words.append("\(name)…")
        case .any(let name): words.append("[\(name)…]")
        }
        words.append("[flags]")
        return words.joined(separator: " ")
    }
}

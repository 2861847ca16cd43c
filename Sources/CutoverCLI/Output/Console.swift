import CLinux
import Glibc
import Synchronization

/// Standard output and standard error, and what may be done with them.
final class Console: Sendable {
    /// Colour only on a terminal and only where `NO_COLOR` is not set.
    let hasColour: Bool
    /// Whether standard output is a terminal, on which a text may be redrawn in place.
    let isTerminal: Bool
    /// Lines of the terminal, as it is now; nil where standard output is none.
    let rows: @Sendable () -> Int?
    private let output: @Sendable ([UInt8]) -> Bool
    private let errors: @Sendable ([UInt8]) -> Bool
    private let failed = Atomic<Bool>(false)

    init(
        hasColour: Bool, isTerminal: Bool, rows: @escaping @Sendable () -> Int? = { nil },
        output: @escaping @Sendable ([UInt8]) -> Bool, errors: @escaping @Sendable ([UInt8]) -> Bool
    ) {
        self.rows = rows
        self.hasColour = hasColour
        self.isTerminal = isTerminal
        self.output = output
        self.errors = errors
    }

    static func ofProcess(noColour: Bool) -> Console {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        return Console(
            hasColour: isTerminal && !noColour, isTerminal: isTerminal,
            rows: {
                let rows = clinux_terminal_rows(STDOUT_FILENO)
                return rows > 0 ? Int(rows) : nil
            },
            output: { writeAll(STDOUT_FILENO, $0) }, errors: { writeAll(STDERR_FILENO, $0) })
    }

    /// Whether something could not be written to standard output.
    var outputFailed: Bool { failed.load(ordering: .relaxed) }

    /// Writes a text and a line end to standard output.
    func print(_ text: String) { write(text.hasSuffix("\n") ? text : text + "\n") }

    /// Writes a text as it is to standard output.
    func write(_ text: String) {
        if !output(Array(text.utf8)) { failed.store(true, ordering: .relaxed) }
    }

    /// Writes a text and a line end to standard error.
    func printError(_ text: String) { _ = errors(Array((text + "\n").utf8)) }

    /// The text in a colour, where the console has any.
    func coloured(_ text: String, _ colour: Colour) -> String {
        hasColour ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// The few colours that say something: good, wait, bad, less important.
enum Colour: Int, Sendable {
    case bold = 1
    case dim = 2
    case red = 31
    case green = 32
    case yellow = 33
}

private func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
    var offset = 0
    while offset < bytes.count {
        let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count > 0 {
            offset += count
        } else if count == 0 || errno != EINTR {
            return false
        }
    }
    return true
}

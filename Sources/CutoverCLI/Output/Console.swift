import CLinux
import Gateway
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
    /// Characters of one of its lines, as it is now; nil where nobody knows.
    let columns: @Sendable () -> Int?
    private let output: @Sendable ([UInt8]) -> Int32
    private let errors: @Sendable ([UInt8]) -> Int32
    private let failure = Atomic<Int32>(0)

    /// - Parameters:
    ///   - output: writes to standard output; returns 0, or the error number of the system.
    ///   - errors: the same for standard error.
    init(
        hasColour: Bool, isTerminal: Bool, rows: @escaping @Sendable () -> Int? = { nil },
        columns: @escaping @Sendable () -> Int? = { nil },
        output: @escaping @Sendable ([UInt8]) -> Int32, errors: @escaping @Sendable ([UInt8]) -> Int32
    ) {
        self.rows = rows
        self.columns = columns
        self.hasColour = hasColour
        self.isTerminal = isTerminal
        self.output = output
        self.errors = errors
    }

    /// - Parameter columns: what the environment says of the terminal's width (`COLUMNS`); the terminal itself knows better.
    static func ofProcess(noColour: Bool, columns: Int?) -> Console {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        return Console(
            hasColour: isTerminal && !noColour, isTerminal: isTerminal,
            rows: {
                let rows = clinux_terminal_rows(STDOUT_FILENO)
                return rows > 0 ? Int(rows) : nil
            },
            columns: {
                let width = clinux_terminal_columns(STDOUT_FILENO)
                return width > 0 ? Int(width) : columns
            },
            output: { writeWhole(STDOUT_FILENO, $0) }, errors: { writeWhole(STDERR_FILENO, $0) })
    }

    /// Whether something could not be written to standard output.
    var outputFailed: Bool { outputError != 0 }

    /// The first error number of the system that came of it; 0 while there was none.
    var outputError: Int32 { failure.load(ordering: .relaxed) }

    /// Writes a text and a line end to standard output.
    func print(_ text: String) { write(text.hasSuffix("\n") ? text : text + "\n") }

    /// Writes a text as it is to standard output.
    func write(_ text: String) {
        let number = output(Array(text.utf8))
        if number != 0, !outputFailed { failure.store(number, ordering: .relaxed) }
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

/// Gives the three standard descriptors that are closed a place holder, which refuses to be written: else the first file or socket that
/// is opened would take such a number, and be written to in their place.
func holdStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
        // The lowest free number is the one that was found free. Should it fail, it stays closed, as it was.
        _ = open("/dev/null", O_RDONLY)
    }
}

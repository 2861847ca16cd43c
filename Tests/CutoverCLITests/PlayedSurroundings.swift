import ControlPlane
import HTTPClient
import Synchronization
@testable import CutoverCLI
import Values

/// A terminal, an environment, files and a gateway that are played: what the command line printed and sent is kept.
final class PlayedSurroundings: Sendable {
    struct Record {
        var output = ""
        var errors = ""
        var requests: [HTTPRequest] = []
        var answers: [Result<HTTPAnswer, HTTPFailure>] = []
        var pausesLeft = 0
    }
    let record = Mutex(Record())
    let environment: [String: String]
    let files: [String: String]
    let isTerminal: Bool
    let hasColour: Bool
    /// What the system says of every attempt to write to standard output; 0 is nothing.
    let outputError: Int32
    let rows: Int?
    let columns: Int?

    init(
        environment: [String: String] = [:], files: [String: String] = [:], isTerminal: Bool = false,
        hasColour: Bool = false, rows: Int? = nil, columns: Int? = nil, outputError: Int32 = 0, pauses: Int = 0,
        answers: [Result<HTTPAnswer, HTTPFailure>] = []
    ) {
        self.environment = environment
        self.files = files
        self.isTerminal = isTerminal
        self.hasColour = hasColour
        self.rows = rows
        self.columns = columns
        self.outputError = outputError
        record.withLock {
            $0.pausesLeft = pauses
            $0.answers = answers
        }
    }

    var output: String { record.withLock { $0.output } }
    var errors: String { record.withLock { $0.errors } }
    var requests: [HTTPRequest] { record.withLock { $0.requests } }
    /// The body of the last request as text.
    var sentBody: String? { requests.last?.body.map { String(decoding: $0, as: UTF8.self) } }

    /// Runs `cutover` with these arguments, and returns its exit status.
    func run(_ arguments: String...) -> Int32 { run(arguments: arguments) }

    func run(arguments: [String]) -> Int32 {
        let console = Console(
            hasColour: hasColour, isTerminal: isTerminal, rows: { [rows] in rows }, columns: { [columns] in columns },
            output: { [self] bytes in
                record.withLock { $0.output += String(decoding: bytes, as: UTF8.self) }
                return outputError
            },
            errors: { [self] bytes in
                record.withLock { $0.errors += String(decoding: bytes, as: UTF8.self) }
                return 0
            })
        let surroundings = Surroundings(
            environment: environment, console: console,
            exchange: { [self] request throws(HTTPFailure) in
                let answer = record.withLock { record in
                    record.requests.append(request)
                    return record.answers.isEmpty ? nil : record.answers.removeFirst()
                }
                guard let answer else { throw HTTPFailure(kind: .refused, detail: "Couldn't connect to server") }
                return try answer.get()
            },
            now: { Instant("2026-11-30T15:00:00Z")?.seconds ?? 0 },
            pause: { [self] _ in
                record.withLock { record in
                    record.pausesLeft -= 1
                    return record.pausesLeft >= 0
                }
            },
            readFile: { [self] path throws(FileFailure) in
                guard let text = files[path] else { throw FileFailure(path: path, reason: "No such file or directory") }
                return Array(text.utf8)
            })
        return runCutover(arguments: arguments, surroundings: surroundings)
    }
}

/// An answer of the admin API.
func answer(
    _ body: String, status: Int = 200, headers: [(name: String, value: String)] = []
) -> Result<HTTPAnswer, HTTPFailure> {
    .success(HTTPAnswer(status: status, headers: headers, body: Array(body.utf8)))
}

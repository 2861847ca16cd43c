import ControlPlane
import Glibc
import Values

/// Runs one `cutover` command and returns the exit status of the process.
///
/// - Parameter arguments: what was written after the program's name.
/// - Returns: 0 done, 1 refused or failed, 2 usage (contract §2).
public func runCutover(arguments: [String]) -> Int32 {
    holdStandardDescriptors()
    return runCutover(arguments: arguments, surroundings: .ofProcess())
}

/// The same in given surroundings, so that tests see what a user would.
func runCutover(arguments: [String], surroundings: Surroundings) -> Int32 {
    let console = surroundings.console
    var status = ExitStatus.done
    do {
        switch try selectCommand(arguments, from: allCommands) {
        case .overview(let asJSON):
            console.print(asJSON ? overviewJSON(allCommands).text : overview(allCommands))
        case .help(let command, let asJSON):
            console.print(asJSON ? helpJSON(command).text : help(command))
        case .run(let command, let rest):
            let parsed = try parse(rest, for: command)
            let invocation = Invocation(command: command, parsed: parsed, surroundings: surroundings)
            status = try invocation.runReportingFailures()
        }
    } catch let error as UsageError {
        let name = error.command.map { "cutover \($0)" } ?? "cutover"
        console.printError("\(name): \(error.message)")
        console.printError("Try: \(name) --help")
        status = ExitStatus.usage
    } catch {
        console.printError("cutover: \(error)")
        status = ExitStatus.refused
    }
    // A full disk or a closed pipe behind standard output is a failure, not a success with missing text.
    guard console.outputFailed else { return status }
    // Whoever closed the pipe has seen enough.
    if console.outputError != EPIPE {
        console.printError("cutover: cannot write to standard output: \(systemMessage(console.outputError))")
    }
    return status == ExitStatus.done ? ExitStatus.refused : status
}

extension Invocation {
    /// Runs the command; a failure becomes one sentence on standard error, with `--json` also an object on standard output.
    func runReportingFailures() throws -> Int32 {
        do {
            return try command.run(self)
        } catch let failure as CommandFailure {
            if wantsJSON { console.print(failure.json) }
            console.printError("cutover \(command.name): \(failure.message)")
            return ExitStatus.refused
        }
    }
}

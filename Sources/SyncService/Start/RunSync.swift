internal import CLinux
internal import Gateway
internal import Glibc
internal import Journal

/// Runs the program: the whole of `main`.
/// - Returns: the exit status: 0 done, 1 failed, 2 usage.
package func runSync(arguments: [String]) -> Int32 {
    switch SyncCommand(arguments: arguments) {
    case .help:
        print(SyncCommand.helpText)
        return 0
    case .usage(let problem):
        say("\(problem)\n\n\(SyncCommand.helpText)")
        return 2
    case .serve(let options): return serve(options)
    }
}

private func serve(_ options: SyncOptions) -> Int32 {
    // Before any thread starts, so that all of them leave these signals to this one.
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGTERM, SIGINT] { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    clinux_ignore_write_signals()
    let server: SyncServer
    do throws(StartFailure) { server = try SyncServer(options) } catch {
        say(error.text)
        return 1
    }
    say("listening on \(server.address)")
    var signal: Int32 = 0
    sigwait(&signals, &signal)
    server.stop()
    return 0
}

/// Why the service cannot start, in words for an operator.
struct StartFailure: Error {
    let text: String
}

/// Writes a line to standard error.
func say(_ text: String) {
    var line = "cutover-sync: \(text)\n"
    line.withUTF8 { bytes in _ = write(2, bytes.baseAddress, bytes.count) }
}

import CLinux
import Configuration
import ControlPlane
import Gateway

/// `cutover serve`: runs the gateway until it is told to stop.
///
/// SIGTERM and SIGINT drain and end it (a second one ends it at once), SIGHUP reloads the configuration, SIGUSR1 opens
/// the access log anew.
func serve(_ invocation: Invocation) -> Int32 {
    let console = invocation.console
    let file = invocation.value("config")
    let settings: Settings
    switch invocation.loadConfiguration(file: file) {
    case .errors(let errors):
        for error in errors { console.printError(error.description) }
        return ExitStatus.refused
    case .ok(let loaded, let warnings):
        for warning in warnings { console.printError("warning: \(warning.description)") }
        settings = loaded
    }
    // Before any thread starts, so that all of them leave these signals to this one.
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    clinux_ignore_write_signals()
    do throws(ServerError) {
        let server = try GatewayServer(
            settings: settings, reload: { invocation.loadConfiguration(file: file) }, onFenced: { startAnew() })
        let (ports, adminPort) = try server.start()
        for (listener, port) in zip(settings.listeners, ports) {
            console.print("cutover: listening on http://\(address(listener.address, port))")
        }
        console.print("cutover: admin on http://\(address(settings.admin.address, adminPort))")
        console.print("cutover: ready")
        return wait(for: &signals, server)
    } catch {
        console.printError("cutover serve: \(error.text)")
        return ExitStatus.refused
    }
}

/// Begins this process anew, in place: what a fenced gateway has in memory is void, and nothing of it may be sent. Its
/// supervisor sees the same process, its clients a closed connection.
private func startAnew() {
    logLine("starting anew")
    var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
    arguments.append(nil)
    clinux_start_anew(&arguments)
    // Only when it cannot: a supervisor starts it then (EX_TEMPFAIL).
    _exit(75)
}

/// The address with the port that was really bound.
private func address(_ configured: String, _ port: UInt16) -> String {
    guard let colon = configured.lastIndex(of: ":") else { return configured }
    return "\(configured[..<colon]):\(port)"
}

private func wait(for signals: inout sigset_t, _ server: GatewayServer) -> Int32 {
    while true {
        var signal: Int32 = 0
        guard sigwait(&signals, &signal) == 0 else { continue }
        if signal == SIGHUP {
            reload(server)
            continue
        }
        if signal == SIGUSR1 {
            server.reopenLogs()
            continue
        }
        logLine("draining")
        let blocked = signals
        startThread(name: "signals") {
            // A second signal means: now.
            var rest = blocked
            var again: Int32 = 0
            repeat { sigwait(&rest, &again) } while again == SIGHUP || again == SIGUSR1
            _exit(1)
        }
        let isClean = server.stop()
        logLine("stopped")
        return isClean ? ExitStatus.done : ExitStatus.refused
    }
}

private func reload(_ server: GatewayServer) {
    let outcome = waitFor { await server.reload(ChangeOrigin(actor: "SIGHUP")) }
    switch outcome {
    case .done: logLine("configuration reloaded")
    case .invalid(let errors):
        logLine("reload refused, nothing was changed:")
        for error in errors { logLine(error) }
    case .unavailable(let reason): logLine("reload refused: \(reason)")
    }
}

import CLinux
import Configuration
import ControlPlane
import Gateway
import Glibc

/// `cutover serve`: runs the gateway until it is told to stop.
///
/// SIGTERM and SIGINT drain and end it (a second one ends it at once), SIGHUP reloads the configuration, SIGUSR1 opens the access
/// log anew, SIGUSR2 puts the program that its path names now in its place.
func serve(_ invocation: Invocation) -> Int32 {
    // First of all: before any thread starts, so that all of them leave these signals to this one, and before anybody who knows this
    // process sends one, which would end it.
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2] { sigaddset(&signals, signal) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    let console = invocation.console
    let manager = ServiceManager(environment: invocation.environment)
    let passed: PassedSockets
    do throws(ListenError) {
        passed = try PassedSockets(environment: invocation.environment, pid: getpid())
    } catch {
        console.printError("cutover serve: \(error.text)")
        return ExitStatus.refused
    }
    // No child is to take them for its own. Before any thread starts.
    for variable in PassedSockets.variables + ServiceManager.variables { unsetenv(variable) }
    let sockets = ListeningSockets()
    let begin = Beginning(program: programPath(invocation.environment), sockets: sockets, manager: manager)
    let file = invocation.value("config")
    let settings: Settings
    switch invocation.loadConfiguration(file: file) {
    case .errors(let errors):
        for error in errors { console.printError(error.description) }
        goBack(passed, passed.handedOver, begin)
        return ExitStatus.refused
    case .ok(let loaded, let warnings):
        for warning in warnings { console.printError("warning: \(warning.description)") }
        settings = loaded
    }
    clinux_ignore_write_signals()
    do throws(ServerError) {
        do throws(ListenError) {
            try sockets.adopt(
                passed, clients: settings.listeners.map(\.address), admin: settings.admin.address)
        } catch {
            throw ServerError(text: error.text)
        }
        let server = try GatewayServer(
            settings: settings, sockets: sockets, manager: manager,
            reload: { invocation.loadConfiguration(file: file) }, onFenced: { begin.startAnew() })
        let (ports, adminPort) = try server.start()
        for (listener, port) in zip(settings.listeners, ports) {
            console.print("cutover: listening on \(scheme(listener))://\(address(listener.address, port))")
        }
        console.print("cutover: admin on \(scheme(settings.admin))://\(address(settings.admin.address, adminPort))")
        console.print("cutover: ready")
        if let former = passed.formerProgram {
            close(former)
            let version = passed.formerVersion
            // Nobody waits for the store to take it.
            Task { await server.noteUpgrade(from: version) }
        }
        return wait(for: signals, server, Upgrade(invocation, begin))
    } catch {
        console.printError("cutover serve: \(error.text)")
        goBack(passed, sockets.held, begin)
        return ExitStatus.refused
    }
}

/// What a process that takes the place of this one needs.
struct Beginning: Sendable {
    /// Where the program was found when this process began: what lies there later is another version.
    let program: String
    let sockets: ListeningSockets
    let manager: ServiceManager

    /// Begins this process anew, in place: what a fenced gateway has in memory is void, and nothing of it may be sent. Its
    /// supervisor sees the same process, its clients a closed connection.
    func startAnew() -> Never {
        logLine("starting anew")
        _ = replaceProcess(
            by: "/proc/self/exe", arguments: CommandLine.arguments, sockets: sockets.held, manager: manager)
        // Only when it cannot: a supervisor starts it then (EX_TEMPFAIL).
        _exit(75)
    }
}

/// A program that took over and cannot serve makes room for the one before it, which could. Returns where there is none.
private func goBack(
    _ passed: PassedSockets, _ held: [(descriptor: Int32, role: ListenRole, configured: String)], _ begin: Beginning
) {
    guard let former = passed.formerProgram else { return }
    logLine("upgrade: this program cannot serve; the one before it goes on")
    _ = replaceProcess(
        by: "/proc/self/fd/\(former)", arguments: CommandLine.arguments, sockets: held, manager: begin.manager)
}

private func scheme(_ listener: ListenerSettings) -> String { listener.tls == nil ? "http" : "https" }

/// The address with the port that was really bound.
private func address(_ configured: String, _ port: UInt16) -> String {
    guard let colon = configured.lastIndex(of: ":") else { return configured }
    return "\(configured[..<colon]):\(port)"
}

private func wait(for signals: sigset_t, _ server: GatewayServer, _ upgrade: Upgrade) -> Int32 {
    var signals = signals
    while true {
        var signal: Int32 = 0
        guard sigwait(&signals, &signal) == 0 else { continue }
        switch signal {
        case SIGHUP: reload(server)
        case SIGUSR1: server.reopenLogs()
        case SIGUSR2:
            if let status = upgrade.run(server) { return status }
        default: return stop(server, signals)
        }
    }
}

private func stop(_ server: GatewayServer, _ signals: sigset_t) -> Int32 {
    logLine("draining")
    startThread(name: "signals") {
        // A second signal means: now.
        var rest = signals
        var again: Int32 = 0
        repeat { sigwait(&rest, &again) } while [SIGHUP, SIGUSR1, SIGUSR2].contains(again)
        _exit(1)
    }
    let isClean = server.stop()
    logLine("stopped")
    return isClean ? ExitStatus.done : ExitStatus.refused
}

private func reload(_ server: GatewayServer) {
    let outcome = waitFor { await server.reload(ChangeOrigin(actor: "SIGHUP")) }
    switch outcome {
    case .done(let change):
        logLine("configuration reloaded")
        // What `check` and the API would have warned of as well: nobody else reads the answer to a signal.
        if case .done(_, _, let warnings, _) = change { for warning in warnings { logLine(warning) } }
    case .invalid(let errors):
        logLine("reload refused, nothing was changed:")
        for error in errors { logLine(error) }
    case .unavailable(let reason): logLine("reload refused: \(reason)")
    }
}

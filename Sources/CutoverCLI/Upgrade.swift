import CLinux
import Configuration
import ControlPlane
import Gateway
import Glibc
import Synchronization

/// SIGUSR2: puts the program that lies at this one's path in its place, without refusing a client.
///
/// The data directory and a place in a shared store belong to one process, so the two do not run side by side as nginx's do: this one
/// drains while new clients wait in the kernel, and the next begins with the sockets. A pause, as long as the drain and the start take.
struct Upgrade: Sendable {
    private let begin: Beginning
    /// `check` with the flags of this `serve`.
    private let checkArguments: [String]
    private let load: @Sendable () -> ConfigurationOutcome

    init(_ invocation: Invocation, _ begin: Beginning) {
        self.begin = begin
        load = { invocation.loadConfiguration() }
        checkArguments =
            ["cutover", "check"]
            + configurationFlags.flatMap { flag in invocation.value(flag.name).map { ["--\(flag.name)", $0] } ?? [] }
    }

    /// Returns when the new program is refused, and nothing has changed (nil), or when somebody has asked for the end meanwhile (exit
    /// status). Else never.
    func run(_ server: GatewayServer) -> Int32? {
        let program = begin.program
        logLine("upgrade: asking \(program) whether it can serve")
        let check = runProgram(program, checkArguments, milliseconds: Upgrade.checkMilliseconds)
        guard check.isDone else {
            logLine("upgrade refused, nothing was changed: \(program) check: \(check.reason)")
            for line in check.output.split(separator: "\n").prefix(50) { logLine(String(line)) }
            return nil
        }
        let obstacles = obstacles(server)
        guard obstacles.isEmpty else {
            logLine("upgrade refused, nothing was changed: with the configuration as it is now no program could start:")
            for line in obstacles { logLine(line) }
            return nil
        }
        // Opened before the drain: there may be no other way back.
        let former = clinux_open("/proc/self/exe", O_RDONLY, 0)
        logLine("upgrade: draining")
        let ending = EndingSignals()
        let isClean = server.stop(handsOver: true)
        if ending.stopListening() {
            logLine("stopped, as asked for during the upgrade")
            return isClean ? ExitStatus.done : ExitStatus.refused
        }
        logLine("upgrade: \(program) takes over")
        let failure = replaceProcess(
            by: program, arguments: CommandLine.arguments, sockets: begin.sockets.held,
            formerProgram: former >= 0 ? former : nil, manager: begin.manager)
        logLine("upgrade: \(program) cannot be run: \(failure); this program goes on")
        begin.startAnew()
    }

    /// What the configuration asks for and cannot be had. `check` looks at the text alone, and the way back would read the same text.
    private func obstacles(_ server: GatewayServer) -> [String] {
        switch load() {
        case .ok(let settings, _): return server.obstacles(to: settings)
        case .errors:
            // It has keys that only the new program knows.
            logLine("upgrade: \(begin.program) accepts a configuration that this one cannot read: it is not tried out")
            return []
        }
    }

    /// How long the new program may take for `check`; it is killed then.
    private static let checkMilliseconds: Int64 = 30_000
}

/// Where this program was found, absolute: a link in it may name another version later, and so may the file.
func programPath(_ environment: [String: String]) -> String {
    let name = CommandLine.arguments.first ?? ""
    if name.contains("/") {
        guard !name.hasPrefix("/"), let directory = getcwd(nil, 0) else { return name }
        defer { free(directory) }
        return String(cString: directory) + "/" + name
    }
    for directory in (environment["PATH"] ?? "").split(separator: ":") where !name.isEmpty {
        let path = "\(directory)/\(name)"
        if access(path, X_OK) == 0 { return path }
    }
    return "/proc/self/exe"
}

/// Signals that ask for the end while an upgrade drains: the first one makes a stop of it, a second one ends the process at once.
private final class EndingSignals: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let wasAsked = Atomic<Bool>(false)
    private let ended = CountDown(1)

    init() {
        startThread(name: "signals") { [self] in
            var signals = sigset_t()
            sigemptyset(&signals)
            for signal in [SIGTERM, SIGINT, SIGUSR2] { sigaddset(&signals, signal) }
            while true {
                var signal: Int32 = 0
                guard sigwait(&signals, &signal) == 0 else { continue }
                if signal != SIGUSR2 {
                    if wasAsked.exchange(true, ordering: .sequentiallyConsistent) { _exit(1) }
                } else if isOver.load(ordering: .sequentiallyConsistent) {
                    return ended.one()
                }
            }
        }
    }

    /// From now on they stay pending, for whoever comes next.
    /// - Returns: whether one of them has come.
    func stopListening() -> Bool {
        isOver.store(true, ordering: .sequentiallyConsistent)
        // Blocked everywhere, so that it reaches the thread above.
        kill(getpid(), SIGUSR2)
        _ = ended.wait(milliseconds: 5_000)
        var pending = sigset_t()
        sigpending(&pending)
        return wasAsked.load(ordering: .sequentiallyConsistent) || sigismember(&pending, SIGTERM) == 1
            || sigismember(&pending, SIGINT) == 1
    }
}

import CLinux
import Gateway
import JournalThreads
import Synchronization

/// Tells the service manager that the gateway is alive, only when everything that clients wait for has just shown it: each loop, the
/// admin listener's included, and the journal's thread. When one does not answer, nothing is told, and the service manager ends the
/// process after its interval.
final class Watchdog: Sendable {
    private let parts: GatewayParts
    private let admin: LocalService
    private let manager: ServiceManager
    /// Until when loops and journal need not answer, because they come to their end: monotonic milliseconds, 0 while they are to.
    private let endingUntil = Atomic<Int64>(0)

    init(_ parts: GatewayParts, _ admin: LocalService, _ manager: ServiceManager) {
        self.parts = parts
        self.admin = admin
        self.manager = manager
    }

    /// Begins, on a thread of its own, where the service manager wants to hear anything.
    func start() {
        guard let interval = manager.watchdogMilliseconds else { return }
        startThread(name: "watchdog") { [self] in
            while true { round(milliseconds: max(1, interval / 2)) }
        }
    }

    /// The gateway drains: that takes no longer than this, or it hangs.
    func ends(withinMilliseconds limit: Int64) {
        endingUntil.store(monotonicMilliseconds + limit, ordering: .relaxed)
    }

    /// Asks everybody, waits for them, and tells: once in this time, which is half of what the service manager allows.
    private func round(milliseconds: Int64) {
        let began = monotonicMilliseconds
        let silent = Silent()
        for (name, ask) in everybody {
            silent.add(name)
            ask { silent.remove(name) }
        }
        while !isEnding, !silent.isEmpty {
            if monotonicMilliseconds - began > milliseconds, let names = silent.namesOnce() {
                logLine(
                    "watchdog: no answer from \(names) within \(milliseconds) ms; the service manager is told nothing")
            }
            usleep(UInt32(clamping: min(20, milliseconds) * 1000))
        }
        guard !isEnding || monotonicMilliseconds < endingUntil.load(ordering: .relaxed) else {
            return sleepMilliseconds(milliseconds)
        }
        manager.isAlive()
        sleepMilliseconds(milliseconds - (monotonicMilliseconds - began))
    }

    private var isEnding: Bool { endingUntil.load(ordering: .relaxed) != 0 }

    /// Who has to answer, and how each is asked.
    private var everybody: [(name: String, ask: (@escaping @Sendable () -> Void) -> Void)] {
        var all: [(name: String, ask: (@escaping @Sendable () -> Void) -> Void)] = []
        for index in 0..<parts.dataPlane.metrics.count {
            all.append(("loop \(index)", { [parts] in parts.dataPlane.ask(loop: index, $0) }))
        }
        all.append(("the admin listener", { [admin] in admin.ask($0) }))
        all.append(("the journal", { [parts] answered in parts.journal.writer.perform { _ in answered() } }))
        return all
    }

    private func sleepMilliseconds(_ milliseconds: Int64) {
        guard milliseconds > 0 else { return }
        usleep(UInt32(clamping: milliseconds * 1000))
    }
}

/// Those who have not answered yet.
private final class Silent: Sendable {
    private let state = Mutex((names: Set<String>(), wasTold: false))

    func add(_ name: String) { state.withLock { _ = $0.names.insert(name) } }
    func remove(_ name: String) { state.withLock { _ = $0.names.remove(name) } }
    var isEmpty: Bool { state.withLock { $0.names.isEmpty } }

    /// Their names, at the first call only.
    func namesOnce() -> String? {
        state.withLock { state in
            defer { state.wasTold = true }
            return state.wasTold || state.names.isEmpty ? nil : state.names.sorted().joined(separator: ", ")
        }
    }
}

import CLinux
import Gateway
import Synchronization

/// What the service manager that has started this process is told (sd_notify(3)): a datagram for each change of state. Nobody listens
/// where `NOTIFY_SOCKET` is not set; then nothing is done. Safe from any thread but a loop's: a datagram may wait a second for room.
package final class ServiceManager: Sendable {
    /// The variables that tell of it. They are for this process alone: whoever has read them takes them out of the environment.
    package static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    /// Those that were set, for a process that replaces this one.
    package let environment: [String: String]
    /// How often it wants to hear that this process is alive, in milliseconds; nil: never.
    package let watchdogMilliseconds: Int64?
    private let socket: String?
    private let hasFailed = Atomic<Bool>(false)

    /// - Parameters:
    ///   - environment: the process's own.
    ///   - pid: the process's own; a watchdog of another process is none of ours.
    package init(environment: [String: String] = [:], pid: Int32 = getpid()) {
        self.environment = environment.filter { ServiceManager.variables.contains($0.key) }
        socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(pid)" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdogMilliseconds = isOurs && socket != nil && microseconds > 0 ? max(1, microseconds / 1000) : nil
    }

    /// The gateway serves, after its start or a reload.
    package func ready(_ status: String) { tell(["READY=1", "STATUS=\(status)"]) }

    /// The gateway takes something over and will be ready again.
    package func reloading(_ status: String) {
        tell(["RELOADING=1", "MONOTONIC_USEC=\(clinux_monotonic_nanoseconds() / 1000)", "STATUS=\(status)"])
    }

    /// The gateway comes to its end, within so many milliseconds.
    package func stopping(_ status: String, withinMilliseconds: Int64) {
        tell(["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(withinMilliseconds * 1000)", "STATUS=\(status)"])
    }

    /// The gateway is not stuck.
    func isAlive() { tell(["WATCHDOG=1"]) }

    private func tell(_ lines: [String]) {
        guard let socket else { return }
        var text = lines.joined(separator: "\n")
        let result = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { clinux_send_datagram(socket, $0.baseAddress, $0.count) }
        }
        guard result < 0, !hasFailed.exchange(true, ordering: .relaxed) else { return }
        logLine("the service manager cannot be told of this process: \(String(cString: strerror(-result)))")
    }
}

import CLinux
import Glibc

/// What came of a program that was run.
struct ProgramOutcome {
    /// It ended by itself, with 0.
    var isDone: Bool
    /// Why not, in words.
    var reason: String
    /// What it wrote, on both outputs; the beginning.
    var output: String
}

/// Runs a program without input and waits for its end.
/// - Parameters:
///   - arguments: its name first.
///   - milliseconds: it is killed then.
func runProgram(_ path: String, _ arguments: [String], milliseconds: Int64) -> ProgramOutcome {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return ProgramOutcome(isDone: false, reason: systemMessage(errno), output: "") }
    for end in ends { _ = clinux_close_on_exec(end) }
    defer { close(ends[0]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    for output in [Int32(1), 2] { posix_spawn_file_actions_adddup2(&actions, ends[1], output) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // This process blocks signals that a child has to have.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var child = pid_t()
    let failure = posix_spawn(&child, path, &actions, &attributes, &pointers, environ)
    close(ends[1])
    guard failure == 0 else { return ProgramOutcome(isDone: false, reason: systemMessage(failure), output: "") }
    let (output, isInTime) = readAll(ends[0], milliseconds: milliseconds)
    if !isInTime { kill(child, SIGKILL) }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    let text = String(decoding: output, as: UTF8.self)
    if !isInTime {
        return ProgramOutcome(isDone: false, reason: "no end within \(milliseconds / 1000) s", output: text)
    }
    let signal = status & 0x7F
    guard signal == 0 else { return ProgramOutcome(isDone: false, reason: "ended by signal \(signal)", output: text) }
    let code = status >> 8 & 0xFF
    return ProgramOutcome(isDone: code == 0, reason: "exit status \(code)", output: text)
}

/// Reads until the other end is closed; keeps 64 KiB.
private func readAll(_ descriptor: Int32, milliseconds: Int64) -> (bytes: [UInt8], isInTime: Bool) {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    let end = clinux_monotonic_nanoseconds() + UInt64(milliseconds) * 1_000_000
    while true {
        let now = clinux_monotonic_nanoseconds()
        if now >= end { return (bytes, false) }
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Int32((end - now) / 1_000_000 + 1)) > 0 else { continue }
        let count = read(descriptor, &part, part.count)
        if count <= 0 { return (bytes, true) }
        if bytes.count < 64 * 1024 { bytes.append(contentsOf: part[..<count]) }
    }
}

import CLinux
package import Gateway
import Glibc

/// Replaces this process by a run of a program, which gets the listening sockets: clients who connect meanwhile wait in the kernel.
/// The process keeps its id, so that a service manager sees no end. Blocked signals that have arrived stay for the new program.
///
/// - Parameters:
///   - program: path.
///   - arguments: all of them, the program's name first.
///   - sockets: what stays open.
///   - formerProgram: an open program to go back to, if the new one cannot start.
/// - Returns: only when it cannot be run: the system's words.
package func replaceProcess(
    by program: String, arguments: [String],
    sockets: [(descriptor: Int32, role: ListenRole, configured: String)], formerProgram: Int32? = nil,
    manager: ServiceManager
) -> String {
    let handover = PassedSockets.handover(
        sockets, pid: getpid(), formerProgram: formerProgram, formerVersion: productVersion)
    var variables = environmentLines() + manager.environment.map { "\($0.key)=\($0.value)" }
    variables.append("\(PassedSockets.handoverVariable)=\(handover)")
    var argumentPointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var variablePointers: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
    defer { for pointer in argumentPointers + variablePointers { free(pointer) } }
    let kept = sockets.map(\.descriptor) + (formerProgram.map { [$0] } ?? [])
    let failure = clinux_replace_process(program, &argumentPointers, &variablePointers, kept, Int32(kept.count))
    return String(cString: strerror(-failure))
}

private func environmentLines() -> [String] {
    var lines: [String] = []
    var entry = environ
    while let text = entry.pointee {
        lines.append(String(cString: text))
        entry += 1
    }
    return lines
}

import Glibc

/// A file that could not be read.
struct FileFailure: Error, Equatable {
    var path: String
    /// The system's words, such as `No such file or directory`.
    var reason: String

    var message: String { "cannot read \(path): \(reason)" }
}

/// Reads a whole file, or standard input for `-`.
func readWholeFile(_ path: String) throws(FileFailure) -> [UInt8] {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFailure(path: path, reason: systemMessage(errno)) }
    defer { if path != "-" { close(descriptor) } }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 256 * 1024)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count == 0 { return bytes }
        if count > 0 {
            bytes.append(contentsOf: chunk[..<count])
        } else if errno != EINTR {
            throw FileFailure(path: path, reason: systemMessage(errno))
        }
    }
}

/// The system's words for an error number.
func systemMessage(_ number: Int32) -> String {
    // strerror's text lives until the next call on this thread; it is copied at once.
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
}

/// The environment of the process.
func processEnvironment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
        let pair = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
        entry += 1
    }
    return variables
}

/// Waits; a signal may end the wait early.
func sleepMilliseconds(_ milliseconds: UInt32) {
    var time = timespec(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
    nanosleep(&time, nil)
}

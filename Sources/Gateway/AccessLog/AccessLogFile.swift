import CLinux
package import Configuration

/// Where the access log goes: a file, or one of the process's own streams. The only owner of its descriptor; used by the
/// writer's thread once that has it.
package final class AccessLogFile: @unchecked Sendable {
    /// What a pipe takes whole or not at all (PIPE_BUF, pipe(7)).
    private static let atomicBytes = 4096
    /// How long one wait for a reader lasts before it is asked whether to go on, in milliseconds.
    private static let patience: Int32 = 100

    private static let lineEnd: StaticString = "\n"

    private let destination: AccessLogSettings.Destination
    private var descriptor: Int32 = -1
    /// Takes any number of bytes at once without anybody having to wait for a reader.
    private var isRegular = true
    /// The last thing that was written is a part of a line.
    private var isTorn = false
    /// What went wrong last: told once, not for every line.
    private var problem: Int32 = 0

    /// - Throws: what keeps it from being opened, in words for an operator. That nobody reads a pipe yet is no error.
    package init(_ destination: AccessLogSettings.Destination) throws(AccessLogError) {
        self.destination = destination
        let problem = open()
        if problem != 0, problem != ENXIO {
            throw AccessLogError(text: "access_log.file: cannot open \(name): \(String(cString: strerror(problem)))")
        }
    }

    deinit { shut() }

    private var name: String {
        switch destination {
        case .file(let path): path
        case .standardOutput: "stdout"
        case .standardError: "stderr"
        }
    }

    /// - Returns: 0, or the error.
    private func open() -> Int32 {
        let opened: Int32
        switch destination {
        case .standardOutput: opened = 1
        case .standardError: opened = 2
        case .file(let path):
            // Not to wait for somebody at the other end of a pipe; a plain file does not care.
            opened = clinux_open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0o640)
        }
        guard opened >= 0 else { return -opened }
        var status = stat()
        isRegular = fstat(opened, &status) == 0 && status.st_mode & 0o170000 == 0o100000
        descriptor = opened
        return 0
    }

    private func shut() {
        if descriptor > 2 { close(descriptor) }
        descriptor = -1
    }

    /// The file was renamed: opens it anew by its name. What cannot be opened leaves the old one in use.
    func reopen(log: (String) -> Void) {
        guard case .file = destination else { return }
        let old = descriptor
        descriptor = -1
        let problem = open()
        guard problem != 0, problem != ENXIO else {
            if old >= 0 { close(old) }
            isTorn = false
            return
        }
        descriptor = old
        log("cannot open \(name) anew: \(String(cString: strerror(problem))); the old file stays in use")
    }

    /// Writes whole lines. Blocks while a pipe is full, until `givesUp` says so.
    /// - Returns: how many of the lines are in the file whole.
    func write(
        _ p: UnsafePointer<UInt8>, _ count: Int, lines: Int, givesUp: () -> Bool, log: (String) -> Void
    ) -> Int {
        if descriptor < 0 {
            let problem = open()
            guard problem == 0 else {
                tell(problem, log)
                return 0
            }
        }
        var at = 0
        var error: Int32 = 0
        if isTorn {
            error = put(AccessLogFile.lineEnd.utf8Start, 1, givesUp).error
            isTorn = error != 0
        }
        while error == 0, at < count {
            let part = isRegular ? count - at : wholeLines(p + at, count - at)
            let (written, failure) = put(p + at, part, givesUp)
            at += written
            error = failure
        }
        if at > 0 { isTorn = p[at - 1] != 10 }
        if error == EPIPE { shut() }
        tell(error, log)
        return at == count ? lines : newlines(p, at)
    }

    /// As many whole lines as a pipe takes at once; a line is never longer than that.
    private func wholeLines(_ p: UnsafePointer<UInt8>, _ count: Int) -> Int {
        guard count > AccessLogFile.atomicBytes else { return count }
        var end = AccessLogFile.atomicBytes
        while end > 0, p[end - 1] != 10 { end -= 1 }
        return end > 0 ? end : AccessLogFile.atomicBytes
    }

    private func put(_ p: UnsafePointer<UInt8>, _ count: Int, _ givesUp: () -> Bool) -> (written: Int, error: Int32) {
        while true {
            if !isRegular {
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                if CLinux.poll(&poll, 1, 0) == 0 {
                    if givesUp() { return (0, EAGAIN) }
                    if CLinux.poll(&poll, 1, AccessLogFile.patience) == 0 { continue }
                }
            }
            let written = CLinux.write(descriptor, p, count)
            if written >= 0 { return (written, 0) }
            let error = clinux_errno()
            if error == EINTR { continue }
            guard error == EAGAIN else { return (0, error) }
            if givesUp() { return (0, error) }
            // The descriptor's room is less than a whole line: poll would not wait for that.
            usleep(5_000)
        }
    }

    private func newlines(_ p: UnsafePointer<UInt8>, _ count: Int) -> Int {
        var lines = 0
        for i in 0..<count where p[i] == 10 { lines += 1 }
        return lines
    }

    private func tell(_ error: Int32, _ log: (String) -> Void) {
        // Whoever gave up a wait was told to.
        guard error != problem, error != EAGAIN else { return }
        problem = error
        if error == 0 { return log("\(name) takes lines again") }
        log("\(name) does not take lines: \(String(cString: strerror(error))); they are dropped and counted")
    }
}

/// An access log that cannot be used.
package struct AccessLogError: Error, Sendable {
    package let text: String

    package init(text: String) { self.text = text }
}

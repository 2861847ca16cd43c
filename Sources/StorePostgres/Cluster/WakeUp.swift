internal import Glibc
internal import Journal

/// A descriptor that ends a wait in `poll`. Safe from any thread.
final class WakeUp: Sendable {
    /// Readable once `signal` was called.
    let descriptor: Int32
    private let writing: Int32

    init() throws(JournalError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw JournalError(.other, "cannot make a pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends {
            // Neither a full nor an empty pipe may hold a thread up.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (descriptor, writing) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writing)
    }

    func signal() {
        var byte: UInt8 = 1
        _ = write(writing, &byte, 1)
    }

    /// Waits for a signal, at most for so long.
    func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}

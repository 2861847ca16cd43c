import CLinux
import Synchronization

/// Starts a detached thread that runs `body`.
package func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
    final class Start {
        let name: String
        let body: @Sendable () -> Void
        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(name, body)).toOpaque()
    let status = pthread_create(
        &thread, nil,
        { @Sendable pointer in
            guard let pointer else { return nil }
            let start = Unmanaged<Start>.fromOpaque(pointer).takeRetainedValue()
            clinux_name_thread(start.name)
            start.body()
            return nil
        }, start)
    precondition(status == 0, "cannot start the thread \(name)")
    pthread_detach(thread)
}

/// Waits until a number of things have happened. For control-plane threads; a loop never waits on it.
package final class CountDown: Sendable {
    private let left: Mutex<Int>
    private let event: Int32

    package init(_ count: Int) {
        left = Mutex(count)
        event = clinux_eventfd()
    }

    deinit { close(event) }

    /// One of them has happened. Any thread.
    package func one() {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { clinux_eventfd_signal(event) }
    }

    /// Blocks until all have happened or the time is over.
    package func wait(milliseconds: Int64) -> Bool {
        var poll = pollfd(fd: event, events: Int16(POLLIN), revents: 0)
        let end = clinux_monotonic_nanoseconds() + UInt64(max(0, milliseconds)) * 1_000_000
        while left.withLock({ $0 > 0 }) {
            let now = clinux_monotonic_nanoseconds()
            if now >= end { return false }
            _ = CLinux.poll(&poll, 1, Int32((end - now + 999_999) / 1_000_000))
        }
        return true
    }
}

import CLinux
import Synchronization

/// What a thread sleeps on until somebody has something for it. The descriptor is made when somebody first sleeps: what is
/// not in use costs none.
package final class WakeUp: Sendable {
    private let descriptor = Atomic<Int32>(-1)

    package init() {}

    deinit {
        let descriptor = descriptor.load(ordering: .relaxed)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Wakes whoever sleeps, or will. Any thread; nothing where nobody has ever been going to sleep.
    package func signal() {
        let descriptor = descriptor.load(ordering: .acquiring)
        if descriptor >= 0 { clinux_eventfd_signal(descriptor) }
    }

    /// Has to come before the first signal that counts.
    package func prepare() {
        guard descriptor.load(ordering: .acquiring) < 0 else { return }
        let made = clinux_eventfd()
        let (isOurs, _) = descriptor.compareExchange(expected: -1, desired: made, ordering: .acquiringAndReleasing)
        if !isOurs, made >= 0 { close(made) }
    }

    /// Sleeps until somebody signals, or so many milliseconds have passed; -1: for ever. One thread.
    package func sleep(milliseconds: Int64) {
        prepare()
        let descriptor = descriptor.load(ordering: .acquiring)
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = CLinux.poll(&poll, 1, Int32(clamping: milliseconds))
        clinux_eventfd_drain(descriptor)
    }
}

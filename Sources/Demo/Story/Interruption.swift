internal import Glibc
internal import Synchronization

private let wasInterrupted = Atomic<Bool>(false)

/// Ctrl-C as a wish that the story looks at, so that the temporary files are deleted.
enum Interruption {
    static var isWanted: Bool { wasInterrupted.load(ordering: .relaxed) }

    /// Catches SIGINT and SIGTERM from now on; the second one ends the process at once.
    static func watch() {
        // The flag is made now: a signal handler must not be the first to touch it.
        _ = isWanted
        for number in [SIGINT, SIGTERM] {
            signal(number) { number in
                if wasInterrupted.exchange(true, ordering: .relaxed) { _exit(128 + number) }
            }
        }
    }
}

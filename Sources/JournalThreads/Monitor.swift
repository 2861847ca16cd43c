internal import Glibc
internal import Synchronization

/// A lock with a condition, for the queues of the journal's threads. A plain pthread pair: the sections are short, but many
/// threads meet here, and a priority-inheritance lock collapses under that.
package final class Monitor: @unchecked Sendable {
    // Allocated once, because a pthread object must never move.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Waiting must not notice a stepped wall clock.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func locked<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Waits to be woken; call it inside `locked`. May return early: test the condition again.
    package func wait() { pthread_cond_wait(condition, mutex) }

    /// Waits to be woken, at most until a monotonic instant in nanoseconds; call it inside `locked`.
    package func wait(until deadline: UInt64) {
        var instant = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        pthread_cond_timedwait(condition, mutex, &instant)
    }

    package func wakeAll() { pthread_cond_broadcast(condition) }
}

/// A thread that runs one closure and can be waited for.
package final class Thread: @unchecked Sendable {
    private let handle: pthread_t
    private let isJoined = Atomic<Bool>(false)

    /// - Parameter name: at most 15 bytes, as `top -H` shows it.
    package init(name: String, _ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            let name: String
            init(_ name: String, _ body: @escaping @Sendable () -> Void) {
                self.name = name
                self.body = body
            }
        }
        // The box travels through a C pointer: retained here, released by the thread.
        let box = Unmanaged.passRetained(Box(name, body)).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { pointer in
                guard let pointer else { return nil }
                let box = Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue()
                Thread.nameThisThread(box.name)
                box.body()
                return nil
            }, box)
        precondition(code == 0, "cannot create the thread \(name): error \(code)")
        handle = thread
    }

    /// `pthread_setname_np` hides behind _GNU_SOURCE; the kernel takes the name through its file, too.
    private static func nameThisThread(_ name: String) {
        let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        let bytes = Array(name.utf8)
        _ = write(descriptor, bytes, bytes.count)
        Glibc.close(descriptor)
    }

    /// Waits for its end. Once.
    package func join() {
        isJoined.store(true, ordering: .relaxed)
        pthread_join(handle, nil)
    }

    /// What nobody waits for would keep its stack after its end.
    deinit { if !isJoined.load(ordering: .relaxed) { pthread_detach(handle) } }
}

import Gateway
import Synchronization

/// Runs asynchronous work and blocks the calling thread until it is done. For start-up and shutdown, and for threads of their own.
package func waitFor<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
    let done = CountDown(1)
    let holder = WaitBox<Value>()
    Task.detached {
        let value = await work()
        holder.set(value)
        done.one()
    }
    while !done.wait(milliseconds: 60_000) {}
    return holder.take()
}

private final class WaitBox<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ new: Value) { value.withLock { $0 = new } }
    func take() -> Value {
        guard let value = value.withLock({ $0 }) else { preconditionFailure("the work has not been done") }
        return value
    }
}

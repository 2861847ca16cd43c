internal import JournalThreads
internal import Synchronization

/// Collects what threads report, and waits for it.
package final class Collector<Item: Sendable>: Sendable {
    private let items = Mutex<[Item]>([])
    private let pending = Monitor()

    package init() {}

    package func add(_ item: Item) {
        items.withLock { $0.append(item) }
        pending.locked { pending.wakeAll() }
    }

    package var all: [Item] { items.withLock { $0 } }

    /// Blocks until there are `count` items.
    package func wait(for count: Int) -> [Item] {
        pending.locked { while items.withLock({ $0.count }) < count { pending.wait() } }
        return all
    }
}

/// Binary heap of one-shot timers. Confined to its loop's thread.
struct TimerHeap {
    private struct Timer {
        var due: UInt64
        var order: UInt64
        var action: () -> Void
    }
    private var timers: [Timer] = []
    private var nextOrder: UInt64 = 0

    var earliest: UInt64? { timers.first?.due }
    var count: Int { timers.count }

    mutating func add(due: UInt64, _ action: @escaping () -> Void) {
        timers.append(Timer(due: due, order: nextOrder, action: action))
        nextOrder += 1
        var child = timers.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(child, parent) else { return }
            timers.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes and returns the first timer that is due at `now`.
    mutating func popDue(_ now: UInt64) -> (() -> Void)? {
        guard let first = timers.first, first.due <= now else { return nil }
        timers.swapAt(0, timers.count - 1)
        timers.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2] where child < timers.count && precedes(child, least) {
                least = child
            }
            if least == parent { return first.action }
            timers.swapAt(parent, least)
            parent = least
        }
    }

    private func precedes(_ a: Int, _ b: Int) -> Bool {
        (timers[a].due, timers[a].order) < (timers[b].due, timers[b].order)
    }
}

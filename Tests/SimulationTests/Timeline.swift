import CLinux

/// Played time: nothing passes but what the simulation lets pass, and what is to happen happens in the order of its instant.
/// Plays the clocks of the thread that it is used on.
final class Timeline {
    private struct Event {
        var at: UInt64
        var order: UInt64
        var action: () -> Void
    }

    /// Monotonic, in nanoseconds.
    private(set) var now: UInt64 = 1_000_000_000_000
    /// The wall clock in milliseconds at monotonic zero: stepping it moves the wall clock only.
    private var wallOffset: Int64 = 1_700_000_000_000
    private var heap: [Event] = []
    private var order: UInt64 = 0

    init() { play() }

    /// Gives the thread its real clocks back, and lets go of whoever still waits for something.
    func end() {
        heap = []
        clinux_play_clock(0, 0)
    }

    /// Milliseconds since 1970.
    var wall: Int64 { wallOffset + Int64(now / 1_000_000) }

    /// When the first event is due, in nanoseconds.
    var next: UInt64? { heap.first?.at }

    /// Lets time pass up to an instant; earlier ones change nothing.
    func advance(to instant: UInt64) {
        now = max(now, instant)
        play()
    }

    func stepWall(byMilliseconds step: Int64) {
        wallOffset += step
        play()
    }

    func after(milliseconds: Int, _ action: @escaping () -> Void) { after(microseconds: milliseconds * 1000, action) }

    func after(microseconds: Int, _ action: @escaping () -> Void) {
        heap.append(Event(at: now + UInt64(max(0, microseconds)) * 1000, order: order, action: action))
        order += 1
        var child = heap.count - 1
        while child > 0, precedes(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes the first event out when it is due.
    func popDue() -> (() -> Void)? {
        guard let first = heap.first, first.at <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2] where child < heap.count && precedes(child, least) {
                least = child
            }
            if least == parent { return first.action }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func precedes(_ one: Int, _ other: Int) -> Bool {
        (heap[one].at, heap[one].order) < (heap[other].at, heap[other].order)
    }

    private func play() { clinux_play_clock(now, wall) }
}

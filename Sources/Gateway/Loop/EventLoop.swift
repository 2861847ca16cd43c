import CLinux
import Synchronization

/// One epoll instance driven by one thread, and the executor of the tasks that live on it, so that `async` code runs
/// on that very thread, next to its sockets.
///
/// Everything but `enqueue`, `execute` and `stop` is confined to the loop's thread.
package final class EventLoop: TaskExecutor, @unchecked Sendable {
    private struct Slot {
        var channel: Unmanaged<Channel>?
        var generation: UInt32
    }

    /// Work that other threads hand in.
    private struct Inbox: ~Copyable {
        var jobs: [UnownedJob] = []
        var actions: [@Sendable () -> Void] = []
    }

    private let epoll: Int32
    private let wakeup: Int32
    private var jobs = JobQueue()
    private let inbox = Mutex(Inbox())
    /// False while the loop is known to look at its inbox before it sleeps: then nobody needs to wake it.
    private let inboxSignalled = Atomic<Bool>(false)
    /// Who drives the loop; 0 for nobody. Others may ask while it begins or ends: what they find is somebody else in any case.
    private let thread = Atomic<pthread_t>(0)
    private var stopping = false

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var graveyard: [Channel] = []
    private var wheel: DeadlineWheel
    private var timers = TimerHeap()
    /// Tasks that go on after the next look at the sockets.
    private var yielded: [UnsafeContinuation<Void, Never>] = []
    /// Milliseconds of the monotonic clock, refreshed once per turn of the loop.
    private(set) var now: UInt64
    /// Since when this turn has taken, or waited, so much longer than it should that the process must have been stopped; nil for an
    /// ordinary turn. In milliseconds of the monotonic clock.
    private var standstill: UInt64?
    /// Blocks of connection buffers between uses.
    let blocks = BlockPool()
    /// State of this loop's random numbers (request ids, jitter); never for secrets.
    var random = LoopRandom()

    private static let wakeupTag = UInt64.max

    package init() {
        epoll = clinux_epoll_create()
        wakeup = clinux_eventfd()
        precondition(epoll >= 0 && wakeup >= 0, "cannot create an epoll instance: out of descriptors")
        now = clinux_monotonic_nanoseconds() / 1_000_000
        wheel = DeadlineWheel(now: now)
        _ = clinux_epoll_add(epoll, wakeup, EPOLLIN.rawValue, EventLoop.wakeupTag)
    }

    deinit {
        close(epoll)
        close(wakeup)
    }

    // MARK: From any thread

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
        } else {
            inbox.withLock { $0.jobs.append(job) }
            signal()
        }
    }

    /// Runs `action` on the loop's thread in one of its next turns.
    package func execute(_ action: @escaping @Sendable () -> Void) {
        inbox.withLock { $0.actions.append(action) }
        signal()
    }

    /// Makes `run` return after the current turn.
    package func stop() { execute { [unowned self] in self.stopping = true } }

    private var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    private func signal() {
        if !inboxSignalled.exchange(true, ordering: .acquiringAndReleasing) { clinux_eventfd_signal(wakeup) }
    }

    private func drainInbox() {
        clinux_eventfd_drain(wakeup)
        inboxSignalled.store(false, ordering: .sequentiallyConsistent)
        var actions: [@Sendable () -> Void] = []
        inbox.withLock { inbox in
            for job in inbox.jobs { jobs.append(job) }
            inbox.jobs.removeAll(keepingCapacity: true)
            swap(&actions, &inbox.actions)
        }
        for action in actions { action() }
    }

    // MARK: Channels

    /// What is heard of a connection.
    static let talking = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
    /// What is heard of a listening descriptor: one loop at a time hears of a client, where several share it.
    static let listening = EPOLLIN.rawValue | EPOLLET.rawValue | EPOLLEXCLUSIVE.rawValue

    func add(_ channel: Channel, for events: UInt32 = EventLoop.talking) {
        let index: Int
        if let free = freeSlots.popLast() {
            index = free
        } else {
            index = slots.count
            slots.append(Slot(channel: nil, generation: 0))
        }
        slots[index].channel = Unmanaged.passRetained(channel)
        channel.slot = index
        // What has no descriptor hears only from its owner and of its deadlines.
        if channel.fd >= 0 { _ = clinux_epoll_add(epoll, channel.fd, events, tag(of: index)) }
    }

    private func tag(of index: Int) -> UInt64 { UInt64(slots[index].generation) << 32 | UInt64(index) }

    /// Nothing more is heard of a listening descriptor. Closing it would not do: the socket lives on where another process or
    /// another loop has it, and epoll goes by the socket.
    func ignore(_ listener: Channel) { _ = clinux_epoll_remove(epoll, listener.fd) }

    /// Puts this loop behind all others that share the listening descriptor: the kernel wakes the first that sleeps, so that
    /// one loop would get every client of a quiet hour. What waits already is heard of once more.
    func stepBack(_ listener: Channel) {
        guard listener.slot >= 0 else { return }
        _ = clinux_epoll_remove(epoll, listener.fd)
        _ = clinux_epoll_add(epoll, listener.fd, EventLoop.listening, tag(of: listener.slot))
    }

    /// Closes the descriptor now. Events of this batch that still name it are recognised by their generation.
    func close(_ channel: Channel) {
        let index = channel.slot
        guard index >= 0 else { return }
        channel.slot = -1
        channel.deadline = 0
        channel.wheelTick = 0
        channel.place = nil
        if channel.fd >= 0 { close(channel.fd) }
        slots[index].generation &+= 1
        if let held = slots[index].channel { graveyard.append(held.takeRetainedValue()) }
        slots[index].channel = nil
        freeSlots.append(index)
    }

    /// `new`, made for the same descriptor, takes the place of `old`: edges and the deadline are its own from now on.
    func hand(over old: Channel, to new: Channel) {
        let index = old.slot
        (new.slot, new.deadline, new.wheelTick) = (index, old.deadline, old.wheelTick)
        (old.slot, old.deadline, old.wheelTick) = (-1, 0, 0)
        swap(&old.place, &new.place)
        if let held = slots[index].channel { graveyard.append(held.takeRetainedValue()) }
        slots[index].channel = Unmanaged.passRetained(new)
    }

    private func close(_ descriptor: Int32) { _ = CLinux.close(descriptor) }

    /// Calls `channel.timedOut()` in `milliseconds`, to about 32 ms; replaces an earlier deadline.
    @inline(__always)
    func setDeadline(_ channel: Channel, _ milliseconds: Int64) {
        let deadline = now &+ UInt64(milliseconds)
        channel.deadline = deadline
        let tick = DeadlineWheel.tick(of: deadline)
        if channel.wheelTick == 0 || tick < channel.wheelTick { schedule(channel, tick) }
    }

    private func schedule(_ channel: Channel, _ tick: UInt64) {
        guard channel.slot >= 0 else { return }
        let entry = DeadlineWheel.Entry(slot: channel.slot, generation: slots[channel.slot].generation)
        channel.wheelTick = wheel.insert(entry, tick: tick)
    }

    // MARK: Timers

    /// Runs `action` on this loop after `milliseconds`.
    func schedule(after milliseconds: Int64, _ action: @escaping () -> Void) {
        timers.add(due: now &+ UInt64(max(0, milliseconds)), action)
    }

    /// Suspends the task for `milliseconds`.
    func sleep(_ milliseconds: Int64) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            schedule(after: milliseconds) { continuation.resume() }
        }
    }

    /// Lets everybody else on this loop have a turn.
    func yield() async {
        await withUnsafeContinuation { yielded.append($0) }
    }

    // MARK: The loop

    /// Drives the loop on the calling thread until `stop()`.
    package func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        let executor = asUnownedTaskExecutor()
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Int(EventLoop.eventsPerTurn))
        defer { events.deallocate() }
        while !stopping { _ = turn(executor, events, mayWait: true) }
        thread.store(0, ordering: .relaxed)
    }

    /// What one look at the sockets takes at most; the rest comes with the next one.
    private static let eventsPerTurn: Int32 = 256

    /// All that is ready now: tasks, one look at the sockets, timers.
    /// - Returns: how many sockets had something to say.
    @inline(__always)
    private func turn(
        _ executor: UnownedTaskExecutor, _ events: UnsafeMutablePointer<epoll_event>, mayWait: Bool
    ) -> Int32 {
        while let job = jobs.popFirst() { job.runSynchronously(on: executor) }
        if !graveyard.isEmpty { graveyard.removeAll(keepingCapacity: true) }
        let wait = mayWait ? timeout() : 0
        let begin = mayWait ? clinux_monotonic_nanoseconds() / 1_000_000 : now
        let count = clinux_epoll_wait(epoll, events, EventLoop.eventsPerTurn, wait)
        if !yielded.isEmpty { resumeYielded() }
        let end = clinux_monotonic_nanoseconds() / 1_000_000
        if mayWait { standstill = stoodStill(began: begin, ended: end, wait: UInt64(wait)) ? now : nil }
        now = end
        for i in 0..<max(0, count) { dispatch(clinux_event_tag(events, i), clinux_event_mask(events, i)) }
        runTimers()
        return count
    }

    /// Work of a turn, or what it waits beyond its own time-out, that takes longer than this many milliseconds is a standstill.
    private static let standstillMilliseconds: UInt64 = 500

    /// Whether the process stood still since the clock was read last: a debugger, SIGSTOP, a virtual machine that was moved.
    private func stoodStill(began: UInt64, ended: UInt64, wait: UInt64) -> Bool {
        began &- now > EventLoop.standstillMilliseconds
            || ended &- began > wait &+ EventLoop.standstillMilliseconds
    }

    private func resumeYielded() {
        let tasks = yielded
        yielded.removeAll(keepingCapacity: true)
        for task in tasks { task.resume() }
    }

    private func dispatch(_ tag: UInt64, _ mask: UInt32) {
        if tag == EventLoop.wakeupTag { return drainInbox() }
        let index = Int(tag & 0xffff_ffff)
        guard index < slots.count, slots[index].generation == UInt32(tag >> 32), let held = slots[index].channel else {
            return
        }
        held._withUnsafeGuaranteedRef { $0.ready(mask) }
    }

    private func timeout() -> Int32 {
        if jobs.count > 0 || !yielded.isEmpty { return 0 }
        var wait: UInt64 = 60_000
        if let first = wheel.wait(from: now) { wait = min(wait, first) }
        if let first = timers.earliest { wait = min(wait, first > now ? first - now : 0) }
        return Int32(wait)
    }

    private func runTimers() {
        while let action = timers.popDue(now) { action() }
        wheel.advance(to: now) { entry, tick, wheel in
            guard slots[entry.slot].generation == entry.generation, let held = slots[entry.slot].channel else { return }
            let channel = held.takeUnretainedValue()
            guard channel.wheelTick == tick else { return }
            channel.wheelTick = 0
            if channel.deadline == 0 { return }
            if let standstill, channel.deadline > standstill, channel.deadline <= now {
                // Nobody could have been in time. What has arrived meanwhile was only just seen, and what was sent in this turn, with a
                // deadline by a clock that stood, has not even reached its peer.
                channel.deadline &+= now &- standstill
            }
            if channel.deadline <= now {
                channel.deadline = 0
                channel.timedOut()
            } else {
                channel.wheelTick = wheel.insert(entry, tick: DeadlineWheel.tick(of: channel.deadline))
            }
        }
    }
}

#if DEBUG
    // For tests that play the loop: no thread of its own, and time does not pass by itself.
    extension EventLoop {
        /// Takes the calling thread for the loop's own.
        func adoptThread() { thread.store(pthread_self(), ordering: .relaxed) }

        /// One turn that waits for nothing.
        /// - Returns: whether there was, or is, anything to do without waiting.
        func turnWithoutWaiting() -> Bool {
            let hadWork = jobs.count > 0 || !yielded.isEmpty || (timers.earliest.map { $0 <= now } ?? false)
            let count = withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Int(EventLoop.eventsPerTurn)) {
                guard let events = $0.baseAddress else { return 0 as Int32 }
                return turn(asUnownedTaskExecutor(), events, mayWait: false)
            }
            return hadWork || count > 0 || jobs.count > 0 || !yielded.isEmpty
        }

        /// When a timer or a deadline comes up next, in milliseconds of the monotonic clock; nil for never.
        var nextDue: UInt64? {
            let deadline = wheel.wait(from: now).map { now + $0 }
            return [deadline, timers.earliest].compactMap { $0 }.min()
        }

        /// Runs every timer, due or not: who sleeps on a loop that is given up comes to an end.
        func runAllTimers() { while let action = timers.popDue(.max) { action() } }

        /// Every registered channel.
        var channels: [Channel] { slots.compactMap { $0.channel?.takeUnretainedValue() } }
    }
#endif

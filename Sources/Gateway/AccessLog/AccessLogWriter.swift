import CLinux
import Synchronization

/// Whole lines on their way from a loop to the file. Owned by one at a time: a loop, the queue, the writer's thread.
final class AccessLogBlock: @unchecked Sendable {
    static let capacity = 64 * 1024
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: AccessLogBlock.capacity)
    var count = 0
    var lines = 0

    var free: Int { AccessLogBlock.capacity - count }

    func clear() {
        count = 0
        lines = 0
    }

    deinit { memory.deallocate() }
}

/// Writes the access log, on a thread of its own: neither a full disk nor a slow reader is ever waited for by a loop.
///
/// Limits: `blocksMax` blocks wait, 16 MiB; the lines of a block that comes then are dropped and counted, and so are those
/// that the file does not take.
package final class AccessLogWriter: Sendable {
    static let blocksMax = 256
    /// With more waiting than this, loops hand over only what is full.
    private static let behind = 8
    /// Free blocks that are kept.
    private static let keep = 16

    private struct State {
        var queue: [AccessLogBlock] = []
        var front = 0
        var free: [AccessLogBlock] = []
        /// Takes the place of the file that is written to.
        var next: AccessLogFile?
        var isRunning = false
        /// No line is waited for any more; nil: nobody has asked for the end.
        var endsAt: UInt64?

        var waiting: Int { queue.count - front }

        mutating func pop() -> AccessLogBlock? {
            guard front < queue.count else { return nil }
            front += 1
            let block = queue[front - 1]
            if front == queue.count {
                queue.removeAll(keepingCapacity: true)
                front = 0
            } else if front >= 64 {
                queue.removeFirst(front)
                front = 0
            }
            return block
        }
    }

    private let state = Mutex(State())
    private let waiting = Atomic<Int>(0)
    private let hasNews = Atomic<Bool>(false)
    private let isToReopen = Atomic<Bool>(false)
    private let wakeUp = WakeUp()
    private let hasEnded = Atomic<Bool>(false)
    private let firstKey = Atomic<UInt64>(0)
    private let secondKey = Atomic<UInt64>(0)
    private let written = Atomic<UInt64>(0)
    private let dropped = Atomic<UInt64>(0)
    private let log: @Sendable (String) -> Void

    package init(log: @escaping @Sendable (String) -> Void = { logLine($0) }) { self.log = log }

    // MARK: From the loops

    /// An empty block. Any thread.
    func takeBlock() -> AccessLogBlock { state.withLock { $0.free.popLast() } ?? AccessLogBlock() }

    /// Puts a block in line; drops its lines when there is no room. Never blocks. Any thread.
    func take(_ block: AccessLogBlock) {
        let isTaken = state.withLock { state in
            guard state.isRunning, state.waiting < AccessLogWriter.blocksMax else { return false }
            state.queue.append(block)
            waiting.store(state.waiting, ordering: .relaxed)
            return true
        }
        if isTaken { return wakeUp.signal() }
        drop(block.lines)
        giveBack(block)
    }

    /// Whether blocks wait, so that those which are not full may as well. Any thread.
    var isBehind: Bool { waiting.load(ordering: .relaxed) > AccessLogWriter.behind }

    /// What users' ids are hashed with.
    var userHash: SipHash { SipHash(firstKey.load(ordering: .relaxed), secondKey.load(ordering: .relaxed)) }

    private func giveBack(_ block: AccessLogBlock) {
        block.clear()
        state.withLock { if $0.free.count < AccessLogWriter.keep { $0.free.append(block) } }
    }

    private func drop(_ lines: Int) { dropped.add(UInt64(lines), ordering: .relaxed) }

    // MARK: From the control plane

    /// Lines written, and lines that were dropped, since the start.
    package var figures: (written: UInt64, dropped: UInt64) {
        (written.load(ordering: .relaxed), dropped.load(ordering: .relaxed))
    }

    /// Users' ids are hashed with what is made of this secret from now on.
    package func setKey(_ secret: [UInt8]) {
        let hash = SipHash(secret: secret)
        firstKey.store(hash.words.0, ordering: .relaxed)
        secondKey.store(hash.words.1, ordering: .relaxed)
    }

    /// Writes there from now on; what waits goes there, too.
    package func use(_ file: AccessLogFile) {
        wakeUp.prepare()
        let starts = state.withLock { state in
            state.next = file
            defer { state.isRunning = true }
            return !state.isRunning
        }
        hasNews.store(true, ordering: .releasing)
        if starts { startThread(name: "access-log") { [self] in run() } }
        wakeUp.signal()
    }

    /// Opens the file anew, because it was renamed: the lines that wait go to the new one.
    package func reopen() {
        isToReopen.store(true, ordering: .releasing)
        hasNews.store(true, ordering: .releasing)
        wakeUp.signal()
    }

    /// Writes what waits and ends the thread. Blocks for at most that long, whatever reads the file.
    package func finish(milliseconds limit: Int64) {
        let waits = state.withLock { state in
            guard state.isRunning, state.endsAt == nil else { return false }
            state.endsAt = clinux_monotonic_nanoseconds() + UInt64(limit) * 1_000_000
            return true
        }
        guard waits else { return }
        wakeUp.signal()
        let end = clinux_monotonic_nanoseconds() + UInt64(limit + 200) * 1_000_000
        while !hasEnded.load(ordering: .acquiring), clinux_monotonic_nanoseconds() < end { usleep(2_000) }
    }

    // MARK: The thread

    private enum Step {
        case write(AccessLogBlock)
        case wait
        case end
    }

    private func run() {
        var file: AccessLogFile?
        while true {
            if hasNews.exchange(false, ordering: .acquiringAndReleasing) {
                if let next = state.withLock({ $0.next.take() }) { file = next }
                if isToReopen.exchange(false, ordering: .acquiringAndReleasing) {
                    file?.reopen { log("access log: \($0)") }
                }
            }
            switch nextStep() {
            case .write(let block):
                write(block, to: file)
                giveBack(block)
            case .wait: wakeUp.sleep(milliseconds: -1)
            case .end: return hasEnded.store(true, ordering: .releasing)
            }
        }
    }

    private func nextStep() -> Step {
        state.withLock { state in
            if let block = state.pop() {
                waiting.store(state.waiting, ordering: .relaxed)
                return .write(block)
            }
            guard state.endsAt != nil else { return .wait }
            state.isRunning = false
            return .end
        }
    }

    private func write(_ block: AccessLogBlock, to file: AccessLogFile?) {
        guard let file else { return drop(block.lines) }
        let written = file.write(block.memory, block.count, lines: block.lines) { [self] in
            // Nobody is waited for any more, or somewhere else is to be written to.
            if hasNews.load(ordering: .acquiring) { return true }
            let end = state.withLock { $0.endsAt }
            return end.map { clinux_monotonic_nanoseconds() >= $0 } ?? false
        } log: {
            log("access log: \($0)")
        }
        self.written.add(UInt64(written), ordering: .relaxed)
        drop(block.lines - written)
    }
}

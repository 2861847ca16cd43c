internal import JournalThreads

/// Threads for what may wait for a disk or another service, each with what it works with: a connection, say. Safe from any thread.
package final class WorkThreads<Tool>: @unchecked Sendable {
    package typealias Work = @Sendable (Tool?) -> Void

    // Each tool belongs to its thread; the rest is only touched inside `monitor.locked`.
    private var tools: [Tool]
    private let name: String
    private let limit: Int
    private let monitor = Monitor()
    private var queue: [Work] = []
    private var turnedAway: Int64 = 0
    private var isClosing = false
    private var threads: [Thread] = []

    /// - Parameters:
    ///   - tools: one for each thread.
    ///   - limit: of what waits; more is turned away.
    package init(name: String, tools: sending [Tool], limit: Int) {
        self.name = name
        self.tools = tools
        self.limit = limit
    }

    package func start() {
        for index in tools.indices {
            let thread = Thread(name: "\(name)-\(index)") { [self] in run(index) }
            monitor.locked { threads.append(thread) }
        }
    }

    /// Queues work. It runs exactly once; without a tool when too much waits, or when the threads end.
    package func perform(_ work: @escaping Work) {
        let isTaken: Bool = monitor.locked {
            guard !isClosing, queue.count < limit else {
                turnedAway += 1
                return false
            }
            queue.append(work)
            monitor.wakeAll()
            return true
        }
        if !isTaken { work(nil) }
    }

    /// What waits, and what was turned away so far.
    package var figures: (waiting: Int, turnedAway: Int64) { monitor.locked { (queue.count, turnedAway) } }

    /// Does what is queued and ends the threads. Waits for them.
    package func close() {
        let ending: [Thread] = monitor.locked {
            isClosing = true
            monitor.wakeAll()
            defer { threads = [] }
            return threads
        }
        for thread in ending { thread.join() }
    }

    private func run(_ index: Int) {
        // Nobody changes the array between `init` and `close`.
        let tool = tools[index]
        while true {
            let work: Work? = monitor.locked {
                while queue.isEmpty, !isClosing { monitor.wait() }
                return queue.isEmpty ? nil : queue.removeFirst()
            }
            guard let work else { return }
            work(tool)
        }
    }
}

package import Journal

/// Reads on a connection and a thread of its own, so that a listing does not hold up a write. Safe from any thread.
package final class JournalReaderThread: @unchecked Sendable {
    package typealias Work = @Sendable (Result<any JournalReading, JournalError>) -> Void

    // The reader belongs to the thread; the rest is only touched inside `monitor.locked`.
    private var reader: (any JournalReading)?
    private let limit: Int
    private let monitor = Monitor()
    private var queue: [Work] = []
    private var isClosing = false
    private var thread: Thread?

    package init(reader: sending any JournalReading, limit: Int) {
        self.reader = reader
        self.limit = limit
    }

    package func start() {
        monitor.locked {
            precondition(thread == nil, "the journal's reader was started twice")
            thread = Thread(name: "journal-reader") { [self] in run() }
        }
    }

    /// Queues work. It runs exactly once; with a failure when the queue is full or the journal closed.
    package func perform(_ work: @escaping Work) {
        let refusal: JournalError? = monitor.locked {
            if isClosing { return JournalError(.closed, "the journal is closed") }
            guard queue.count < limit else { return JournalError(.busy, "too many reads wait for the journal") }
            queue.append(work)
            monitor.wakeAll()
            return nil
        }
        if let refusal { work(.failure(refusal)) }
    }

    /// Does what is queued and ends the thread. Waits for it.
    package func close() {
        let ending: Thread? = monitor.locked {
            isClosing = true
            monitor.wakeAll()
            defer { thread = nil }
            return thread
        }
        ending?.join()
        reader = nil
    }

    private func run() {
        guard let reader else { return }
        while true {
            let works: [Work] = monitor.locked {
                while queue.isEmpty, !isClosing { monitor.wait() }
                defer { queue = [] }
                return queue
            }
            if works.isEmpty { return }
            for work in works { work(.success(reader)) }
        }
    }
}

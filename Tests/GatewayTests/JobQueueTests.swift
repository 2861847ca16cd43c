import Synchronization
import Testing

@testable import Gateway

/// An executor that keeps its jobs instead of running them.
private final class Keeper: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    func take() -> [UnownedJob] {
        jobs.withLock { jobs in
            defer { jobs = [] }
            return jobs
        }
    }
}

@Test func jobsComeOutInTheOrderInWhichTheyWentInHoweverManyWait() {
    let keeper = Keeper()
    let ran = Record<Int>()
    var queue = JobQueue()
    var (entered, left) = (0, 0)
    // The queue wraps around, grows while it is wrapped, empties, and wraps again.
    for (arrivals, departures) in [(700, 600), (900, 100), (2000, 50), (3000, 5850), (10, 10), (1500, 1500)] {
        for number in entered..<(entered + arrivals) { Task(executorPreference: keeper) { ran.add(number) } }
        entered += arrivals
        for job in keeper.take() { queue.append(job) }
        for _ in 0..<departures {
            guard let job = queue.popFirst() else { break }
            job.runSynchronously(on: keeper.asUnownedTaskExecutor())
            left += 1
        }
        #expect(queue.count == entered - left)
    }
    #expect(left == entered && queue.popFirst() == nil)
    #expect(ran.all == Array(0..<entered))
}

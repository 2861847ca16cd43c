/// The announcements that wait to be seen by the others. Without I/O; instants are those of the monotonic clock, in
/// nanoseconds. Not thread-safe.
///
/// What is asked for while a round is being opened waits for the next one, because the others may have looked already.
package struct ClusterAnnouncements {
    package typealias Completion = @Sendable (Bool) -> Void

    package struct Waiting: Sendable {
        package var deadline: UInt64
        package var completion: Completion
    }

    private struct Round {
        var number: Int64
        var waiting: [Waiting]
    }

    private var queue: [Waiting] = []
    private var rounds: [Round] = []
    private var inRounds = 0

    package init() {}

    package var isEmpty: Bool { queue.isEmpty && rounds.isEmpty }
    /// Whether a round is to be opened.
    package var wantsRound: Bool { !queue.isEmpty }
    /// Whether a round waits to be seen.
    package var hasRounds: Bool { !rounds.isEmpty }

    /// Takes an announcement.
    /// - Returns: false when too many wait: its completion is the caller's to call.
    package mutating func add(now: UInt64, _ completion: @escaping Completion) -> Bool {
        guard queue.count + inRounds < ClusterLimits.waitingAnnouncements else { return false }
        queue.append(Waiting(deadline: now + ClusterTimes.announcementNanoseconds, completion: completion))
        return true
    }

    /// All that wait go into the round that is about to be opened.
    package mutating func takeForRound() -> [Waiting] {
        defer { queue = [] }
        inRounds += queue.count
        return queue
    }

    /// The store has given the round its number.
    package mutating func opened(_ number: Int64, _ waiting: [Waiting]) {
        rounds.append(Round(number: number, waiting: waiting))
    }

    /// The round could not be opened: its announcements wait on, first in line.
    package mutating func notOpened(_ waiting: [Waiting]) {
        inRounds -= waiting.count
        queue.insert(contentsOf: waiting, at: 0)
    }

    /// Every gateway that lives has seen the rounds up to this number.
    /// - Returns: whom to tell yes.
    package mutating func seen(upTo number: Int64) -> [Completion] {
        let done = rounds.filter { $0.number <= number }.flatMap(\.waiting)
        rounds.removeAll { $0.number <= number }
        inRounds -= done.count
        return done.map(\.completion)
    }

    /// - Returns: whom to tell no, because it took too long.
    package mutating func passed(_ now: UInt64) -> [Completion] {
        var late: [Completion] = []
        func split(_ waiting: inout [Waiting]) -> Int {
            let over = waiting.filter { $0.deadline <= now }
            guard !over.isEmpty else { return 0 }
            late += over.map(\.completion)
            waiting.removeAll { $0.deadline <= now }
            return over.count
        }
        _ = split(&queue)
        for index in rounds.indices { inRounds -= split(&rounds[index].waiting) }
        rounds.removeAll { $0.waiting.isEmpty }
        return late
    }

    /// The gateway leaves.
    /// - Returns: whom to tell no.
    package mutating func end() -> [Completion] { passed(.max) }

    /// The earliest instant at which somebody is to be told no; nil when nobody waits.
    package var deadline: UInt64? {
        // Those in rounds asked before those in the queue.
        rounds.first?.waiting.first?.deadline ?? queue.first?.deadline
    }
}

internal import Journal

/// What the cluster's working thread has to do, and what comes next. Without I/O; instants are those of the monotonic clock, in
/// nanoseconds. Not thread-safe.
struct ClusterAgenda {
    /// A gateway that is gone, or seems to be.
    struct Gone: Equatable {
        var id: Int64
        /// When its lease ended, as the observer saw it; nil: it has ended already.
        var expiresMicroseconds: Int64?
    }

    /// A takeover that is still to be told, in pages.
    struct Report {
        var number: Int64
        /// The transaction that takes over, while it is not known whether it did: its commit broke off.
        var uncertain: Int64?
        var after: Sequence64 = 0
    }

    /// How far an arrival is. The order matters: whoever answers clients alone must know of this gateway before it looks, or
    /// it could miss what they were told.
    enum Arrival: Equatable {
        /// First everything that was left behind is taken. At the start that includes leases that have run out: there was
        /// nobody to watch them, and clients may wait.
        case takeOver(takesExpired: Bool)
        /// Then the others are made to look at who is there.
        case announce
        /// They are given time to.
        case wait(number: Int64)
        /// Then what is outstanding at them is looked up.
        case lookUp
    }

    enum Job: Equatable {
        case takeOver([Gone])
        case arriveTakingOver(takesExpired: Bool)
        case report
        case lookUp
        case acknowledge
        case tellFailing
        case openRound
        case openArrival
        case check
        case watch
        case clean
    }

    struct Question {
        var version: Int64
        var deadline: UInt64
        var answer: @Sendable (Bool) -> Void
    }

    /// Announcements that the store has counted, as the last glance showed. What is looked up later covers them.
    var announcement: Int64 = 0
    /// Announcements that the store knows this gateway to have seen; nil: nothing, yet.
    var seen: Int64?
    var arrival: Arrival?
    var gone: [Gone] = []
    var reports: [Report] = []
    /// Whom to tell when what is outstanding at others has been looked up.
    var askers: [@Sendable (Bool) -> Void] = []
    /// When to look it up again; nil: nothing was outstanding.
    var lookUpAt: UInt64?
    /// The version of the shared state that this gateway knows, and the one that the store knows it to know.
    var acknowledged: Int64 = 0
    var storedAcknowledged: Int64 = 0
    /// The gates that fail at this gateway, and those that its row names; and what the row calls it.
    var failing: [String] = []
    var storedFailing: [String] = []
    var label = ""
    var announcements = ClusterAnnouncements()
    var questions: [Question] = []
    var watch = ClusterWatch()
    /// When to ask what the others have seen. A notification brings it forward.
    var checkAt: UInt64 = 0
    var cleanAt: UInt64 = 0
    /// After a failure.
    var pausedUntil: UInt64 = 0
    private var backoff = ClusterBackoff(ClusterTimes.retryNanoseconds)
    private var prefersSteady = false

    /// Questions that may wait; one more is answered no.
    static let questionLimit = 1_024
    /// Those who may wait for a look; one more is told no.
    static let askerLimit = 65_536
    /// Between two looks at what the others have seen, where no notification comes, in nanoseconds.
    static let checkNanoseconds: UInt64 = 50_000_000
    private static let cleanNanoseconds: UInt64 = 60_000_000_000

    /// This gateway has a new row, or a gap in its lease: nothing that was known of it holds.
    mutating func begin(_ arrival: Arrival, storedAcknowledged: Int64) {
        self.arrival = arrival
        self.storedAcknowledged = storedAcknowledged
        seen = nil
        lookUpAt = nil
    }

    /// This gateway was fenced: what it was about to do is somebody else's.
    mutating func abandon() {
        arrival = nil
        gone = []
        reports = []
        seen = nil
        lookUpAt = nil
    }

    /// The next job; nil: nothing is due.
    mutating func next(_ now: UInt64) -> Job? {
        guard now >= pausedUntil else { return nil }
        // What others wait for goes first, but every other time what this gateway has to do for itself: a steady stream of
        // announcements must not hold up a takeover.
        prefersSteady.toggle()
        return prefersSteady ? steady(now) ?? urgent(now) : urgent(now) ?? steady(now)
    }

    private func urgent(_ now: UInt64) -> Job? {
        if seen != announcement || !askers.isEmpty { return .lookUp }
        if acknowledged != storedAcknowledged { return .acknowledge }
        if failing != storedFailing { return .tellFailing }
        if announcements.wantsRound { return .openRound }
        if isChecking, now >= checkAt { return .check }
        return nil
    }

    private func steady(_ now: UInt64) -> Job? {
        if !reports.isEmpty { return .report }
        if !gone.isEmpty { return .takeOver(gone) }
        switch arrival {
        case .takeOver(let takesExpired): return .arriveTakingOver(takesExpired: takesExpired)
        case .announce: return .openArrival
        case .lookUp: return .lookUp
        case .wait, nil: break
        }
        if let due = watch.dueAt, now >= due { return .watch }
        if let lookUpAt, now >= lookUpAt { return .lookUp }
        if now >= cleanAt { return .clean }
        return nil
    }

    private var isChecking: Bool {
        if case .wait = arrival { return true }
        return announcements.hasRounds || !questions.isEmpty
    }

    /// When to look at the agenda again, if nothing is added to it.
    func wakeAt(_ now: UInt64) -> UInt64 {
        var times = [cleanAt]
        if isChecking { times.append(checkAt) }
        if let due = watch.dueAt { times.append(due) }
        if let lookUpAt { times.append(lookUpAt) }
        return min(max(times.min() ?? .max, pausedUntil), deadline)
    }

    /// When somebody is to be told no.
    var deadline: UInt64 { min(announcements.deadline ?? .max, questions.map(\.deadline).min() ?? .max) }

    /// Whom to tell no, because it took too long.
    mutating func passed(_ now: UInt64) -> [@Sendable (Bool) -> Void] {
        let late = questions.filter { $0.deadline <= now }
        if !late.isEmpty { questions.removeAll { $0.deadline <= now } }
        return announcements.passed(now) + late.map(\.answer)
    }

    mutating func failed(_ now: UInt64) { pausedUntil = now + backoff.pause() }
    mutating func succeeded() { backoff.reset() }
    mutating func cleaned(_ now: UInt64) { cleanAt = now + Self.cleanNanoseconds }

    /// What a look at the others' rows has shown.
    /// - Parameters:
    ///   - announcement: what every other gateway that lives has seen; nil: there is none.
    ///   - version: what every gateway that lives has acknowledged; nil: there is none, not even this one.
    /// - Returns: whom to tell yes.
    mutating func checked(announcement: Int64?, version: Int64?, now: UInt64) -> [@Sendable (Bool) -> Void] {
        checkAt = now + Self.checkNanoseconds
        if case .wait(let number) = arrival, (announcement ?? .max) >= number { arrival = .lookUp }
        let answered = questions.filter { $0.version <= version ?? .min }
        questions.removeAll { $0.version <= version ?? .min }
        return announcements.seen(upTo: announcement ?? .max) + answered.map(\.answer)
    }
}

package import Journal
internal import Rollout

/// What waits for the journal thread. Guarded by the writer's monitor.
package struct WriteQueue {
    package struct Write {
        package var submission: Submission
        package var completion: @Sendable (Admission) -> Void

        package init(submission: Submission, completion: @escaping @Sendable (Admission) -> Void) {
            self.submission = submission
            self.completion = completion
        }

        package var bytes: Int {
            submission.body.count + submission.headerLines.count + submission.conditionalLines.count + 512
        }
    }

    /// What one transaction takes.
    package struct Group {
        package var writes: [Write] = []
        package var updates: [JournalUpdate] = []
        package var works: [Work] = []
        package var isEmpty: Bool { writes.isEmpty && updates.isEmpty && works.isEmpty }
    }

    /// Work between two groups; it gets nil when the journal was closed before its turn.
    package typealias Work = @Sendable ((any JournalStore)?) -> Void

    package init() {}

    package private(set) var writes: [Write] = []
    package private(set) var updates: [JournalUpdate] = []
    package private(set) var works: [Work] = []
    package private(set) var bytes = 0
    /// Somebody waits for one of the updates.
    package private(set) var isAwaited = false
    /// One of the writes is judged by what is stored of earlier ones: their answers and revisions have to be there.
    private var needsAnswers = false
    /// When the oldest of `updates` arrived, on the monotonic clock.
    package private(set) var updatesSince: UInt64 = 0

    package var isEmpty: Bool { writes.isEmpty && updates.isEmpty && works.isEmpty }
    package var isUrgent: Bool { !writes.isEmpty || !works.isEmpty || isAwaited }

    /// - Returns: false when the write does not fit.
    package mutating func append(_ write: Write, limits: JournalLimits) -> Bool {
        guard writes.count < limits.queuedWrites, writes.isEmpty || bytes + write.bytes <= limits.queuedBytes else {
            return false
        }
        if !needsAnswers { needsAnswers = write.submission.idempotencyKey != nil || write.submission.hasRevision }
        bytes += write.bytes
        writes.append(write)
        return true
    }

    package mutating func append(_ update: JournalUpdate, at now: UInt64, isAwaited: Bool = false) {
        if isAwaited { self.isAwaited = true }
        if updates.isEmpty { updatesSince = now }
        updates.append(update)
    }

    package mutating func append(_ work: @escaping Work) { works.append(work) }

    package mutating func takeAll() -> Group {
        defer { self = WriteQueue() }
        return Group(writes: writes, updates: updates, works: works)
    }

    /// Whether the updates go with the next group. All or none of them: what the journal hears of a lane stays in the lane's order.
    private func takesUpdates(_ limits: JournalLimits, at now: UInt64) -> Bool {
        isAwaited || needsAnswers || !works.isEmpty || writes.count < limits.gatherBesideWrites
            || updates.count >= limits.groupUpdates
            || now >= updatesSince + limits.updateGatherMilliseconds * 1_000_000
    }

    /// Takes the next group: all works, as many writes as fit, and the updates, if they have waited long enough or somebody
    /// depends on them.
    /// - Parameters:
    ///   - now: the monotonic clock.
    ///   - isLast: the journal is closing: nothing is left for later.
    package mutating func take(_ limits: JournalLimits, at now: UInt64, isLast: Bool = false) -> Group {
        var group = Group()
        if isLast || takesUpdates(limits, at: now) {
            swap(&group.updates, &updates)
            isAwaited = false
        }
        swap(&group.works, &works)
        var size = 0
        var count = 0
        while count < writes.count, count < limits.groupWrites, size <= limits.groupBytes {
            size += writes[count].bytes
            count += 1
        }
        if count == writes.count {
            swap(&group.writes, &writes)
            needsAnswers = false
        } else {
            group.writes = Array(writes[..<count])
            writes.removeFirst(count)
        }
        bytes -= size
        return group
    }
}

/// Makes a list of updates as short as it can be: one per change or leg. What is posted about a leg after the answer goes into
/// the answer, what was posted before it is known to the answer, and of several facts about one leg the last one counts.
package func fold(_ updates: [JournalUpdate]) -> [JournalUpdate] {
    guard updates.count > 1 else { return updates }
    // By twice the sequence, and one more for a leg to new: one word is hashed faster than a pair.
    var answers: [Sequence64: Int] = [:]
    var legs: [Int64: Int] = [:]
    answers.reserveCapacity(updates.count)
    var folded: [JournalUpdate] = []
    folded.reserveCapacity(updates.count)
    for update in updates {
        switch update {
        case .leg(let sequence, let side, let status):
            let leg = sequence << 1 | Int64(side.rawValue)
            if let place = answers[sequence] {
                folded[place].put(status, on: side)
            } else if let place = legs[leg] {
                folded[place] = update
            } else {
                legs[leg] = folded.count
                folded.append(update)
            }
        case .answered(let sequence, _, _, _, _):
            // Legs posted before it stay in front of it: their rows are then written twice, which is rare and harmless.
            answers[sequence] = folded.count
            folded.append(update)
        }
    }
    return folded
}

extension JournalUpdate {
    /// An answer's word on a leg becomes a later one.
    fileprivate mutating func put(_ status: LegStatus, on side: Side) {
        guard case .answered(let sequence, let servedBy, var legs, let answer, let revisionAccepted) = self else {
            return
        }
        legs[side] = status
        self = .answered(
            sequence, servedBy: servedBy, legs: legs, answer: answer, revisionAccepted: revisionAccepted)
    }
}

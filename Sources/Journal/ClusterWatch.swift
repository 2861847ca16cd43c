/// The changes of other gateways that hold up lanes here, and when to look at them again. Without I/O; instants are those of
/// the monotonic clock, in nanoseconds. Not thread-safe.
///
/// It holds what stands in the lanes of the coordinator and is bounded with them; what is asked of the store at once is bounded
/// by `ClusterLimits.page`. Who owns a change does not matter here: it is looked at until both legs are settled.
package struct ClusterWatch: Sendable {
    /// Sides that were told already.
    private var told: [Sequence64: SideSet] = [:]
    /// Those still to be looked at in this round, the next one last.
    private var round: [Sequence64] = []
    private var hasMoved = false
    private var backoff = ClusterBackoff(ClusterTimes.watchNanoseconds)
    private var pausedUntil: UInt64 = 0

    package init() {}

    package var count: Int { told.count }

    /// When to look next; nil when nothing is watched.
    package var dueAt: UInt64? { told.isEmpty ? nil : pausedUntil }

    /// Watches more changes, and looks soon. One that is watched already, or was settled before, is told once more.
    package mutating func add(_ sequences: some Sequence<Sequence64>, now: UInt64) {
        for sequence in sequences {
            if told.updateValue([], forKey: sequence) == nil { round.append(sequence) }
        }
        backoff.reset()
        pausedUntil = min(pausedUntil, now)
    }

    /// The changes to ask the store for now.
    package mutating func next() -> [Sequence64] {
        if round.isEmpty { round = told.keys.sorted(by: >) }
        defer { round.removeLast(min(ClusterLimits.page, round.count)) }
        return round.suffix(ClusterLimits.page).reversed()
    }

    /// The store has answered.
    /// - Parameters:
    ///   - asked: what `next` gave.
    ///   - outstanding: the sides that are still outstanding; a change that is not in it has none, or is gone.
    /// - Returns: what has settled since it was told last, in the order of acceptance.
    package mutating func answered(
        _ asked: [Sequence64], outstanding: [Sequence64: SideSet], now: UInt64
    ) -> [(sequence: Sequence64, sides: SideSet)] {
        var news: [(sequence: Sequence64, sides: SideSet)] = []
        for sequence in asked {
            guard let before = told[sequence] else { continue }
            let left = outstanding[sequence] ?? []
            let sides = SideSet.both.subtracting(left).subtracting(before)
            if !sides.isEmpty { news.append((sequence, sides)) }
            told[sequence] = left.isEmpty ? nil : before.union(sides)
        }
        if !news.isEmpty { hasMoved = true }
        if round.isEmpty {
            if hasMoved { backoff.reset() }
            hasMoved = false
            pausedUntil = now + backoff.pause()
        }
        return news
    }

    /// The store could not be asked: those changes are due again.
    package mutating func failed(_ asked: [Sequence64], retryAt: UInt64) {
        round.append(contentsOf: asked.reversed())
        pausedUntil = retryAt
    }
}

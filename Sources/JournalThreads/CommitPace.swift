/// Says how long the next commit is put off, so that more writes share it.
///
/// Each commit costs an fsync, a wake-up of the journal thread, and a wake-up of every loop that waits for it. When many writes are
/// under way the next ones arrive within some hundred microseconds of the last commit, because their clients have just been answered:
/// a commit begun at the first of them would leave the rest for another one. The same idea as `commit_delay` and
/// `commit_siblings` of PostgreSQL and `binlog_group_commit_sync_delay` of MySQL, but a group is only waited for when the last one
/// was large, and no longer than until it is half as large again.
package struct CommitPace {
    private var lastWrites = 0
    private var lastEnd: UInt64 = 0

    package init() {}

    /// - Parameter now: the monotonic clock at the end of the commit.
    package mutating func committed(writes: Int, at now: UInt64) {
        guard writes > 0 else { return }
        lastWrites = writes
        lastEnd = now
    }

    /// How many writes end the wait for more.
    package func awaitedWrites(_ limits: JournalLimits) -> Int { min(lastWrites + lastWrites / 2, limits.groupWrites) }

    /// - Returns: the monotonic time before which the next group need not be taken; 0 when nothing is to be waited for.
    package func deadline(for queue: WriteQueue, _ limits: JournalLimits) -> UInt64 {
        guard lastWrites >= limits.paceAfterWrites, !queue.isAwaited, queue.works.isEmpty,
            queue.writes.count < awaitedWrites(limits), queue.bytes < limits.groupBytes,
            queue.updates.count < limits.groupUpdates
        else { return 0 }
        return lastEnd + limits.paceMicroseconds * 1_000
    }
}

package import Journal

/// Bounds and waits of the journal's queues.
package struct JournalLimits: Sendable {
    /// Writes that may wait for the disk; one more gets `.unavailable`.
    package var queuedWrites = 16_384
    /// Bytes of bodies and headers that may wait for the disk; a write that would exceed it gets `.unavailable`.
    package var queuedBytes = 256 << 20
    /// Writes in one transaction.
    package var groupWrites = 1_024
    /// Bytes of bodies and headers after which no further write joins a transaction.
    package var groupBytes = 32 << 20
    /// Updates that make a transaction without waiting for writes.
    package var groupUpdates = 1_024
    /// How long updates without any write wait for company, in milliseconds.
    package var updateDelayMilliseconds: UInt64 = 5
    /// How long updates are left out of groups of writes that do not depend on them, in milliseconds: what comes later about the same
    /// changes then goes into the same row updates. Less than `updateDelayMilliseconds`, so that a group takes them and no
    /// transaction of their own is needed. 0: they go with every group.
    package var updateGatherMilliseconds: UInt64 = 4
    /// Writes in a group from which on updates wait so. A smaller one takes them along: where writes are few, they would need a
    /// transaction of their own.
    package var gatherBesideWrites = 8
    /// How long after the end of a commit the next one is put off at most, for more writes to share it, in microseconds. Only after
    /// a group of `paceAfterWrites` or more, and only until half as many again have arrived. 0: never.
    package var paceMicroseconds: UInt64 = 500
    /// Writes in the last group from which on the next commit is put off. Where writes are few, none waits for another.
    package var paceAfterWrites = 8
    /// Wait between two attempts to keep updates after a failure, in milliseconds.
    package var retryMilliseconds: UInt64 = 100
    /// Reads that may wait for the reading thread.
    package var queuedReads = 65_536

    package init() {}
}

/// What one transaction did: the source of the journal's metrics.
package struct GroupReport: Sendable {
    package var submissions: Int
    package var updates: Int
    /// From the begin of the transaction to the return of its fsync.
    package var commitNanoseconds: UInt64
    /// Writes that have arrived meanwhile.
    package var queueDepth: Int
    /// Why nothing was kept; nil after a success.
    package var failure: JournalError?
}

/// Sums over all groups since the start.
package struct JournalFigures: Sendable, Equatable {
    package var groups: UInt64 = 0
    package var failedGroups: UInt64 = 0
    package var submissions: UInt64 = 0
    package var updates: UInt64 = 0
    package var largestGroup = 0
    package var commitNanoseconds: UInt64 = 0
    /// Writes refused because the queue was full.
    package var rejected: UInt64 = 0
    package var queueDepth = 0
    /// Updates that could not be kept yet and are tried again.
    package var retainedUpdates = 0

    package init() {}
}

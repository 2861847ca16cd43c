/// What a journal that several gateways share adds to one that a single gateway owns. Safe from any thread.
///
/// Every change belongs to the gateway that accepted it. A gateway proves that it lives by a *lease*, a row of the store that it
/// renews about once a second; when the lease has run out, another gateway takes its changes over (leases: Gray and Cheriton,
/// SOSP 1989). What a gateway whose lease was taken tries to keep is refused by the store, so that it can do no harm: the
/// fence. Order per lane holds over all gateways, because the store tells with every accepted change which outstanding changes
/// of others come before it (`CommittedGroup.foreign`), and when those are settled.
package protocol JournalCluster: AnyObject, Sendable {
    /// Joins: takes a lease and starts the threads. Blocks until everything is known that has to be known before this gateway
    /// may serve: what it took over (`ClusterEvents.takenOver`; of its own previous run, of gateways that are gone), what is
    /// outstanding at others (`ClusterEvents.foreign`), and until all others know of it.
    /// - Parameter events: called on threads of the cluster, one at a time; they must only hand on.
    /// - Throws: when the store does not answer, or is not one that this program can use.
    func start(_ events: ClusterEvents) throws(JournalError)

    /// Tells (`ClusterEvents.settled`) when legs of these changes are no longer outstanding, whoever settles them. What is
    /// taken over by this gateway in the meantime is told of all the same.
    func watch(_ sequences: [Sequence64])

    /// Before a client may know of a write whose leg is outstanding to a side that any gateway may read for that user: makes
    /// every gateway that lives look up what is outstanding (`ClusterEvents.foreign`). Several at once share one round; alone in
    /// the store there is nobody to ask, and it is done at once.
    /// - Parameter completion: called once, on any thread; false when some gateway with a lease had not looked within 2 s.
    func announce(completion: @escaping @Sendable (Bool) -> Void)

    /// This gateway knows the shared state of this version: its writes are announced accordingly from now on.
    func acknowledge(_ version: Int64)

    /// Whether every gateway that lives has acknowledged the version. Waits at most `timeoutMilliseconds`.
    func isAcknowledged(_ version: Int64, timeoutMilliseconds: Int64) async -> Bool

    /// Looks up what is outstanding at other gateways, now; the answer comes through `ClusterEvents.foreign`, before this returns.
    /// - Returns: false when the store could not be asked.
    func refreshForeign() async -> Bool

    /// What fails at this gateway from now on, for the others to see within about a second (`ClusterState.failing`). The store is
    /// asked only when it is not what was said before. It is forgotten with the lease, and said anew with the next one.
    func tell(_ failing: FailingGates)

    /// For status and metrics.
    var state: ClusterState { get }

    /// Gives the lease up and ends the threads. After the journal is closed. What is left outstanding goes to the others at once.
    /// Blocks: not for a loop.
    func leave()
}

/// What a gateway hears from its cluster.
package struct ClusterEvents: Sendable {
    /// The lease holds until this instant of the monotonic clock, in nanoseconds. Nothing may be delivered after it. When it has
    /// run out and comes again, `foreign` was told before, so that what is known of others is never older than the lease.
    package var leaseRenewed: @Sendable (UInt64) -> Void
    /// The lease was taken: whatever this gateway has under way belongs to others now. It joins anew by itself.
    package var fenced: @Sendable () -> Void
    /// Legs of other gateways' changes that no longer stand before any change.
    package var settled: @Sendable ([(sequence: Sequence64, sides: SideSet)]) -> Void
    /// Returns when every change that the journal had committed before the call is admitted. Called before `takenOver`: what was
    /// taken over may have been accepted behind a change of this gateway that its journal has only just committed. Blocks for as
    /// long as the group under way; not called while anything else is told.
    package var awaitAdmissions: @Sendable () -> Void
    /// Changes of gateways that are gone, in the order of acceptance, in pages: this gateway delivers them from now on. Some
    /// of them may stand in its lanes already, as changes of others. `foreign`: earlier changes of yet other gateways in the
    /// same lanes (as `CommittedGroup.foreign`). `takeover`: its number, never lower than one told before; pages of outstanding
    /// changes are asked for up to the last one that was told (`OutstandingQuery.throughTakeover`).
    package var takenOver:
        @Sendable (_ takeover: Int64, _ changes: [OutstandingChange], _ foreign: [OutstandingChange]) -> Void
    /// All that is outstanding at other gateways; replaces what was told before.
    package var foreign: @Sendable (ForeignOutstanding) -> Void
    /// Rollout or pins were changed by another gateway: they are to be read again.
    package var stateChanged: @Sendable (_ version: Int64) -> Void

    package init(
        leaseRenewed: @escaping @Sendable (UInt64) -> Void, fenced: @escaping @Sendable () -> Void,
        settled: @escaping @Sendable ([(sequence: Sequence64, sides: SideSet)]) -> Void,
        awaitAdmissions: @escaping @Sendable () -> Void,
        takenOver:
            @escaping @Sendable (_ takeover: Int64, _ changes: [OutstandingChange], _ foreign: [OutstandingChange])
            -> Void,
        foreign: @escaping @Sendable (ForeignOutstanding) -> Void,
        stateChanged: @escaping @Sendable (_ version: Int64) -> Void
    ) {
        self.leaseRenewed = leaseRenewed
        self.fenced = fenced
        self.settled = settled
        self.awaitAdmissions = awaitAdmissions
        self.takenOver = takenOver
        self.foreign = foreign
        self.stateChanged = stateChanged
    }
}

/// Users with legs outstanding at other gateways, by side. `nil` stands for anonymous writes.
package struct ForeignOutstanding: Sendable, Equatable {
    package var legacy: Set<String?>
    package var new: Set<String?>
    /// Sides with more users than are kept by name (`ClusterLimits.foreignUsers`): every user counts as waiting for them.
    package var everybody: SideSet

    package init(legacy: Set<String?> = [], new: Set<String?> = [], everybody: SideSet = []) {
        self.legacy = legacy
        self.new = new
        self.everybody = everybody
    }

    package var isEmpty: Bool { legacy.isEmpty && new.isEmpty && everybody.isEmpty }
}

/// The gates that fail at one gateway, by its own figures.
package struct FailingGates: Sendable, Equatable {
    /// The gateway's name, as an operator knows it.
    package var gateway: String
    /// As in the plan's `gates`.
    package var gates: [String]

    package init(gateway: String = "", gates: [String] = []) {
        self.gateway = gateway
        self.gates = gates
    }
}

/// How a gateway stands with the others of its store.
package struct ClusterState: Sendable, Equatable {
    /// Gateways with a lease, this one included; as last seen.
    package var members: Int
    /// False while the store cannot be asked: what is known of the shared state may be old.
    package var isConnected: Bool
    /// When the store last answered, in milliseconds since 1970.
    package var lastContactMilliseconds: Int64
    /// Changes taken over from gateways that were gone, since the start.
    package var takenOver: UInt64
    /// How often this gateway was fenced, since the start.
    package var fenced: UInt64
    /// Announcements made, since the start.
    package var announcements: UInt64
    /// Announcements that not every gateway had seen in time, since the start.
    package var lateAnnouncements: UInt64
    /// Changes of others that are watched because they hold up lanes here.
    package var watched: Int
    /// What fails at the others that live; as last seen.
    package var failing: [FailingGates]

    package init(
        members: Int = 1, isConnected: Bool = true, lastContactMilliseconds: Int64 = 0, takenOver: UInt64 = 0,
        fenced: UInt64 = 0, announcements: UInt64 = 0, lateAnnouncements: UInt64 = 0, watched: Int = 0,
        failing: [FailingGates] = []
    ) {
        self.members = members
        self.isConnected = isConnected
        self.lastContactMilliseconds = lastContactMilliseconds
        self.takenOver = takenOver
        self.fenced = fenced
        self.announcements = announcements
        self.lateAnnouncements = lateAnnouncements
        self.watched = watched
        self.failing = failing
    }
}

/// Which outstanding legs to one backend are in memory, and which are only in the journal.
///
/// While few are outstanding, all are *held*: each has its places in the lanes, its age and its delivery. When as many are held as
/// fit, the window closes: its horizon is the newest change accepted so far, and legs of later changes are *deferred*: counted, in
/// all and per user, and nothing else. When the held ones have become fewer, pages of the journal bring the deferred ones back in
/// the order of acceptance; when none is deferred any more, the window is open again. A user with too many held legs is *set
/// aside* with a horizon of their own, so that one stuck lane cannot fill the window and stop everybody else.
///
/// Pure bookkeeping of one side, without lanes: `LegTables` drives it. Not thread-safe.
struct DeliveryWindow: Sendable {
    /// What a page must know of a change that was accepted after the horizon and whose answer the journal may not have yet.
    enum Stage: Sendable {
        /// Nothing for a page to do: the leg has its place in the lanes, or holds, or will never be sent.
        case elsewhere
        /// Deferred, and the side that decides has not answered yet. `countsNow`: it counts as outstanding all the same, because
        /// an earlier process may have told its client.
        case undecided(user: String?, countsNow: Bool)
        /// Deferred, and the client is being told this status.
        case outstanding(status: Int)
        /// In its lanes again, but its delivery begins when the journal has been told what the client was: what is posted about
        /// the leg must not be overtaken by that.
        case awaitsAnswer
        /// Deferred, and the journal has been told while a page was being read, which may not show it yet.
        case answered(status: Int)
    }

    /// A user whose legs wait in the journal until those held have become few.
    struct Aside: Sendable {
        var user: String?
        /// Every leg of this user up to here is held or settled.
        var horizon: Sequence64
        /// Already in `ready`.
        var isReady = false
    }

    /// The page that is being read.
    struct Page: Sendable {
        var request: OutstandingQuery
        /// Legs that were settled since it was asked for: it may still show them as outstanding.
        var settled: Set<Sequence64> = []
        /// Older legs have come in since then: where pages have to begin again, whatever this one brings.
        var lowered: Sequence64?
        /// Changes whose answer was posted since then: their stage is needed until the page is done.
        var answered: [Sequence64] = []
    }

    let limits: WindowLimits
    /// Second legs in memory.
    var held: Set<Sequence64> = []
    /// nil: the window is open. Else every leg up to here is held or settled (but those of users set aside).
    var horizon: Sequence64?
    /// When the oldest deferred leg was accepted, or earlier; milliseconds since 1970.
    var deferredSince: Int64?
    /// Changes accepted after the horizon until `LegTables.answered`: as many as writes are under way.
    var underway: [Sequence64: Stage] = [:]
    var page: Page?
    /// Pages are read until the window is full again.
    var isFilling = false

    private(set) var deferred = 0
    private(set) var deferredAside = 0
    private var deferredByUser: [LaneKey: Int32] = [:]
    private(set) var asides: [LaneKey: Aside] = [:]
    /// Deferred legs that have a place in the lanes, by user. Those users are set aside.
    private var placed: [LaneKey: Set<Sequence64>] = [:]
    /// The keys of `placed`, and some that were.
    private var placedUsers: [LaneKey] = []
    private var ready: [LaneKey] = []

    init(limits: WindowLimits = WindowLimits()) { self.limits = limits }

    /// One key a user: collisions only make a user wait for longer.
    static func key(_ user: String?) -> LaneKey { user.map { LaneKey.user($0) } ?? .anonymous }

    // MARK: Deferred legs

    func deferred(_ key: LaneKey) -> Int { Int(deferredByUser[key] ?? 0) }

    func hasDeferred(_ user: String?) -> Bool { deferred > 0 && deferred(Self.key(user)) > 0 }

    mutating func countDeferred(_ key: LaneKey, by amount: Int) {
        deferred += amount
        if asides[key] != nil { deferredAside += amount }
        let count = deferred(key) + amount
        precondition(count >= 0, "a leg came back from the journal more often than it was deferred")
        deferredByUser[key] = count == 0 ? nil : Int32(count)
        // Everything of the user is in memory: what is deferred from now on is younger than any page, like everybody's.
        if count == 0 { asides[key] = nil }
        if deferred == 0 { deferredSince = nil }
    }

    /// A leg was deferred, accepted at `milliseconds`.
    mutating func notice(acceptedMilliseconds milliseconds: Int64) {
        deferredSince = min(deferredSince ?? .max, milliseconds)
    }

    // MARK: Users set aside

    mutating func setAside(_ user: String?, _ key: LaneKey, horizon: Sequence64) {
        guard asides[key] == nil else { return }
        asides[key] = Aside(user: user, horizon: horizon)
        deferredAside += deferred(key)
    }

    /// Fewer legs of a user are held now: one that is set aside may have more when the half is gone.
    mutating func noteHeld(_ user: String?, count: Int) {
        guard !asides.isEmpty, count <= limits.userMax / 2 else { return }
        markReady(Self.key(user))
    }

    mutating func markReady(_ key: LaneKey) {
        guard asides[key]?.isReady == false, deferred(key) > 0 else { return }
        asides[key]?.isReady = true
        ready.append(key)
    }

    mutating func takeReady() -> Aside? {
        while let key = ready.popLast() {
            asides[key]?.isReady = false
            if let aside = asides[key], deferred(key) > 0 { return aside }
        }
        return nil
    }

    /// An older leg has come in (another gateway's, taken over): pages begin there again. What they show and is in memory is
    /// known by its place in the lanes.
    mutating func lowerHorizon(to sequence: Sequence64, _ key: LaneKey) {
        horizon = min(horizon ?? sequence, sequence)
        if let lowered = page?.lowered { page?.lowered = min(lowered, sequence) } else { page?.lowered = sequence }
        if let aside = asides[key] { asides[key]?.horizon = min(aside.horizon, sequence) }
    }

    /// A page of this user alone has been read up to `horizon`.
    mutating func advance(_ key: LaneKey, to horizon: Sequence64, held: Int) {
        if deferred(key) == 0 {
            asides[key] = nil
        } else {
            asides[key]?.horizon = horizon
            if held <= limits.userMax / 2 { markReady(key) }
        }
    }

    // MARK: Deferred legs that keep a place in the lanes

    /// A leg was deferred and is in the lanes all the same. After `lowerHorizon` and `countDeferred`.
    mutating func notePlaced(_ sequence: Sequence64, _ user: String?) {
        let key = Self.key(user)
        setAside(user, key, horizon: horizon ?? sequence - 1)
        if placed[key] == nil { placedUsers.append(key) }
        placed[key, default: []].insert(sequence)
    }

    mutating func forgetPlaced(_ sequence: Sequence64, _ key: LaneKey) {
        guard placed[key]?.remove(sequence) != nil else { return }
        if placed[key]?.isEmpty == true { placed[key] = nil }
    }

    /// One of the users with such legs.
    mutating func placedAside() -> Aside? {
        while let key = placedUsers.last {
            if placed[key] != nil { return asides[key] }
            placedUsers.removeLast()
        }
        return nil
    }

    // MARK: Opening and closing

    /// Whether a new second leg of a user finds no room. Closes the window, or sets the user aside, when that is why.
    /// - Parameters:
    ///   - heldOfUser: legs of this user that are held.
    ///   - last: the last change that is held or settled, as all before it.
    mutating func isFull(for user: String?, heldOfUser: Int, last: Sequence64) -> Bool {
        if horizon != nil { return true }
        if held.count >= limits.windowMax {
            horizon = last
            return true
        }
        guard isCrowded(by: heldOfUser) else { return false }
        setAside(user, Self.key(user), horizon: last)
        return true
    }

    /// Whether a user has so many of a well filled window's legs that others might starve.
    func isCrowded(by heldOfUser: Int) -> Bool { held.count >= limits.crowded && heldOfUser >= limits.userMax }

    /// Everything that was deferred is held or settled: the window opens.
    mutating func openIfDone() {
        guard page == nil else { return }
        if deferred == 0 {
            horizon = nil
            asides = [:]
            ready = []
            isFilling = false
        } else if deferred == deferredAside {
            horizon = nil
        }
    }
}

/// How many outstanding legs a side keeps in memory, and how they come back from the journal.
package struct WindowLimits: Sendable {
    /// Second legs of a side that are held; later ones stay in the journal. A leg that cannot be deferred any more (a fallback's,
    /// one that an operator replays) comes on top.
    package var windowMax: Int
    /// Legs of a page of the journal, not more than `windowMax`: also how long the lock of the tables is held at most.
    package var pageMax: Int
    /// Held legs from which on no user may have more than `userMax` of them.
    package var crowded: Int
    /// Held legs of one user in a crowded window.
    package var userMax: Int
    /// Pages are read when fewer than this are held.
    package var refillBelow: Int

    package init(
        windowMax: Int = 8_192, pageMax: Int = 512, crowded: Int = 2_048, userMax: Int = 64, refillBelow: Int = 6_144
    ) {
        precondition(pageMax <= windowMax, "a page that does not fit into an empty window is never read")
        self.windowMax = windowMax
        self.pageMax = pageMax
        self.crowded = crowded
        self.userMax = userMax
        self.refillBelow = refillBelow
    }
}

/// Everything that the decision about one request depends on (contract §5).
@usableFromInline @frozen package struct DecisionInput: Sendable, Equatable {
    /// No source yielded an id, and anonymous requests are not split.
    @usableFromInline package var isAnonymous: Bool
    /// The operator's pin of this user.
    @usableFromInline package var pin: Side?
    /// The percent admits the user's position.
    @usableFromInline package var isAdmitted: Bool
    /// The user's data has been copied to new; true where no backfill is configured.
    @usableFromInline package var isCopied: Bool
    /// Legs to new of this user are outstanding.
    @usableFromInline package var hasOutstandingToNew: Bool
    /// The breaker of new is open.
    @usableFromInline package var breakerOpen: Bool
    /// The user was on new until less than `Decision.drainLimitMilliseconds` ago and has legs to legacy outstanding.
    @usableFromInline package var drainsToLegacy: Bool

    @inlinable package init(
        isAnonymous: Bool = false, pin: Side? = nil, isAdmitted: Bool = false, isCopied: Bool = true,
        hasOutstandingToNew: Bool = false, breakerOpen: Bool = false, drainsToLegacy: Bool = false
    ) {
        self.isAnonymous = isAnonymous
        self.pin = pin
        self.isAdmitted = isAdmitted
        self.isCopied = isCopied
        self.hasOutstandingToNew = hasOutstandingToNew
        self.breakerOpen = breakerOpen
        self.drainsToLegacy = drainsToLegacy
    }
}

/// The side of a user right now, and why.
@usableFromInline @frozen package struct Decision: Sendable, Equatable {
    /// How long a user goes on reading new after the side has moved back to legacy.
    @inlinable package static var drainLimitMilliseconds: Int64 { 5000 }

    @usableFromInline package let side: Side
    @usableFromInline package let reason: Reason

    @inlinable package init(side: Side, reason: Reason) {
        self.side = side
        self.reason = reason
    }
}

/// Who serves this user: the one decision of the whole gateway (contract §5).
///
/// A user is on new only if every condition holds; the first that fails is the reason. A pin to new stands for the
/// percent and for nothing else: a pinned user whose writes have not reached new yet (`behind`), whose data was never
/// copied (`not-backfilled`) or whose backend is down (`breaker-open`) reads legacy, because a pin must not cost
/// anyone their own writes. So `pinned-new` is, like `in-percent`, the reason of a user who is on new.
///
/// A user whom pin or percent has just sent back to legacy goes on with new (`draining`) until legacy has caught up, if
/// new is fit to serve: copied, not behind, breaker closed. Otherwise nothing is gained, and legacy serves.
@inlinable package func decide(_ input: DecisionInput) -> Decision {
    if input.isAnonymous { return Decision(side: .legacy, reason: .anonymous) }
    let isFit = input.isCopied && !input.hasOutstandingToNew && !input.breakerOpen
    let refusal: Reason? =
        switch input.pin {
        case .legacy: .pinnedLegacy
        case .new: nil
        case nil: input.isAdmitted ? nil : .outsidePercent
        }
    if let refusal {
        if input.drainsToLegacy && isFit { return Decision(side: .new, reason: .draining) }
        return Decision(side: .legacy, reason: refusal)
    }
    if isFit { return Decision(side: .new, reason: input.pin == .new ? .pinnedNew : .inPercent) }
    if !input.isCopied { return Decision(side: .legacy, reason: .notBackfilled) }
    if input.hasOutstandingToNew { return Decision(side: .legacy, reason: .behind) }
    return Decision(side: .legacy, reason: .breakerOpen)
}

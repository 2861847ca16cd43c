import Configuration
package import Rollout

/// All that a decision about one user came to, for the proxy and for `explain`.
package struct UserDecision {
    package var decision: Decision
    /// Admitted by percent or pin, whoever serves right now.
    package var isOfNewUser: Bool
    package var position: Position?
    package var pin: Side?
    /// Legacy serves although legs to it are outstanding: draining took too long.
    package var isStale = false
    /// Legacy serves, and the user may wait for legs to it that are outstanding: new is not fit to serve.
    package var waitsForLegacy = false
}

extension Snapshot {
    /// Gathers what `decide` wants to know about a user. The cheap questions come first; tables with locks are asked
    /// only when their filters say that there may be something.
    /// - Parameters:
    ///   - user: nil for an anonymous request.
    ///   - mayProbe: a half-open breaker may take this request as its probe.
    @inline(__always)
    func decide(
        _ user: UserID?, coordinator: WriteCoordinator, breaker: Breaker, now: UInt64, mayProbe: Bool
    ) -> UserDecision {
        guard let user else {
            return UserDecision(
                decision: Decision(side: .legacy, reason: .anonymous), isOfNewUser: false, position: nil)
        }
        let position = bucketing.position(user.base, user.count)
        let pin = pins.isEmpty ? nil : pins.side(user.base, user.count, hash: user.hash)
        let isAdmitted = bucketing.admits(position, percentHundredths: rollout.percentHundredths)
        let isOfNewUser = pin == .new || (pin == nil && isAdmitted)
        var input = DecisionInput(pin: pin, isAdmitted: isAdmitted)
        var hasOutstandingToLegacy = false
        var isDraining = false
        if coordinator.mayHaveOutstanding(.legacy) {
            hasOutstandingToLegacy = coordinator.hasOutstanding(user, .legacy)
            isDraining = hasOutstandingToLegacy && now < rollout.movedBackAt + UInt64(Decision.drainLimitMilliseconds)
            input.drainsToLegacy = !isOfNewUser && isDraining
        }
        // Where legacy is not written it is no refuge: a user of new stays there, whatever state new is in.
        if (isOfNewUser && rollout.legacyWrites) || input.drainsToLegacy {
            input.hasOutstandingToNew = coordinator.mayHaveOutstanding(.new) && coordinator.hasOutstanding(user, .new)
            input.breakerOpen =
                !input.hasOutstandingToNew && (mayProbe ? !breaker.admits(now: now) : breaker.isOpen)
        }
        let decision = Rollout.decide(input)
        return UserDecision(
            decision: decision, isOfNewUser: isOfNewUser, position: position, pin: pin,
            isStale: hasOutstandingToLegacy && decision.side == .legacy && !isOfNewUser && !isDraining,
            // What other gateways of the store have outstanding to legacy is not known before it is looked up.
            waitsForLegacy: decision.side == .legacy
                && (isOfNewUser && coordinator.standing.isShared
                    || hasOutstandingToLegacy && (isOfNewUser || isDraining))
        )
    }
}

import Rollout
import Testing

private func decision(
    anonymous: Bool = false, pin: Side? = nil, admitted: Bool = true, copied: Bool = true, behind: Bool = false,
    breaker: Bool = false, drains: Bool = false
) -> Decision {
    decide(
        DecisionInput(
            isAnonymous: anonymous, pin: pin, isAdmitted: admitted, isCopied: copied, hasOutstandingToNew: behind,
            breakerOpen: breaker, drainsToLegacy: drains))
}

@Test func anAdmittedUserIsOnNew() {
    #expect(decision() == Decision(side: .new, reason: .inPercent))
}

@Test func aUserOutsideThePercentIsOnLegacy() {
    #expect(decision(admitted: false) == Decision(side: .legacy, reason: .outsidePercent))
}

@Test func nobodyInParticularIsOnLegacy() {
    #expect(decision(anonymous: true, pin: .new) == Decision(side: .legacy, reason: .anonymous))
    #expect(decision(anonymous: true, drains: true) == Decision(side: .legacy, reason: .anonymous))
}

@Test func aPinStandsForThePercent() {
    #expect(decision(pin: .legacy) == Decision(side: .legacy, reason: .pinnedLegacy))
    #expect(decision(pin: .new, admitted: false) == Decision(side: .new, reason: .pinnedNew))
    #expect(decision(pin: .new) == Decision(side: .new, reason: .pinnedNew))
}

@Test func theFirstConditionThatFailsIsTheReason() {
    #expect(decision(copied: false, behind: true, breaker: true) == Decision(side: .legacy, reason: .notBackfilled))
    #expect(decision(behind: true, breaker: true) == Decision(side: .legacy, reason: .behind))
    #expect(decision(breaker: true) == Decision(side: .legacy, reason: .breakerOpen))
    #expect(
        decision(admitted: false, copied: false, behind: true, breaker: true)
            == Decision(side: .legacy, reason: .outsidePercent))
}

@Test func aPinToNewDoesNotCostAUserTheirOwnWrites() {
    #expect(decision(pin: .new, behind: true) == Decision(side: .legacy, reason: .behind))
    #expect(decision(pin: .new, breaker: true) == Decision(side: .legacy, reason: .breakerOpen))
    #expect(decision(pin: .new, copied: false) == Decision(side: .legacy, reason: .notBackfilled))
}

@Test func aUserSentBackToLegacyDrainsOnNew() {
    #expect(decision(admitted: false, drains: true) == Decision(side: .new, reason: .draining))
    #expect(decision(pin: .legacy, drains: true) == Decision(side: .new, reason: .draining))
}

@Test func aUserWhoseSideIsNewDoesNotDrain() {
    #expect(decision(drains: true) == Decision(side: .new, reason: .inPercent))
    #expect(decision(behind: true, drains: true) == Decision(side: .legacy, reason: .behind))
}

@Test func nobodyDrainsOnANewThatIsUnfit() {
    #expect(decision(admitted: false, behind: true, drains: true) == Decision(side: .legacy, reason: .outsidePercent))
    #expect(decision(admitted: false, breaker: true, drains: true) == Decision(side: .legacy, reason: .outsidePercent))
    #expect(decision(pin: .legacy, copied: false, drains: true) == Decision(side: .legacy, reason: .pinnedLegacy))
}

@Test func everyInputHasTheReasonOfItsSide() {
    let onNew: Set<Reason> = [.inPercent, .pinnedNew, .draining]
    let onLegacy: Set<Reason> = [.anonymous, .pinnedLegacy, .outsidePercent, .notBackfilled, .behind, .breakerOpen]
    for bits in 0..<64 {
        for pin in [Side?.none, .legacy, .new] {
            let outcome = decision(
                anonymous: bits & 1 != 0, pin: pin, admitted: bits & 2 != 0, copied: bits & 4 != 0,
                behind: bits & 8 != 0, breaker: bits & 16 != 0, drains: bits & 32 != 0)
            #expect((outcome.side == .new ? onNew : onLegacy).contains(outcome.reason))
            // Whatever else holds: nobody reads a new that lacks their writes.
            if bits & 8 != 0 { #expect(outcome.side == .legacy) }
        }
    }
}

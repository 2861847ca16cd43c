import Configuration
import Rollout
import TestSupport
import Testing

@testable import Gateway

@Test(arguments: 1...5 as ClosedRange<UInt64>)
func pinsAreFoundByTheBytesOfTheUser(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var pins: [String: Side] = [:]
    for _ in 0..<500 {
        let length = Int.random(in: 1...12, using: &random)
        pins[String((0..<length).map { _ in "abé漢".randomElement(using: &random) ?? "a" })] =
            Side.allCases.randomElement(using: &random)
    }
    let table = PinTable(pins)
    #expect(!table.isEmpty)
    for (user, side) in pins {
        withUser(user) { #expect(table.side($0.base, $0.count, hash: $0.hash) == side) }
        let stranger = user + "!"
        withUser(stranger) { #expect(table.side($0.base, $0.count, hash: $0.hash) == nil) }
        // Should two users ever share a hash, the bytes decide.
        withUser(stranger) { one in
            withUser(user) { other in #expect(table.side(one.base, one.count, hash: other.hash) == nil) }
        }
    }
    #expect(PinTable([:]).isEmpty)
    withUser("a") { #expect(PinTable([:]).side($0.base, $0.count, hash: $0.hash) == nil) }
}

/// The surroundings of a decision.
private struct Surroundings {
    var percent = 0
    var pins: [String: Side] = [:]
    var movedBackAt: UInt64 = 0
    var legacyWrites = true
    let coordinator = WriteCoordinator(journal: NoJournal())
    let breaker = Breaker(BreakerSettings())
    var now: UInt64 = 1_000_000

    func decide(_ user: String?, mayProbe: Bool = true) throws -> UserDecision {
        let settings = Settings()
        let view = RolloutView(
            percentHundredths: percent, shadowHundredths: 0, dualWrite: true, generation: 1, movedBackAt: movedBackAt,
            legacyWrites: legacyWrites)
        let snapshot = Snapshot(
            settings: settings, rollout: view, pins: pins, identity: try IdentitySources(settings.user))
        func decide(_ id: UserID?) -> UserDecision {
            snapshot.decide(id, coordinator: coordinator, breaker: breaker, now: now, mayProbe: mayProbe)
        }
        return user.map { withUser($0) { decide($0) } } ?? decide(nil)
    }

    func word(_ user: String?, mayProbe: Bool = true) throws -> String {
        let decision = try decide(user, mayProbe: mayProbe).decision
        return "\(decision.side.name) \(decision.reason.name)"
    }

    func outstanding(_ side: Side, user: String = "anna") {
        coordinator.addOutstanding(1, user: user, side, acceptedMilliseconds: 0)
    }

    func openBreaker() {
        for _ in 0..<20 { breaker.record(failed: true, now: now) }
    }
}

@Test func withoutAUserLegacyServes() throws {
    let surroundings = Surroundings(percent: 10_000)
    #expect(try surroundings.word(nil) == "legacy anonymous")
    #expect(try surroundings.decide(nil).position == nil)
}

@Test func thePercentDecidesAndSaysFromWhereOn() throws {
    var surroundings = Surroundings()
    let needed = try #require(try surroundings.decide("anna").position).percentNeededHundredths
    for (percent, word) in [
        (0, "legacy outside-percent"), (needed - 1, "legacy outside-percent"), (needed, "new in-percent"),
    ] {
        surroundings.percent = percent
        #expect(try surroundings.word("anna") == word)
        #expect(try surroundings.decide("anna").isOfNewUser == (percent >= needed))
    }
}

@Test func aPinGoesBeforeThePercent() throws {
    #expect(try Surroundings(percent: 10_000, pins: ["anna": .legacy]).word("anna") == "legacy pinned-legacy")
    #expect(try !Surroundings(percent: 10_000, pins: ["anna": .legacy]).decide("anna").isOfNewUser)
    #expect(try Surroundings(percent: 0, pins: ["anna": .new]).word("anna") == "new pinned-new")
    #expect(try Surroundings(percent: 0, pins: ["anna": .new]).word("bert") == "legacy outside-percent")
    #expect(try Surroundings(percent: 0, pins: ["anna": .new]).decide("anna").pin == .new)
}

@Test func whoWaitsForLegsToNewReadsLegacyMeanwhile() throws {
    for surroundings in [Surroundings(percent: 10_000), Surroundings(pins: ["anna": .new])] {
        surroundings.outstanding(.new)
        #expect(try surroundings.word("anna") == "legacy behind")
        #expect(try surroundings.decide("anna").isOfNewUser)
        surroundings.coordinator.removeOutstanding(1, user: "anna", .new)
        #expect(try surroundings.decide("anna").decision.side == .new)
    }
    let other = Surroundings(percent: 10_000)
    other.outstanding(.new, user: "bert")
    #expect(try other.word("anna") == "new in-percent")
}

@Test func anOpenBreakerSendsEverybodyToLegacyButTheProbe() throws {
    var surroundings = Surroundings(percent: 10_000)
    surroundings.openBreaker()
    #expect(try surroundings.word("anna") == "legacy breaker-open")
    surroundings.now += 5000
    #expect(try surroundings.word("anna", mayProbe: false) == "legacy breaker-open", "explain takes no probe")
    #expect(try surroundings.word("anna") == "new in-percent", "the probe")
    #expect(try surroundings.word("anna") == "legacy breaker-open")
}

@Test func whoReadsLegacyForWantOfNewWaitsForWhatLegacyLacks() throws {
    let surroundings = Surroundings(percent: 10_000)
    surroundings.outstanding(.legacy)
    #expect(try !surroundings.decide("anna").waitsForLegacy, "new serves")
    surroundings.openBreaker()
    #expect(try surroundings.word("anna") == "legacy breaker-open")
    #expect(try surroundings.decide("anna").waitsForLegacy && !surroundings.decide("bert").waitsForLegacy)
}

@Test func aProbeIsNotSpentOnAUserWhoCannotTakeIt() throws {
    var surroundings = Surroundings(percent: 10_000)
    surroundings.openBreaker()
    surroundings.now += 5000
    surroundings.outstanding(.new)
    #expect(try surroundings.word("anna") == "legacy behind")
    #expect(try surroundings.word("bert") == "new in-percent")
}

@Test func whoIsSentBackDrainsForFiveSecondsAtMost() throws {
    var surroundings = Surroundings(movedBackAt: 1_000_000)
    surroundings.outstanding(.legacy)
    #expect(try surroundings.word("anna") == "new draining")
    #expect(try !surroundings.decide("anna").isStale && !surroundings.decide("anna").isOfNewUser)
    #expect(try surroundings.word("bert") == "legacy outside-percent", "nothing of his is outstanding")
    surroundings.now += 4999
    #expect(try surroundings.word("anna") == "new draining")
    surroundings.now += 1
    #expect(try surroundings.word("anna") == "legacy outside-percent")
    #expect(try surroundings.decide("anna").isStale)
    surroundings.coordinator.removeOutstanding(1, user: "anna", .legacy)
    #expect(try !surroundings.decide("anna").isStale)
}

@Test func nobodyDrainsToABackendThatIsNotFit() throws {
    let behind = Surroundings(movedBackAt: 1_000_000)
    behind.outstanding(.legacy)
    behind.coordinator.addOutstanding(2, user: "anna", .new, acceptedMilliseconds: 0)
    #expect(try behind.word("anna") == "legacy outside-percent")
    #expect(try behind.decide("anna").waitsForLegacy && !behind.decide("anna").isStale)
    let broken = Surroundings(movedBackAt: 1_000_000)
    broken.outstanding(.legacy)
    broken.openBreaker()
    #expect(try broken.word("anna") == "legacy outside-percent")
    #expect(try broken.decide("anna").waitsForLegacy)
    var late = behind
    late.now += 5000
    #expect(try late.decide("anna").isStale && !late.decide("anna").waitsForLegacy, "five seconds at most")
}

@Test func whoIsPinnedBackDrainsToo() throws {
    let surroundings = Surroundings(percent: 10_000, pins: ["anna": .legacy], movedBackAt: 1_000_000)
    surroundings.outstanding(.legacy)
    #expect(try surroundings.word("anna") == "new draining")
}

@Test func anUnwrittenLegacyIsNoRefugeForUsersOfNew() throws {
    var surroundings = Surroundings(percent: 10_000)
    surroundings.openBreaker()
    surroundings.outstanding(.new)
    #expect(try surroundings.word("anna") == "legacy behind" && surroundings.word("bert") == "legacy breaker-open")
    surroundings.legacyWrites = false
    #expect(try surroundings.word("anna") == "new in-percent" && surroundings.word("bert") == "new in-percent")
    // Whoever cannot be told from others is served as ever.
    #expect(try surroundings.word(nil) == "legacy anonymous")
}

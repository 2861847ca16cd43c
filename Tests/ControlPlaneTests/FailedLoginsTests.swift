import Testing

@testable import ControlPlane

@Suite struct FailedLoginsTests {
    @Test func theEleventhWithinAMinuteWaitsUntilTheFirstIsAMinuteOld() {
        var logins = FailedLogins()
        for second in 0..<10 { #expect(logins.failed("a", now: Int64(second) * 1_000) == .mayTryAgain) }
        #expect(logins.failed("a", now: 10_000) == .wait(seconds: 50, isNew: true))
        #expect(logins.failed("a", now: 59_001) == .wait(seconds: 1, isNew: false))
        // One place is free again, for one more try.
        #expect(logins.failed("a", now: 60_000) == .mayTryAgain)
        #expect(logins.failed("a", now: 60_001) == .wait(seconds: 1, isNew: true))
    }

    @Test func tryingMeanwhileDoesNotProlongTheWait() {
        var logins = FailedLogins(perMinute: 2)
        for now in [0, 1] { #expect(logins.failed("a", now: Int64(now)) == .mayTryAgain) }
        for now in stride(from: Int64(2), to: 60_000, by: 100) {
            guard case .wait(let seconds, _) = logins.failed("a", now: now) else {
                Issue.record("let in at \(now)")
                return
            }
            #expect(seconds == (60_000 - now + 999) / 1000)
        }
        #expect(logins.failed("a", now: 60_000) == .mayTryAgain)
    }

    @Test func peersAreCountedApart() {
        var logins = FailedLogins(perMinute: 1)
        #expect(logins.failed("a", now: 0) == .mayTryAgain)
        #expect(logins.failed("b", now: 0) == .mayTryAgain)
        #expect(logins.failed("a", now: 1) != .mayTryAgain)
    }

    @Test func ofTooManyPeersTheOneThatFailedLongestAgoMakesRoom() {
        var logins = FailedLogins(perMinute: 1)
        for peer in 0..<FailedLogins.peersMax { _ = logins.failed("\(peer)", now: Int64(peer)) }
        _ = logins.failed("another", now: 2_000)
        #expect(logins.peerCount == FailedLogins.peersMax)
        #expect(logins.failed("1", now: 2_001) != .mayTryAgain)
        #expect(logins.failed("0", now: 2_001) == .mayTryAgain)
        #expect(logins.peerCount == FailedLogins.peersMax)
    }
}

import Rollout
import Testing

@testable import ControlPlane

/// A gateway that is watched second by second, by clocks that the test sets.
struct WatchedGateway {
    var rules = AlertRules(instance: "gw:9900")
    var seen = AlertObservation(wall: 1_764_500_000_000, monotonic: 50_000)

    /// So many looks, a second apart, at what is seen now.
    mutating func looks(_ count: Int = 1) -> [Alert] {
        var told: [Alert] = []
        for _ in 0..<count {
            told += rules.observe(seen)
            seen.wall += 1000
            seen.monotonic += 1000
        }
        return told
    }

    mutating func gate(_ verdict: GateVerdict, _ name: String = "read_error_rate", reason: String = "3.1 % of 412") {
        seen.gates = [AlertGate(name: name, verdict: verdict, reason: reason)]
    }
}

@Suite struct AlertRulesTests {
    private var gateway = WatchedGateway()

    // MARK: Gates

    @Test mutating func nothingIsToldOfAGatewayThatIsWell() {
        gateway.gate(.pass)
        gateway.seen.parked = (0, 0)
        #expect(gateway.looks(1000) == [])
        #expect(gateway.rules.raised == [])
    }

    @Test mutating func aBreachIsToldOnceAndResolvedWhenTheGateHasPassedForAMinute() throws {
        gateway.seen.plan = "my-migration"
        gateway.gate(.fail, reason: "3.1 % of 412 reads of new, limit 0.5 %")
        let begin = gateway.seen.wall
        let told = gateway.looks(300)
        let alert = try #require(told.first)
        #expect(told.count == 1)
        #expect(alert.name == "CutoverGateFailing" && alert.severity == .critical && alert.status == .firing)
        #expect(alert.labels == ["gate": "read_error_rate", "instance": "gw:9900", "plan": "my-migration"])
        #expect(alert.summary == "Gate read_error_rate fails: 3.1 % of 412 reads of new, limit 0.5 %")
        #expect(alert.startsAt == begin)
        gateway.gate(.pass)
        #expect(gateway.looks(60) == [])
        let resolved = gateway.looks(10)
        #expect(resolved.map(\.status) == [.resolved])
        #expect(resolved.first?.fingerprint == alert.fingerprint && resolved.first?.startsAt == begin)
        #expect(resolved.first?.summary == "Gate read_error_rate passes again")
        #expect(resolved.first?.endsAt == begin + 360_000)
        #expect(gateway.rules.raised == [])
    }

    @Test mutating func aGateThatFlapsIsOneAlert() {
        var told: [Alert] = []
        for round in 0..<50 {
            gateway.gate(round % 2 == 0 ? .fail : .pass)
            told += gateway.looks(30)
        }
        #expect(told.map(\.status) == [.firing])
        gateway.gate(.pass)
        #expect(gateway.looks(120).map(\.status) == [.resolved])
    }

    @Test mutating func aGateWithoutSamplesHasNotRecovered() {
        gateway.gate(.fail)
        _ = gateway.looks(5)
        gateway.gate(.insufficient)
        #expect(gateway.looks(599) == [])
        let resolved = gateway.looks(5)
        #expect(resolved.map(\.status) == [.resolved])
        #expect(resolved.first?.summary.contains("too few samples") == true)
    }

    @Test mutating func samplesThatComeAndGoDoNotKeepAnAlertForEver() {
        gateway.gate(.fail)
        _ = gateway.looks()
        var told: [Alert] = []
        for round in 0..<40 {
            gateway.gate(round % 2 == 0 ? .pass : .insufficient)
            told += gateway.looks(20)
        }
        #expect(told.map(\.status) == [.resolved])
    }

    @Test mutating func whatTheGateSaysNowIsToldAgainToWhoAsks() {
        gateway.gate(.fail, reason: "3 %")
        _ = gateway.looks()
        gateway.gate(.fail, reason: "9 %")
        #expect(gateway.looks() == [])
        #expect(gateway.rules.raised.map(\.summary) == ["Gate read_error_rate fails: 9 %"])
    }

    @Test mutating func aGateThatThePlanHasNoMoreIsResolvedAtOnce() {
        gateway.gate(.fail)
        _ = gateway.looks()
        gateway.seen.gates = []
        #expect(gateway.looks().map(\.status) == [.resolved])
    }

    @Test(arguments: [
        (BreachAction.rollback, "the plan sends everybody back to legacy by itself"),
        (.pause, "the plan pauses the rollout by itself"),
        (.alert, "Nothing happens by itself"),
    ])
    mutating func aBreachSaysWhatThePlanDoes(_ action: BreachAction, _ words: String) {
        gateway.seen.onBreach = action
        gateway.gate(.fail)
        #expect(gateway.looks().first?.description.contains(words) == true)
    }

    // MARK: Parked legs

    @Test mutating func parkedLegsAreToldWhenTheyAppearAndWhenTheyBecomeMoreButNotEverySecond() {
        gateway.seen.parked = (0, 1)
        let first = gateway.looks(30)
        #expect(first.map(\.summary) == ["1 leg is parked (legacy 0, new 1)"])
        #expect(first.first?.labels == [:], "every gateway of a store tells the same of them")
        gateway.seen.parked = (1, 2)
        let second = gateway.looks(120)
        #expect(second.map(\.summary) == ["3 legs are parked (legacy 1, new 2)"], "once, when a minute is over")
        gateway.seen.parked = (0, 1)
        #expect(gateway.looks(120) == [], "fewer is no news")
        gateway.seen.parked = (0, 2)
        #expect(gateway.looks(120).count == 1, "grown again")
        gateway.seen.parked = (0, 0)
        #expect(gateway.looks(120).map(\.status) == [.resolved])
    }

    @Test mutating func aLegThatIsReplayedAndParkedAgainIsTheSameAlert() {
        gateway.seen.parked = (0, 1)
        _ = gateway.looks()
        for _ in 0..<10 {
            gateway.seen.parked = (0, 0)
            #expect(gateway.looks(3) == [])
            gateway.seen.parked = (0, 1)
            #expect(gateway.looks(3) == [])
        }
    }

    @Test mutating func nothingIsResolvedWhileTheStoreCannotSay() {
        gateway.seen.parked = (0, 1)
        _ = gateway.looks()
        gateway.seen.parked = nil
        #expect(gateway.looks(2000) == [])
        #expect(gateway.rules.raised.count == 1)
    }

    // MARK: Lag, store, backends

    @Test mutating func aLagAboveTheLimitIsToldForEachBackend() {
        gateway.seen.lagSeconds = (0, 31)
        let told = gateway.looks(10)
        #expect(told.map(\.labels) == [["backend": "new", "instance": "gw:9900"]])
        #expect(told.first?.summary == "The oldest write for new has waited 31 s, limit 30 s")
        gateway.seen.lagSeconds = (45, 31)
        #expect(gateway.looks(10).map { $0.labels["backend"] } == ["legacy"])
        gateway.seen.lagSeconds = (0, 30)
        #expect(gateway.looks(31).map(\.status) == [.resolved, .resolved], "at the limit is not above it")
    }

    @Test mutating func aLagThatIsSeenOnceIsAClockThatWasSet() {
        gateway.seen.lagSeconds = (3600, 3600)
        #expect(gateway.looks(1) == [])
        gateway.seen.lagSeconds = (0, 0)
        #expect(gateway.looks(60) == [])
    }

    @Test mutating func aStoreThatRefusesOneGroupIsNoAlertAndOneThatGoesOnIs() {
        gateway.seen.isStoreWritable = false
        #expect(gateway.looks(2) == [])
        gateway.seen.isStoreWritable = true
        #expect(gateway.looks(60) == [])
        gateway.seen.isStoreWritable = false
        let told = gateway.looks(10)
        #expect(told.map(\.name) == ["CutoverJournalNotWritable"] && told.first?.severity == .critical)
        gateway.seen.isStoreWritable = true
        #expect(gateway.looks(12).map(\.status) == [.resolved])
    }

    @Test mutating func aSharedStoreThatIsAwayIsTold() {
        gateway.seen.isStoreConnected = false
        #expect(gateway.looks(5).first?.summary == "Writes cannot be made durable: the shared store does not answer")
    }

    @Test mutating func aStoreThatHangsIsToldWithoutAnyError() {
        gateway.seen.journalQueue = 3
        for groups in 1...20 {
            gateway.seen.journalGroups = UInt64(groups)
            #expect(gateway.looks() == [], "a busy one makes progress")
        }
        let told = gateway.looks(20)
        #expect(told.map(\.summary) == ["Writes cannot be made durable: the store hangs"])
        gateway.seen.journalQueue = 0
        #expect(gateway.looks(20).map(\.status) == [.resolved])
    }

    @Test mutating func aBackendThatFailsIsTold() {
        gateway.seen.isHealthy = (true, false)
        let told = gateway.looks(100)
        #expect(told.map(\.name) == ["CutoverBackendUnhealthy"] && told.first?.labels["backend"] == "new")
        #expect(told.first?.severity == .warning)
        gateway.seen.isHealthy = (false, true)
        let later = gateway.looks(100)
        #expect(later.map(\.severity) == [.critical, .warning] && later.map(\.status) == [.firing, .resolved])
    }

    @Test mutating func aBreakerThatOpensAndClosesIsOneAlert() {
        var told: [Alert] = []
        for round in 0..<60 {
            gateway.seen.isHealthy.new = round % 2 == 0
            told += gateway.looks(6)
        }
        #expect(told.map(\.status) == [.firing])
    }

    // MARK: Clocks and restarts

    @Test mutating func aClockThatIsSetChangesNoDuration() {
        gateway.gate(.fail)
        _ = gateway.looks()
        gateway.gate(.pass)
        _ = gateway.looks()
        gateway.seen.wall += 86_400_000
        #expect(gateway.looks(50) == [], "a day of the wall clock is no day")
        #expect(gateway.looks(20).map(\.status) == [.resolved])
    }

    @Test mutating func anAlertNeverEndsBeforeItBegins() throws {
        gateway.gate(.fail)
        _ = gateway.looks()
        gateway.seen.wall -= 3_600_000
        _ = gateway.looks()
        let raised = try #require(gateway.rules.raised.first)
        #expect(raised.startsAt < gateway.seen.wall, "nor does it begin in the future")
        gateway.gate(.pass)
        let resolved = try #require(gateway.looks(70).first)
        #expect(try #require(resolved.endsAt) >= resolved.startsAt)
    }

    @Test mutating func afterARestartWhatIsStillWrongIsToldAnewAsTheSame() throws {
        gateway.seen.parked = (0, 1)
        let before = try #require(gateway.looks().first)
        var restarted = WatchedGateway()
        restarted.seen.wall = gateway.seen.wall + 5_000
        restarted.seen.monotonic = 1_000
        restarted.gate(.warmingUp)
        #expect(
            restarted.looks(100) == [], "nothing is known of parked legs yet, and a gate that warms up says nothing")
        restarted.seen.parked = (0, 1)
        let after = restarted.looks(100)
        #expect(after.map(\.fingerprint) == [before.fingerprint])
    }

    @Test mutating func fingerprintsTellAlertsApart() {
        gateway.seen.gates = ["read_error_rate", "write_p95", "conflict_rate"].map {
            AlertGate(name: $0, verdict: .fail, reason: "")
        }
        gateway.seen.lagSeconds = (100, 100)
        gateway.seen.isHealthy = (false, false)
        gateway.seen.isStoreWritable = false
        gateway.seen.parked = (1, 1)
        let told = gateway.looks(10)
        #expect(told.count == 9 && Set(told.map(\.fingerprint)).count == 9)
        #expect(told.allSatisfy { $0.fingerprint.count == 16 && !$0.description.isEmpty && $0.runbook.contains("#") })
    }
}

import Journal
import Rollout
import TestSupport
import Testing

@testable import ControlPlane

/// Which record a decision may be stored over.
struct RolloutStepsTests {
    @Test func aDecisionIsStoredOverTheOneThatItWasMadeOnAndOverNoOther() {
        var steps = RolloutSteps(stored: record(1), as: state(1))
        let first = steps.decide(state(2), as: record(2), standsUnstored: false)
        let second = steps.decide(state(3), as: record(3), standsUnstored: false)
        #expect(first.isStored(over: record(1)) && !first.isStored(over: nil))
        #expect(second.isStored(over: record(2)) && !second.isStored(over: record(1)))
        #expect(!second.isStored(over: record(2, by: "another")), "another gateway was quicker with this generation")
        #expect(steps.state.generation == 3)
    }

    @Test func whatTheStoreRefusedFallsWithAllThatWasDecidedOnIt() {
        var steps = RolloutSteps(stored: record(1), as: state(1))
        let first = steps.decide(state(2), as: record(2), standsUnstored: false)
        let second = steps.decide(state(3), as: record(3), standsUnstored: false)
        steps.fall(first)
        #expect(steps.state.generation == 1)
        let third = steps.decide(state(2), as: record(2, by: "third"), standsUnstored: false)
        steps.fall(second)
        #expect(steps.state.generation == 2, "what was decided after the fall does not stand on it")
        #expect(third.isStored(over: record(1)))
    }

    @Test func overARollbackThatWasNotStoredTheNextIsStoredAsWellAsOverOneThatWas() {
        var steps = RolloutSteps(stored: nil, as: state(0))
        _ = steps.decide(state(1), as: record(1), standsUnstored: true)
        let next = steps.decide(state(2), as: record(2), standsUnstored: false)
        #expect(next.isStored(over: nil) && next.isStored(over: record(1)) && !next.isStored(over: record(3)))
        let last = steps.decide(state(3), as: record(3), standsUnstored: false)
        #expect(last.isStored(over: record(2)) && !last.isStored(over: record(1)))
    }

    @Test func anEarlierRecordReadWhileLaterOnesAreOnTheirWayMovesNothingBack() {
        var steps = RolloutSteps(stored: record(5), as: state(5))
        let first = steps.decide(state(6), as: record(6), standsUnstored: false)
        let second = steps.decide(state(7), as: record(7), standsUnstored: false)
        steps.see(record(6), as: state(6))
        steps.stored(first)
        steps.stored(second)
        #expect(steps.state.generation == 7)
        steps.see(record(6), as: state(6))
        #expect(steps.state.generation == 7)
    }

    @Test func anotherGatewaysDecisionTakesThePlaceOfWhatIsOnItsWay() {
        var steps = RolloutSteps(stored: record(5), as: state(5))
        let mine = steps.decide(state(6), as: record(6), standsUnstored: false)
        steps.see(record(6, by: "another"), as: state(6, percent: 40))
        #expect(steps.state.percentHundredths == 40)
        steps.fall(mine)
        #expect(steps.state.percentHundredths == 40)
        #expect(steps.decide(state(7), as: record(7), standsUnstored: false).isStored(over: record(6, by: "another")))
    }

    @Test func aRollbackInForceCountsUntilItIsStoredOrFalls() {
        var steps = RolloutSteps(stored: record(5), as: state(5, percent: 50))
        _ = steps.decide(state(6, percent: 50), as: record(6), standsUnstored: false)
        let back = steps.decide(state(7), as: record(7), standsUnstored: true)
        steps.see(record(6, by: "another"), as: state(6, percent: 40))
        #expect(steps.state.percentHundredths == 0)
        steps.fall(back)
        #expect(steps.state.percentHundredths == 40)
    }

    /// Several gateways with commands under way, reads and saves that are answered in any order: every command that was answered
    /// with success is one generation of the history, and stands on the one before.
    @Test(arguments: 0..<200) func noGatewayPassesOverWhatAnotherHasDecided(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var store: RolloutRecord? = nil
        var history: [String] = []
        var gateways = (0..<3).map { _ in Played() }
        var accepted: [String] = []
        for number in 0..<400 {
            let index = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                gateways[index].decide("\(index)-\(number)")
            case 1:
                // The store takes the saves of a gateway in their order.
                guard let waiting = gateways[index].waiting.first else { continue }
                gateways[index].waiting.removeFirst()
                let fits = waiting.step.isStored(over: store)
                if fits {
                    #expect(waiting.on == (store?.details ?? ""), "what \(waiting.name) was decided on")
                    store = waiting.step.record
                    history.append(waiting.name)
                }
                gateways[index].answers.append((waiting, fits))
            case 2:
                guard let (answer, fits) = gateways[index].takeAnswer(using: &random) else { continue }
                if fits {
                    accepted.append(answer.name)
                    gateways[index].steps.stored(answer.step)
                } else {
                    gateways[index].steps.fall(answer.step)
                    if let store { gateways[index].see(store) }
                }
            default:
                gateways[index].takeRead()
                gateways[index].reads.append(store)
            }
        }
        let pending = gateways.flatMap { $0.answers.filter(\.fits).map(\.waiting.name) }
        #expect(Set(accepted + pending) == Set(history) && accepted.count + pending.count == history.count)
        #expect(history.count > 10)
    }
}

/// A gateway that decides, and whose saves and reads are answered whenever the test says.
private struct Played {
    struct Waiting {
        var step: RolloutSteps.Step
        var name: String
        /// Name of the state that it was decided on.
        var on: String
    }

    var steps = RolloutSteps(stored: nil, as: state(0, by: ""))
    var waiting: [Waiting] = []
    var answers: [(waiting: Waiting, fits: Bool)] = []
    var reads: [RolloutRecord?] = []

    mutating func decide(_ name: String) {
        let record = record(steps.state.generation + 1, by: name)
        let on = steps.state.stageName ?? ""
        let step = steps.decide(state(record.generation, by: name), as: record, standsUnstored: false)
        waiting.append(Waiting(step: step, name: name, on: on))
    }

    mutating func takeAnswer(using random: inout SeededGenerator) -> (Waiting, Bool)? {
        guard !answers.isEmpty else { return nil }
        let answer = answers.remove(at: Int.random(in: 0..<answers.count, using: &random))
        return (answer.waiting, answer.fits)
    }

    mutating func takeRead() {
        guard let read = reads.popLast() else { return }
        if let read { see(read) }
    }

    mutating func see(_ record: RolloutRecord) {
        steps.see(record, as: state(record.generation, by: record.details))
    }
}

private func state(_ generation: Int64, percent hundredths: Int = 0, by name: String? = nil) -> RolloutState {
    var state = RolloutMachine(plan: nil, configuredShadowHundredths: 0).freshState(atMilliseconds: 0)
    state.generation = generation
    state.percentHundredths = hundredths
    state.stageName = name
    return state
}

private func record(_ generation: Int64, by name: String = "") -> RolloutRecord {
    RolloutRecord(
        generation: generation, plan: "", stage: "", percentHundredths: 0, state: "running", sinceMilliseconds: 0,
        details: name)
}

import Rollout
import Testing

/// A small generator with a seed, so that a failure can be played again (Marsaglia's xorshift64).
private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

private func randomCommand(using random: inout Seeded) -> RolloutCommand {
    let names: [String?] = [nil, nil, "dual-write", "shadow", "canary", "early", "half", "full", "nowhere"]
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1: return .promote(to: names.randomElement(using: &random)!, force: Bool.random(using: &random))
    case 2: return .rollback(to: names.randomElement(using: &random)!)
    case 3: return .pause
    case 4: return .resume
    case 7, 8: return .stopLegacy
    case 9: return .resumeLegacy(force: Bool.random(using: &random))
    case 5: return .setPercent(hundredths: Int.random(in: -10...10_010, using: &random))
    default: return .setPercent(hundredths: [0, 100, 1000, 5000, 10_000].randomElement(using: &random)!)
    }
}

/// Three machines that share a state, as instances do whose plans were reloaded at different times.
private func machines() -> [RolloutMachine] {
    var short = shippedPlan()
    short.stages.removeLast(3)
    short.stages[0].dualWrite = false
    return [
        RolloutMachine(plan: shippedPlan(), configuredShadowHundredths: 500),
        RolloutMachine(plan: short, configuredShadowHundredths: 500),
        RolloutMachine(plan: nil, configuredShadowHundredths: 500),
    ]
}

@Test(arguments: 1...20 as ClosedRange<UInt64>)
func noSequenceOfCommandsBreaksTheRollout(seed: UInt64) {
    var random = Seeded(state: seed &* 0x9e37_79b9_7f4a_7c15)
    let machines = machines()
    var state = machines[0].freshState(atMilliseconds: 0)
    for step in 1...300 {
        let machine = step % 10 == 0 ? machines.randomElement(using: &random)! : machines[0]
        let command = randomCommand(using: &random)
        switch machine.apply(command, to: state, atMilliseconds: Int64(step)) {
        case .changed(let next, _):
            #expect(next.generation == state.generation + 1, "seed \(seed) step \(step) \(command)")
            expectSound(next, machine, "seed \(seed) step \(step) \(command)")
            state = next
        case .unchanged(let same, _):
            #expect(same.generation == state.generation, "seed \(seed) step \(step) \(command)")
        case .refused(let reasons):
            #expect(!reasons.isEmpty)
            if case .rollback(to: nil) = command { Issue.record("seed \(seed) step \(step): rollback refused") }
        }
    }
}

private func expectSound(_ state: RolloutState, _ machine: RolloutMachine, _ when: Comment) {
    #expect((0...10_000).contains(state.percentHundredths), when)
    #expect(state.dualWrite || state.percentHundredths == 0, when)
    #expect(state.legacyWrites || state.percentHundredths == 10_000, when)
    #expect(state.legacyWrites || state.condition != .rolledBack, when)
    #expect(state.planName == machine.plan?.name, when)
    guard let plan = machine.plan else {
        #expect(state.stageIndex == nil && state.stageName == nil, when)
        return
    }
    guard let index = state.stageIndex, plan.stages.indices.contains(index) else {
        Issue.record("no stage: \(when)")
        return
    }
    let stage = plan.stages[index]
    #expect(state.stageName == stage.name && state.shadowHundredths == stage.shadowHundredths, when)
    #expect(state.isPercentDirect == (state.percentHundredths != stage.percentHundredths), when)
    #expect(state.condition != .complete || index == plan.stages.count - 1, when)
    #expect(machine.adopting(state, atMilliseconds: 1 << 40) == state, when)
}

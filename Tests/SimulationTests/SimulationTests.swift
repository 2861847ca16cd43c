import Testing

@Test func nothingAcknowledgedIsLostWhateverDiesAndWhen() {
    for seed in 1...20 as ClosedRange<UInt64> {
        let simulation = Simulation(seed: seed)
        let violations = simulation.run()
        print("seed \(seed): \(simulation.steps) steps, \(simulation.crashes) crashes, \(violations)")
        #expect(violations == [], "seed \(seed)")
    }
}

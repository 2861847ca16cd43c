import FoundationEssentials
import Testing

@Test func nothingAcknowledgedIsLostWhateverDiesAndWhen() {
    let range = ProcessInfo.processInfo.environment["CUTOVER_SIMULATE_SEEDS"] ?? "1..200"
    let parts = range.split(separator: ".").compactMap { UInt64($0) }
    let seeds = parts.count == 2 ? parts[0]...parts[1] : parts[0]...parts[0]
    var failed: [UInt64] = []
    for seed in seeds {
        let simulation = Simulation(seed: seed, isTraced: seeds.count == 1)
        let violations = simulation.run()
        if seeds.count == 1 { print(simulation.trace.joined(separator: "\n")) }
        if !violations.isEmpty {
            print("seed \(seed): \(simulation.steps) steps, \(simulation.crashes) crashes, \(violations)")
            failed.append(seed)
        }
    }
    #expect(failed == [])
}

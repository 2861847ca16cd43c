import Testing

@testable import Gateway

struct SimulationTests {
    /// Every second seed each, so that two processors share the work.
    private static let slices = [0, 1]

    @Test(arguments: slices)
    func nothingAcknowledgedIsLostWhateverDiesAndWhen(slice: Int) async {
        let failures = await onOwnThread {
            var failures: [String] = []
            for (index, seed) in Seeds.wanted.enumerated() where index % Self.slices.count == slice {
                if let failure = Self.failure(of: seed) { failures.append(failure) }
                // One is enough to look at; a broken promise tends to break again and again.
                if failures.count == 3 { break }
            }
            return failures
        }
        #expect(failures == [])
    }

    /// Runs a seed; once more, with all that happened printed, when a promise broke.
    private static func failure(of seed: UInt64) -> String? {
        let violations = Simulation(seed: seed).run()
        guard !violations.isEmpty else { return nil }
        let again = Simulation(seed: seed, isTraced: true)
        let same = again.run() == violations
        print("seed \(seed): \(violations)\(same ? "" : " (and another run of it differs)")")
        print(again.trace.suffix(400).map { "  " + $0 }.joined(separator: "\n"))
        print("Once more: make simulate SEEDS=\(seed)..\(seed)")
        return "seed \(seed): \(violations.joined(separator: "; "))"
    }

    @Test func aSeedIsTheSameRunEveryTime() async {
        let traces = await onOwnThread {
            (1...12 as ClosedRange<UInt64>).map { seed in
                (0..<2).map { _ in
                    let simulation = Simulation(seed: seed, isTraced: true)
                    let violations = simulation.run()
                    return simulation.trace + violations
                }
            }
        }
        for (index, pair) in traces.enumerated() {
            #expect(pair[0].count > 20 && pair[0] == pair[1], "seed \(index + 1)")
        }
    }

    /// What the promises are about has to happen, or they are kept by standing still.
    @Test func theRunsReachWhatTheyAreAbout() async {
        let tally = await onOwnThread {
            var tally = Tally()
            for seed in 1...120 as ClosedRange<UInt64> {
                let simulation = Simulation(seed: seed)
                _ = simulation.run()
                tally.add(simulation.tally)
            }
            return tally
        }
        print("120 seeds: \(tally)")
        #expect(tally.missing == [])
    }

    @Test func seedsAreReadAsACountOrARange() {
        #expect(Seeds.range("3") == 1...3)
        #expect(Seeds.range("7..9") == 7...9)
        #expect(Seeds.range("7..7") == 7...7)
        for text in ["", "0", "x", "9..7", "7...9x", "1..2..3", "1.2"] { #expect(Seeds.range(text) == nil, "\(text)") }
    }
}

/// Runs a body on a thread of its own: a simulation takes long, and must keep its thread for itself.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        startThread(name: "simulation") { continuation.resume(returning: body()) }
    }
}

import Configuration
import Gateway
import Journal
import Rollout
import Telemetry
import Testing

@testable import ControlPlane

private func verdicts(
    _ figures: FourFigures, plan: Plan?, lag: Double = 0
) -> [GateName: Verdict] {
    Dictionary(uniqueKeysWithValues: readGates(figures, plan: plan, lagSeconds: lag).map { ($0.name, $0.verdict) })
}

private func allGates(_ threshold: Double) -> Gates {
    var gates = Gates()
    gates.readErrorRate = threshold
    gates.writeP95Seconds = threshold
    gates.conflictRate = threshold
    gates.fallbackRate = threshold
    gates.mismatchRate = threshold
    gates.journalLagSeconds = threshold
    return gates
}

private func figures(_ value: Double, samples: UInt64, windowFull: Bool = true) -> FourFigures {
    let figure = Figure(value: value, samples: samples)
    var figures = FourFigures()
    figures.readErrorRatio = ByBackend(legacy: figure, new: .none)
    figures.writeP95Seconds = ByBackend(legacy: .none, new: figure)
    figures.conflictRatio = figure
    figures.fallbackRatio = figure
    figures.mismatchRatio = figure
    figures.windowFull = windowFull
    return figures
}

@Test func everyGateOfThePlanIsReadAgainstItsThreshold() {
    let plan = plan(gates: allGates(0.1), minSamples: 10)
    for (value, samples, full, verdict) in [
        (0.1, 10, true, .pass), (0.11, 10, true, .fail), (0.11, 9, true, .insufficient), (0.05, 9, true, .insufficient),
        (0.05, 10, false, .warmingUp), (0.11, 10, false, .fail),
    ] as [(Double, UInt64, Bool, Verdict)] {
        let found = verdicts(figures(value, samples: samples, windowFull: full), plan: plan, lag: value)
        for name in GateName.allCases where name != .journalLag {
            #expect(found[name] == verdict, "\(name) \(value) \(samples)")
        }
    }
}

@Test func theLagIsNoStatistic() {
    let plan = plan(gates: allGates(30), minSamples: 1000)
    #expect(verdicts(figures(0, samples: 0), plan: plan, lag: 30)[.journalLag] == .pass)
    #expect(verdicts(figures(0, samples: 0), plan: plan, lag: 31)[.journalLag] == .fail)
    #expect(verdicts(figures(0, samples: 0, windowFull: false), plan: plan, lag: 31)[.journalLag] == .fail)
}

@Test func aGateLooksAtNewOnceNewHasEnough() {
    let plan = plan(gates: allGates(0.1), minSamples: 10)
    var figures = figures(0, samples: 100)
    figures.readErrorRatio = ByBackend(legacy: Figure(value: 0, samples: 100), new: Figure(value: 1, samples: 9))
    #expect(verdicts(figures, plan: plan)[.readErrorRate] == .pass)
    figures.readErrorRatio.new.samples = 10
    #expect(verdicts(figures, plan: plan)[.readErrorRate] == .fail)
}

@Test func withoutAThresholdNothingFailsAndTheFigureIsStillShown() throws {
    for plan in [nil, plan()] {
        let gates = readGates(figures(1, samples: 1000), plan: plan, lagSeconds: 1e9)
        #expect(
            gates.map(\.name) == GateName.allCases && gates.allSatisfy { $0.threshold == nil && $0.verdict != .fail })
        #expect(gates.first?.figure == Figure(value: 1, samples: 1000))
    }
}

@Test func theBoardSumsTheLoopsAndItsOwnCountersOverTheWindow() async throws {
    let house = try await House()
    let dataPlane = DataPlane(snapshot: await house.controller.snapshot, journal: house.journal, workers: 2)
    let board = FigureBoard(dataPlane: dataPlane, control: house.metrics, windowSeconds: 1_000_000)
    #expect(board.figures().0.readErrorRatio.new == .none)
    for number in 0..<10 { dataPlane.metrics[number % 2].read(.new, failed: number < 3) }
    dataPlane.metrics[1].writeReceived()
    house.metrics.conflictedWrite()
    board.tick()
    let (figures, totals) = board.figures()
    #expect(figures.readErrorRatio.new == Figure(value: 0.3, samples: 10) && figures.conflictRatio.value == 1)
    #expect(!figures.windowFull && totals.reads(.new, failed: false) == 7)
    board.restart(windowSeconds: 1_000_000)
    #expect(board.figures().0.readErrorRatio.new == .none && board.snapshot().reads(.new, failed: true) == 3)
    house.close()
}

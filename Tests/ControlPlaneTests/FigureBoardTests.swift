import Configuration
import Gateway
import Journal
import Rollout
import Telemetry
import Testing

@testable import ControlPlane

@Test func theFiguresOfTheWindowStandBesideWhatTheirGatesSay() throws {
    var figures = FourFigures()
    figures.readErrorRatio = ByBackend(legacy: Figure(value: 0, samples: 300), new: Figure(value: 0.5, samples: 9))
    let findings = GateJudge(plan: plan()).judge(
        GateEvidence(),
        in: RolloutMachine(
            plan: plan(), configuredShadowHundredths: 0
        ).freshState(atMilliseconds: 0))
    let gates = gateReadings(figures, plan: plan(), findings)
    #expect(gates.map(\.name) == GateName.allCases && gates.allSatisfy { $0.threshold == nil && $0.verdict != .fail })
    #expect(gates.first?.figure == Figure(value: 0, samples: 300), "legacy's, as long as new has too few")
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

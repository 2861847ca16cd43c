import Testing

@testable import Demo

@Test(arguments: [
    (0.0, "0 %"), (0.000_01, "<0.01 %"), (0.0052, "0.52 %"), (0.5, "50.00 %"), (1.0, "100 %"),
])
func aShareNeverLooksLikeNothing(ratio: Double, text: String) {
    #expect(share(ratio) == text)
    #expect(share(nil) == "–")
}

@Test(arguments: [(0.0032, "3.2 ms"), (0.042, "42 ms"), (1.44, "1.4 s"), (61, "61.0 s")])
func aDurationHasTheUnitThatFits(seconds: Double, text: String) {
    #expect(duration(seconds) == text)
}

@Test func numbersAreReadable() {
    #expect(grouped(1_234_567) == "1,234,567")
    #expect(grouped(-1000) == "-1,000")
    #expect(counted(1, "write") == "1 write")
    #expect(counted(0, "write") == "0 writes")
    #expect(percent(12.5) == "12.5 %")
    #expect(percent(0.01) == "0.01 %")
    #expect(percent(100) == "100 %")
}

private func goodReport() -> DemoReport {
    var report = DemoReport()
    report.secondDevice = SecondDeviceReport(
        user: "mara", acknowledgedRevision: 8, sentRevision: 7, status: 409, currentRevision: 8, receivedRevision: 7,
        action: "refresh", refreshedRevision: 8, retriedRevision: 9, retriedStatus: 200)
    report.outage = OutageReport(
        seconds: 1, requests: 1, clientErrors: 0, fallbacks: 1, breakerOpen: 0, pendingPeak: 1, drainSeconds: 1)
    report.rollback = RollbackReport(seconds: 0.01, fromPercent: 100, toPercent: 0, answersByNew: 0)
    report.comparison = ComparisonReport(records: 5, tombstones: 0, different: 0, lost: 0)
    return report
}

@Test func aStoryThatKeptItsPromisesIsAsPromised() {
    #expect(goodReport().isAsPromised)
}

enum BrokenPromise: CaseIterable {
    case clientError, parkedLeg, noOutage, noComparison, difference, lostWrite, acceptedStaleWrite, wrongRevision,
        refusedRefresh
    case notRolledBack

    func apply(to report: inout DemoReport) {
        switch self {
        case .clientError: report.clientErrors = 1
        case .parkedLeg: report.parkedLegs = 1
        case .noOutage: report.outage = nil
        case .noComparison: report.comparison = nil
        case .difference: report.comparison?.different = 1
        case .lostWrite: report.comparison?.lost = 1
        case .acceptedStaleWrite: report.secondDevice?.status = 200
        case .wrongRevision: report.secondDevice?.currentRevision = 7
        case .refusedRefresh: report.secondDevice?.retriedStatus = 409
        case .notRolledBack: report.rollback?.toPercent = 50
        }
    }
}

@Test(arguments: BrokenPromise.allCases)
func oneBrokenPromiseIsEnough(broken: BrokenPromise) {
    var report = goodReport()
    broken.apply(to: &report)
    #expect(!report.isAsPromised)
}

import Journal
import Testing

@Suite struct JudgingTheAuthoritativeLeg {
    @Test(arguments: [200, 201, 202, 204, 207, 299, 302, 303])
    func successAndSeeOtherAreAccepted(status: Int) {
        #expect(judgeAuthoritative(.answered(status: status)) == .accepted)
    }

    @Test(arguments: [300, 301, 304, 307, 308, 400, 404, 409, 412, 413, 422, 499])
    func everyOther4xxAndRedirectIsRefused(status: Int) {
        #expect(judgeAuthoritative(.answered(status: status)) == .refused)
    }

    @Test(arguments: [401, 403, 407, 408, 425, 429])
    func notNowAndNotWithTheseCredentialsIsNoRefusalForGood(status: Int) {
        #expect(judgeAuthoritative(.answered(status: status)) == .turnedAway)
    }

    @Test(arguments: [
        ("DELETE", 404, false), ("DELETE", 410, false), ("MKCOL", 405, false), ("POST", 409, true), ("PUT", 412, true),
    ])
    func whatTheFirstTryMayHaveDoneHoldsForARepeat(method: String, status: Int, hasRevision: Bool) {
        #expect(judgeRepeated(.answered(status: status), method: method, hasRevision: hasRevision) == .accepted)
        #expect(judgeRepeated(.answered(status: status), method: "PATCH", hasRevision: false) == .refused)
    }

    @Test(arguments: [500, 501, 502, 503, 504, 599])
    func serverErrorsFail(status: Int) {
        #expect(judgeAuthoritative(.answered(status: status)) == .failed(.serverError))
    }

    @Test(arguments: [0, 99, 100, 103, 199, 600, 999])
    func aStatusThatIsNoFinalAnswerIsGarbage(status: Int) {
        #expect(judgeAuthoritative(.answered(status: status)) == .failed(.broken))
    }

    @Test func noAnswerFailsWithItsCause() {
        #expect(judgeAuthoritative(.connectFailed) == .failed(.connect))
        #expect(judgeAuthoritative(.timedOut) == .failed(.timeout))
        #expect(judgeAuthoritative(.broken) == .failed(.broken))
    }
}

@Suite struct JudgingTheOtherLeg {
    private func judge(
        _ status: Int, isDelete: Bool = false, hasRevision: Bool = false, refusals: Int = 0, answered: Int? = nil
    ) -> SecondaryVerdict {
        judgeSecondary(
            .answered(status: status), isDelete: isDelete, hasRevision: hasRevision, refusals: refusals,
            answeredStatus: answered)
    }

    @Test(arguments: [200, 201, 204, 299])
    func successHolds(status: Int) { #expect(judge(status) == .applied) }

    @Test(arguments: [404, 410])
    func whatIsAbsentHoldsAfterADelete(status: Int) {
        #expect(judge(status, isDelete: true, refusals: 3) == .applied)
        #expect(judge(status, isDelete: false) == .retryRefused)
    }

    @Test(arguments: [409, 412])
    func aRevisionConflictMeansNewer(status: Int) {
        #expect(judge(status, hasRevision: true, refusals: 9) == .superseded)
        #expect(judge(status, hasRevision: false) == .retryRefused)
        #expect(judge(status, hasRevision: false, refusals: 3) == .parked)
    }

    @Test(arguments: [301, 307, 400, 401, 403, 404, 413, 422])
    func aRefusalIsTriedThreeTimesMoreThenParked(status: Int) {
        let verdicts = (0...3).map { judge(status, refusals: $0) }
        #expect(verdicts == [.retryRefused, .retryRefused, .retryRefused, .parked])
    }

    @Test(arguments: [302, 303])
    func aRedirectHoldsOnlyWhereTheClientGotOne(status: Int) {
        #expect(judge(status, answered: 302) == .applied)
        #expect(judge(status, answered: 303) == .applied)
        #expect(judge(status, answered: 200) == .retryRefused)
        #expect(judge(status, refusals: 3, answered: 200) == .parked)
    }

    @Test(arguments: [408, 425, 429, 500, 501, 502, 503, 504, 100, 199, 600])
    func whatMayPassIsRetriedForEver(status: Int) {
        #expect(judge(status, isDelete: true, hasRevision: true, refusals: 1_000) == .retry)
    }

    @Test(arguments: [LegOutcome.connectFailed, .timedOut, .broken])
    func noAnswerIsRetriedForEver(outcome: LegOutcome) {
        #expect(judgeSecondary(outcome, isDelete: true, hasRevision: true, refusals: 1_000) == .retry)
    }
}

import Journal
import Testing

@Suite struct RetryDelays {
    @Test func theyGrowFromTheMinimumToTheMaximum() {
        let bounds: [(attempt: Int, low: Int64, high: Int64)] = [
            (1, 100, 200), (2, 200, 400), (3, 400, 800), (8, 12_800, 25_600), (9, 15_000, 30_000), (60, 15_000, 30_000),
            (.max, 15_000, 30_000),
        ]
        for bound in bounds {
            let low = retryDelay(attempt: bound.attempt, minimum: 100, maximum: 30_000, random: 0)
            #expect(low == bound.low)
            let span = UInt64(bound.high - bound.low)
            #expect(retryDelay(attempt: bound.attempt, minimum: 100, maximum: 30_000, random: span) == bound.high)
            let any = retryDelay(attempt: bound.attempt, minimum: 100, maximum: 30_000, random: .max)
            #expect((bound.low...bound.high).contains(any))
        }
    }

    @Test func oddBoundsNeverTrap() {
        #expect(retryDelay(attempt: 0, minimum: 0, maximum: 0, random: 7) == 1)
        #expect(retryDelay(attempt: 5, minimum: 500, maximum: 100, random: 7) == 500)
        #expect(retryDelay(attempt: 90, minimum: .max / 2, maximum: .max, random: 0) >= .max / 2)
    }
}

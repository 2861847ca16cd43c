import TestSupport
import Testing

@testable import Rollout

@Suite struct SequentialTestTests {
    private let test = SequentialTest(confidence: 0.999)

    @Test func logarithmsAndPowersAreThoseOfTheTables() {
        for (value, expected) in [
            (1, 0), (2, 0.6931471805599453), (10, 2.302585092994046), (0.001, -6.907755278982137),
            (0.95, -0.05129329438755058), (1e300, 690.7755278982137),
        ] as [(Double, Double)] {
            #expect(abs(logarithm(value) - expected) <= 1e-12 * max(1, abs(expected)), "\(value)")
        }
        #expect(logarithm(0) == -.infinity)
        for (value, expected) in [
            (0, 1), (-1, 0.36787944117144233), (-10, 4.5399929762484854e-05), (-0.001, 0.9990004998333750),
        ] as [(Double, Double)] {
            #expect(abs(exponential(value) - expected) <= 1e-12 * expected, "\(value)")
        }
        #expect(exponential(-1000) == 0)
    }

    @Test func oneErrorAmongTwentyProvesNothingAtHalfAPercent() {
        #expect(!test.isAbove(limit: 0.005, events: 1, trials: 20))
        #expect(!test.isAbove(limit: 0.005, events: 2, trials: 20))
        #expect(!test.isAbove(limit: 0.005, events: 0, trials: 1_000_000))
    }

    @Test func aRealRegressionIsProvenWithinTheFirstFewHundredRequests() throws {
        // Errors that come evenly: at which request is it proven?
        func requests(share: Double, limit: Double) -> UInt64? {
            (1...100_000).first { test.isAbove(limit: limit, events: UInt64(Double($0) * share), trials: $0) }
        }
        #expect(try #require(requests(share: 0.05, limit: 0.005)) < 250)
        #expect(try #require(requests(share: 0.10, limit: 0.01)) < 150)
        #expect(try #require(requests(share: 0.50, limit: 0.005)) < 10)
        #expect(try #require(requests(share: 1, limit: 0.05)) < 10)
        #expect(try #require(requests(share: 0.02, limit: 0.005)) < 1_500)
        #expect(requests(share: 0.005, limit: 0.005) == nil)
    }

    @Test func theEdgesOfALimit() {
        #expect(test.isAbove(limit: 0, events: 1, trials: 1_000) && !test.isAbove(limit: 0, events: 0, trials: 1_000))
        #expect(!test.isAbove(limit: 1, events: 1_000, trials: 1_000))
        #expect(test.isAbove(limit: 0.98, events: 1_000, trials: 1_000))
        #expect(!test.isAbove(limit: 0.5, events: 0, trials: 0))
    }

    /// Asked after every request, of a backend that is exactly at its limit: it must not be called too high more often than stated.
    @Test(arguments: [0.005, 0.05, 0.3]) func aBackendAtItsLimitIsHardlyEverFailedHoweverOftenOneLooks(limit: Double) {
        let loose = SequentialTest(confidence: 0.95)
        var alarms = 0
        for stream in 0..<1_000 {
            var random = SeededGenerator(seed: UInt64(stream))
            var events: UInt64 = 0
            for trial in 1...1_500 {
                guard Double.random(in: 0..<1, using: &random) < limit else { continue }
                events += 1
                // Only an event can be news.
                if loose.isAbove(limit: limit, events: events, trials: UInt64(trial)) {
                    alarms += 1
                    break
                }
            }
        }
        // 5 % of 1,000, and four standard deviations of chance.
        #expect(alarms <= 50 + 28)
        #expect(alarms > 0, "a test that can never alarm would prove nothing")
    }

    @Test func theUpperBoundOfAShareHoldsItAndComesCloserWithMoreSamples() {
        let bounds = [100, 1_000, 10_000].map { test.upperBound(events: UInt64($0 / 100), trials: UInt64($0)) }
        #expect(bounds[0] > bounds[1] && bounds[1] > bounds[2] && bounds[2] > 0.01 && bounds[2] < 0.016)
        #expect(test.upperBound(events: 0, trials: 0) == 1 && test.upperBound(events: 5, trials: 5) == 1)
        #expect(test.upperBound(events: 0, trials: 10_000) < 0.002)
    }
}

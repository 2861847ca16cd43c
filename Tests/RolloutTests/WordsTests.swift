import Testing

@testable import Rollout

struct WordsTests {
    @Test(arguments: [
        (0.038, "38 ms"), (1.2, "1.2 s"), (36.1, "36 s"), (59.7, "1 min"), (60, "1 min"), (98.4, "1 min 38 s"),
        (300, "5 min"),
        (3600, "1 h"), (4320, "1 h 12 min"), (604_800, "168 h"),
    ])
    func aDurationHasAtMostTwoUnits(_ seconds: Double, _ words: String) {
        #expect(durationWords(seconds) == words)
    }

    @Test func whatIsNoDurationIsNotInvented() {
        #expect(durationWords(nil) == "unknown" && durationWords(.infinity) == "∞ h")
    }
}

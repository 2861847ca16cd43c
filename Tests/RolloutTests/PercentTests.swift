import Rollout
import Testing

@Test func everyHundredthIsFoundInItsDecimal() {
    for hundredths in 0...10_000 {
        let text = Percent.text(hundredths: hundredths)
        #expect(Double(text).flatMap(Percent.hundredths) == hundredths)
        #expect(!text.hasSuffix("0") || hundredths % 100 == 0)
    }
}

@Test func decimalsAreAsShortAsTheyCanBe() {
    #expect(
        [0, 1, 10, 100, 105, 618, 1250, 10_000].map { Percent.text(hundredths: $0) }
            == ["0", "0.01", "0.1", "1", "1.05", "6.18", "12.5", "100"])
}

@Test(arguments: [-0.01, 100.01, 12.345, 0.001, .nan, .infinity, -.infinity, 1e300])
func whatIsNoPercentOfTwoDecimalsIsRefused(percent: Double) {
    #expect(Percent.hundredths(percent) == nil)
}

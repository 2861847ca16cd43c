import Testing

@testable import Configuration

@Suite struct ValueTests {
    @Test(
        arguments: [
            ("250ms", 250), ("10s", 10_000), ("5m", 300_000), ("2h", 7_200_000), ("90d", 7_776_000_000), ("0s", 0),
            ("3650d", 315_360_000_000),
        ] as [(String, Int64)])
    func durationsAreMilliseconds(_ text: String, _ milliseconds: Int64) throws {
        #expect(try Value.duration(text) == milliseconds)
    }

    @Test(arguments: [
        "", "s", "1 s", "1.5s", "+1s", "-1s", "1S", "1w", "1s1", "0x1s", "1e3s", "１s", "9223372036854775807d",
    ])
    func whatIsNoDurationIsRefused(_ text: String) {
        #expect(throws: ValueProblem.self) { try Value.duration(text) }
    }

    @Test(arguments: [
        ("10sec", "10s"), ("3 minutes", "3m"), ("1H", "1h"), ("5 s", "5s"), ("10msec", "10ms"),
    ])
    func durationsAlmostRightGetASuggestion(_ text: String, _ suggestion: String) {
        let problem = #expect(throws: ValueProblem.self) { try Value.duration(text) }
        #expect(problem?.suggestion == suggestion)
    }

    /// 300 is ms as a limit of a wait and s as a window: either guess would turn a gate off, or make it useless.
    @Test func aDurationWithoutItsUnitIsNotGuessedAt() {
        let problem = #expect(throws: ValueProblem.self) { try Value.duration("300") }
        #expect(problem?.suggestion == nil && problem?.problem == "a duration without its unit")
        #expect(problem?.accepted == "300ms or 300s, or with m, h or d")
    }

    @Test(arguments: [
        ("0.005", "0.5%"), ("0.999", "99.9%"), ("0.5", "50%"), ("0.000001", "0.0001%"), ("0.05", "5%"), ("5", "5%"),
        ("1.5", "1.5%"), ("0", "0%"),
    ])
    func aBareShareGetsThePercentageOfTheSameMeaning(_ text: String, _ suggestion: String) {
        let problem = #expect(throws: ValueProblem.self) { try Value.share(text) }
        #expect(problem?.suggestion == suggestion && problem?.problem == "a share without %")
    }

    @Test(arguments: [("1024", 1024), ("0", 0), ("7B", 7), ("64KiB", 65_536), ("8MiB", 8 << 20), ("1GiB", 1 << 30)])
    func sizesAreBytes(_ text: String, _ bytes: Int) throws {
        #expect(try Value.size(text) == bytes)
    }

    @Test(arguments: [("8MB", "8MiB"), ("64k", "64KiB"), ("64kib", "64KiB"), ("1 GiB", "1GiB"), ("10bytes", "10")])
    func sizesAlmostRightGetASuggestion(_ text: String, _ suggestion: String) {
        let problem = #expect(throws: ValueProblem.self) { try Value.size(text) }
        #expect(problem?.suggestion == suggestion)
    }

    @Test(arguments: [("0", 0), ("100", 10_000), ("0.01", 1), ("12.5", 1250), ("50%", 5000), ("100.00", 10_000)])
    func percentagesAreHundredths(_ text: String, _ hundredths: Int) throws {
        #expect(try Value.percent(text) == hundredths)
    }

    @Test(arguments: ["", "%", ".5", "5.", "1.005", "100.01", "-1", "1e1", "0x10", "nan", "1 %"])
    func whatIsNoPercentageIsRefused(_ text: String) {
        #expect(throws: ValueProblem.self) { try Value.percent(text) }
    }

    @Test(arguments: [("0.5%", 0.005), ("100%", 1), ("0%", 0), ("0.1%", 0.001), ("0.0001%", 0.000001)])
    func sharesAreRatios(_ text: String, _ ratio: Double) throws {
        #expect(try Value.share(text) == ratio)
    }

    @Test(arguments: ["127.0.0.1:8080", "[::1]:8080", "localhost:0", "a-b.example:65535", "0.0.0.0:1"])
    func addressesKeepTheirText(_ text: String) throws {
        #expect(try Value.address(text).text == text)
    }

    @Test(arguments: [
        "", ":", "a", "a:", "a:x", "a:+1", "a:1:2", "[::1]", "[::1:80", "[zz]:1", "-a:1", "a..b:1", "1.2.3:4", "a b:1",
    ])
    func whatIsNoAddressIsRefused(_ text: String) {
        #expect(throws: ValueProblem.self) { try Value.address(text) }
    }

    @Test func urlsAreTakenApart() throws {
        #expect(
            try Value.backendURL("HTTPS://Example.COM/api/v1/")
                == BackendURL(scheme: "https", host: "example.com", port: 443, pathPrefix: "/api/v1"))
        #expect(
            try Value.backendURL("http://[2001:DB8::1]:81")
                == BackendURL(scheme: "http", host: "2001:db8::1", port: 81, pathPrefix: ""))
    }

    @Test(arguments: [
        ("trafic", nil), ("timout", "timeout"), ("TIMEOUT", "timeout"), ("connectTimeout", "connect_timeout"),
        ("conect-timeout", "connect_timeout"), ("tiemout", "timeout"), ("ulr", "url"), ("idle", "client_idle"),
        ("x", nil),
    ])
    func theNearestWordIsSuggested(_ word: String, _ suggestion: String?) {
        let words = ["url", "timeout", "connect_timeout", "client_idle"]
        #expect(Suggestion.nearest(to: word, among: words) == suggestion)
    }

    @Test func aSwapOfNeighboursIsOneEdit() {
        #expect(Suggestion.distance(Array("ab"), Array("ba")) == 1)
        #expect(Suggestion.distance(Array("kitten"), Array("sitting")) == 3)
        #expect(Suggestion.distance([], Array("abc")) == 3)
    }
}

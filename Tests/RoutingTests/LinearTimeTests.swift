import Routing
import Testing

/// Whatever a client sends, and whatever patterns there are, looking through it takes time in proportion to its length. Judged by
/// the ratio of one length to four times that: 4 where it is linear, 16 where it is quadratic. The best of several runs counts, so
/// that nothing that else runs on the machine decides.
private func growth(_ runs: Int = 7, _ work: (Int) -> Void) -> Double {
    func best(_ size: Int) -> Double {
        work(size)
        let clock = ContinuousClock()
        return (0..<runs).map { _ in clock.measure { work(size) } / .nanoseconds(1) }.min() ?? 0
    }
    return best(16_000) / best(4_000)
}

/// Far from both.
private let linearAtMost = 9.0

@Suite(.serialized) struct LinearTimeTests {
    /// Patterns and paths that make a matcher which goes back try every split.
    private static let paths: [String: @Sendable (Int) -> String] = [
        "many segments": { String(repeating: "/a", count: $0 / 2) },
        "empty segments": { String(repeating: "/", count: $0) },
        "one long segment": { "/" + String(repeating: "a", count: $0) },
        "percent encodings": { "/" + String(repeating: "%61", count: $0 / 3) },
        "broken percent encodings": { "/" + String(repeating: "%", count: $0) },
        "dot segments": { String(repeating: "/..", count: $0 / 3) },
        "encoded dot segments": { String(repeating: "/%2e%2e", count: $0 / 7) },
        "encoded slashes": { "/" + String(repeating: "%2f", count: $0 / 3) },
    ]

    @Test(arguments: paths.keys.sorted())
    func aPathIsMatchedInLinearTime(name: String) throws {
        let path = try #require(LinearTimeTests.paths[name])
        let wildcards = (1...60).map { count in
            "* " + (0..<count).map { "/{v\($0)}" }.joined() + (count % 2 == 0 ? "/**" : "/b")
        }
        let literals = ["* /" + String(repeating: "a", count: 500) + "b", "* /a/a/a/a/a/a/a/b", "* /{record}/x/**"]
        let table = RouteTable(patterns: wildcards.filter { $0.count < 2000 } + literals)
        let found = growth { size in
            let text = path(size)
            _ = table.match("GET", text)
        }
        #expect(found < linearAtMost)
    }

    private static let cookies: [String: @Sendable (Int) -> String] = [
        "pairs": { String(repeating: "a=b; ", count: $0 / 5) },
        "semicolons": { String(repeating: ";", count: $0) },
        "equals signs": { String(repeating: "=", count: $0) },
        "names that are nearly right": { String(repeating: "sessioN=1;", count: $0 / 10) },
        "blanks": { "session" + String(repeating: " ", count: $0) + "x=1" },
        "blanks and semicolons": { String(repeating: " ;", count: $0 / 2) },
        "quotes": { "a=" + String(repeating: "\"", count: $0) },
        "one pair": { "a=" + String(repeating: "b", count: $0) },
    ]

    @Test(arguments: cookies.keys.sorted())
    func aCookieIsFoundInLinearTime(name: String) throws {
        let header = try #require(LinearTimeTests.cookies[name])
        let wanted = Array("session".utf8)
        let found = growth { size in
            let text = header(size)
            for _ in 0..<4 { _ = withBytes(text) { Cookies.value(named: wanted, in: $0, $1) } }
        }
        #expect(found < linearAtMost)
    }

    private static let queries: [String: @Sendable (Int) -> String] = [
        "pairs": { String(repeating: "a=b&", count: $0 / 4) },
        "separators": { String(repeating: "&", count: $0) },
        "equals signs": { String(repeating: "=", count: $0) },
        "names that are nearly right": { String(repeating: "use%72x=1&", count: $0 / 10) },
        "encodings": { String(repeating: "%75", count: $0 / 3) },
        "broken encodings": { String(repeating: "%&", count: $0 / 2) },
        "pluses": { String(repeating: "+", count: $0) },
    ]

    @Test(arguments: queries.keys.sorted())
    func aQueryIsReadInLinearTime(name: String) throws {
        let query = try #require(LinearTimeTests.queries[name])
        let wanted = Array("user".utf8)
        let found = growth { size in
            let text = query(size)
            for _ in 0..<4 { _ = withBytes(text) { RequestTarget.queryValue(named: wanted, in: $0, $1) != nil } }
        }
        #expect(found < linearAtMost)
    }

    @Test func theLastOfTenThousandIsFound() {
        let cookies = String(repeating: "a=b; ", count: 10_000) + "session=yes"
        let cookie = withBytes(cookies) { Cookies.value(named: Array("session".utf8), in: $0, $1) }
        #expect(cookie.map { text(cookies, $0) } == "yes")
        let query = String(repeating: "a=b&", count: 10_000) + "user=yes"
        let value = withBytes(query) { RequestTarget.queryValue(named: Array("user".utf8), in: $0, $1) }
        #expect(value.map { text(query, $0.range) } == "yes")
    }
}

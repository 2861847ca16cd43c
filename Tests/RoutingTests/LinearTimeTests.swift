import Testing

@testable import Routing

/// An address that counts how often a byte was read at it.
private struct CountedBytes: BytePointer {
    final class Reads {
        var count = 0
    }
    private let base: UnsafePointer<UInt8>
    private let reads: Reads

    init(_ base: UnsafePointer<UInt8>, _ reads: Reads) { (self.base, self.reads) = (base, reads) }

    func read(_ offset: Int) -> UInt8 {
        reads.count += 1
        return base[offset]
    }

    static func + (pointer: CountedBytes, offset: Int) -> CountedBytes {
        CountedBytes(pointer.base + offset, pointer.reads)
    }
}

/// Whatever a client sends, and whatever patterns there are, looking through it reads bytes in proportion to its length. Judged by
/// the reads for a text four times as long: 4 times as many where that is so, 16 times where it is quadratic. No clock decides.
/// - Parameter most: how often each byte may be read.
private func expectLinear(
    _ text: (Int) -> String, most: Int, _ location: SourceLocation = #_sourceLocation,
    _ work: (CountedBytes, Int) -> Void
) {
    func reads(_ size: Int) -> (perByte: Double, count: Int) {
        let (text, reads) = (text(size), CountedBytes.Reads())
        withBytes(text) { work(CountedBytes($0, reads), $1) }
        return (Double(reads.count) / Double(max(1, text.utf8.count)), reads.count)
    }
    let (short, long) = (reads(1_000), reads(4_000))
    #expect(short.count > 0, "it reads through what counts", sourceLocation: location)
    #expect(long.perByte <= Double(most), sourceLocation: location)
    #expect(Double(long.count) <= 4.2 * Double(short.count) + 100, sourceLocation: location)
}

@Suite struct LinearTimeTests {
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
        // Three reads for an encoded byte of a literal; a route is looked at once.
        expectLinear(path, most: 4 * table.routes.count) { path, count in
            withBytes("GET") { _ = table.find(method: $0, $1, path: path, count) }
        }
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
        expectLinear(header, most: 5) { _ = Cookies.find(wanted, in: $0, $1) }
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
        expectLinear(query, most: 6) { _ = RequestTarget.find(wanted, in: $0, $1) }
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

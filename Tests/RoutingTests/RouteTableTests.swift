import Routing
import Testing

private func matches(_ pattern: String, _ path: String) -> Bool {
    RouteTable(patterns: ["* " + pattern]).match("GET", path) == 0
}

@Test func theFirstRouteThatMatchesWins() {
    let table = RouteTable(patterns: [
        "POST /changes", "POST /changes/batch", "PUT /notes/{record}", "PROPFIND /**", "* /login", "* /notes/**",
    ])
    #expect(table.match("POST", "/changes") == 0)
    #expect(table.match("POST", "/changes/batch") == 1)
    #expect(table.match("PUT", "/notes/7") == 2)
    #expect(table.match("GET", "/notes/7") == 5)
    #expect(table.match("PROPFIND", "/notes/7") == 3)
    #expect(table.match("DELETE", "/login") == 4)
    #expect(table.match("GET", "/changes") == nil)
}

@Test func methodsAreCaseSensitiveAndWhole() {
    let table = RouteTable(patterns: ["GET /a"])
    #expect(table.match("get", "/a") == nil)
    #expect(table.match("GE", "/a") == nil)
    #expect(table.match("GETS", "/a") == nil)
    #expect(table.match("HEAD", "/a") == nil)
    #expect(table.match("", "/a") == nil)
}

@Test func anEmptyTableMatchesNothing() {
    #expect(RouteTable([]).match("GET", "/") == nil)
}

@Test func aVariableIsOneSegmentOfAtLeastOneByte() {
    #expect(matches("/notes/{record}", "/notes/7"))
    #expect(matches("/notes/{record}", "/notes/%20"))
    #expect(!matches("/notes/{record}", "/notes"))
    #expect(!matches("/notes/{record}", "/notes/"))
    #expect(!matches("/notes/{record}", "/notes/7/"))
    #expect(!matches("/notes/{record}", "/notes/7/8"))
    #expect(!matches("/notes/{record}", "/notes//7"))
    #expect(matches("/{a}/x/{b}", "/1/x/2"))
    #expect(!matches("/{a}/x/{b}", "/1/y/2"))
}

@Test func theRestMayBeNothing() {
    for path in ["/users/42", "/users/42/", "/users/42/notes/7", "/users/42//", "/users/42/%2F"] {
        #expect(matches("/users/{id}/**", path), "\(path)")
    }
    for path in ["/users", "/users/", "/users//x", "/user/42", "/users%2F42", "/"] {
        #expect(!matches("/users/{id}/**", path), "\(path)")
    }
    #expect(matches("/**", "/"))
    #expect(matches("/**", "/a/b"))
    #expect(matches("/a/**", "/a"))
    #expect(!matches("/a/**", "/ab"))
}

@Test func emptySegmentsAndTrailingSlashesCount() {
    #expect(matches("/", "/"))
    #expect(!matches("/", "//"))
    #expect(matches("/notes", "/notes"))
    #expect(!matches("/notes", "/notes/"))
    #expect(!matches("/notes", "//notes"))
    #expect(matches("/notes/", "/notes/"))
    #expect(!matches("/notes/", "/notes"))
    #expect(!matches("/notes/", "/notes//"))
    #expect(matches("//notes", "//notes"))
}

@Test func literalsMatchTheOctetsThatASegmentStandsFor() {
    #expect(matches("/login", "/%6Cogin"))
    #expect(matches("/login", "/%6c%6F%67%69%6e"))
    #expect(matches("/café", "/caf%C3%A9"))
    #expect(matches("/caf%c3%a9", "/café"))
    #expect(matches("/a:b", "/a%3Ab"))
    #expect(matches("/a+b", "/a+b"))
    #expect(!matches("/a%20b", "/a+b"))
    #expect(matches("/a%20b", "/a%20b"))
    #expect(!matches("/login", "/Login"))
    #expect(!matches("/login", "/logi%6"))
    #expect(!matches("/login", "/login%00"))
    #expect(matches("/100%", "/100%"))
    #expect(matches("/100%", "/100%25"))
}

@Test func anEncodedSlashNeverSeparatesSegments() {
    #expect(!matches("/a/b", "/a%2Fb"))
    #expect(matches("/a%2Fb", "/a%2fb"))
    #expect(!matches("/a%2Fb", "/a/b"))
    #expect(matches("/files/{record}", "/files/a%2Fb"))
}

@Test func dotSegmentsAreSegmentsLikeOthers() {
    #expect(!matches("/login", "/a/../login"))
    #expect(!matches("/login", "/./login"))
    #expect(matches("/a/{record}", "/a/.."))
}

@Test(arguments: ["", "*", "example.com:443", "http://example.com/a"])
func whatIsNoPathMatchesNoRoute(target: String) {
    #expect(!matches("/**", target))
}

@Test func variablesAreCapturedStillEncoded() {
    let table = RouteTable(patterns: ["* /users/{user_id}/notes/{record}", "* /n/{record}/**", "* /x/{other}"])
    #expect(table.capture(.userID, 0, "/users/a%20b/notes/7") == "a%20b")
    #expect(table.capture(.record, 0, "/users/a%20b/notes/7%2F8") == "7%2F8")
    #expect(table.capture(.record, 1, "/n/42") == "42")
    #expect(table.capture(.record, 1, "/n/42/rest") == "42")
    #expect(table.capture(.userID, 1, "/n/42") == nil)
    #expect(table.capture(.record, 2, "/x/42") == nil)
    #expect(table.capture(.record, 0, "/users") == nil)
}

@Test func longPathsCostNoMoreThanTheirLength() {
    // Nothing to go back to: many empty segments, many percent signs, many variables.
    let pattern = "/" + (0..<200).map { "{v\($0)}" }.joined(separator: "/") + "/end"
    let path = String(repeating: "/a", count: 200) + "/e%6Ed"
    #expect(matches(pattern, path))
    #expect(!matches(pattern, String(repeating: "/", count: 8000)))
    #expect(!matches(pattern, "/" + String(repeating: "%", count: 8000)))
    #expect(matches("/**", "/" + String(repeating: "%2", count: 4000)))
}

@Test func matchingAgreesWithAMatcherThatWorksOnTextSegments() {
    let patterns = ["/", "/a", "/a/", "/a/{v}", "/{v}/b", "/a/**", "/{v}/**", "/**", "/a/{v}/c", "//a", "/a//b"]
    let parts = ["", "a", "b", "c", "%61"]
    var paths: [String] = []
    for first in parts {
        paths.append("/" + first)
        for second in parts {
            paths.append("/\(first)/\(second)")
            paths += parts.map { "/\(first)/\(second)/\($0)" }
        }
    }
    for pattern in patterns {
        for path in paths {
            let expected = referenceMatches(pattern, path)
            #expect(matches(pattern, path) == expected, "\(pattern) \(path)")
        }
    }
}

private func referenceMatches(_ pattern: String, _ path: String) -> Bool {
    var wanted = pattern.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        .map { $0 == "%61" ? "a" : String($0) }
    let open = wanted.last == "**"
    if open { wanted.removeLast() }
    guard open ? segments.count >= wanted.count : segments.count == wanted.count else { return false }
    return zip(wanted, segments).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
}

import Routing
import Testing

@Test func aPatternIsAMethodAndAPath() throws {
    let pattern = try #require(RoutePattern("PUT /notes/{record}"))
    #expect(pattern.method == "PUT")
    #expect(pattern.path.segments == [.literal(Array("notes".utf8)), .variable("record")])
    #expect(!pattern.path.matchesRest)
    let any = try #require(RoutePattern("* /**"))
    #expect(any.method == nil && any.path.segments.isEmpty && any.path.matchesRest)
}

@Test func literalsOfAPatternAreDecoded() throws {
    let pattern = try #require(PathPattern("/a%20b/caf%C3%A9/c%2Fd"))
    #expect(
        pattern.segments == [
            .literal(Array("a b".utf8)), .literal(Array("café".utf8)), .literal(Array("c/d".utf8)),
        ])
}

@Test(arguments: [
    "", "GET", "/x", "GET x", "GET /a /b", "GET /a/**/b", "GET /a**", "GET /{a", "GET /a}", "GET /x{a}", "GET /{}",
    "GET /{a}{b}", "GET /{a}/{a}", "GET /a?b=c", "GET /a#b", "G(T /a", "G*T /a", "GET /a\tb",
])
func malformedPatternsAreRefused(text: String) {
    #expect(RoutePattern(text) == nil)
}

@Test(arguments: [
    "PROPFIND /**", "* /login", "M-SEARCH /a", "GET /", "GET /a/", "GET //a", "get /a", "GET /users/{id}/**",
])
func soundPatternsAreAccepted(text: String) {
    #expect(RoutePattern(text)?.text == text)
}

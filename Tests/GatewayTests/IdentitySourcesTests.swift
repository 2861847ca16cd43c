import Configuration
import HTTPWire
import Routing
import Testing

@testable import Gateway

/// A request's head and who asks, as text.
private func user(
    _ from: [UserSource], anonymous: AnonymousPolicy = .legacy, target: String = "/", headers: [String] = [],
    now: Int64 = 1_000_000
) throws -> String? {
    var settings = UserSettings()
    settings.from = from
    settings.anonymous = anonymous
    let sources = try IdentitySources(settings)
    let head = MessageHead(limits: WireLimits())
    let buffer = Buffer(pool: BlockPool())
    buffer.append(text: "GET \(target) HTTP/1.1\r\nHost: here\r\n" + headers.map { $0 + "\r\n" }.joined() + "\r\n")
    try #require(head.parseRequest(buffer.readable, buffer.count) == .complete)
    let scratch = IdentityScratch()
    return sources.user(head, buffer.readable, scratch, wallSeconds: { now })?.text
}

private func path(_ text: String) throws -> UserSource { .path(try #require(PathPattern(text))) }

@Test(arguments: [
    (["X-User-Id: anna"], "anna"), (["x-user-id:   anna  "], "anna"), (["X-USER-ID: 42"], "42"), ([], nil),
    (["X-User-Id:"], nil), (["X-User-Id:  \t "], nil), (["X-User-Id: anna", "X-User-Id: bert"], "anna"),
    (["X-User: anna"], nil), (["X-User-Id: José 漢"], "José 漢"),
])
func aHeaderNamesTheUser(headers: [String], expected: String?) throws {
    #expect(try user([.header("X-User-Id")], headers: headers) == expected)
}

@Test(arguments: [
    (["Cookie: uid=anna"], "anna"), (["Cookie: a=b; uid=anna; c=d"], "anna"),
    (["Cookie: a=b", "Cookie: uid=bert"], "bert"),
    (["Cookie: xuid=anna"], nil), (["Cookie: uid="], nil), ([], nil),
])
func aCookieNamesTheUser(headers: [String], expected: String?) throws {
    #expect(try user([.cookie("uid")], headers: headers) == expected)
}

@Test(arguments: [
    ("/?user_id=anna", "anna"), ("/x?a=1&user_id=an%6Ea&b=2", "anna"), ("/?user_id=a+b%20c", "a b c"),
    ("/?user_id=", nil),
    ("/?user_id=%20", nil), ("/?user=anna", nil), ("/", nil), ("/?", nil), ("/?user_id=%E6%BC%A2", "漢"),
])
func aQueryNamesTheUser(target: String, expected: String?) throws {
    #expect(try user([.query("user_id")], target: target) == expected)
}

@Test(arguments: [
    ("/users/anna/notes", "anna"), ("/users/anna", "anna"), ("/users/an%6Ea", "anna"), ("/users/a+b", "a+b"),
    ("/users/a%2Fb/x", "a/b"), ("/users//x", nil), ("/users/%20/x", nil), ("/other/anna", nil),
    ("/users/anna?x=/users/b", "anna"),
])
func aPathNamesTheUser(target: String, expected: String?) throws {
    #expect(try user([try path("/users/{user_id}/**")], target: target) == expected)
}

@Test(arguments: [
    ("Basic YW5uYTpzZWNyZXQ=", "anna"), ("basic YW5uYTo=", "anna"), ("Basic OnNlY3JldA==", nil), ("Basic !!!", nil),
    ("Bearer YW5uYTpzZWNyZXQ=", nil),
])
func theNameOfBasicAuthenticationIsTheUser(line: String, expected: String?) throws {
    #expect(try user([.basic], headers: ["Authorization: \(line)"]) == expected)
}

@Test func aSignedTokenNamesTheUser() throws {
    let file = try KeyFixture(TokenSigner.secretText)
    let source = UserSource.jwt(
        JWTSource(header: "Authorization", claim: "sub", algorithm: .hs256, keyFile: file.path))
    let good = TokenSigner.hs256.token(header: "{\"alg\":\"HS256\"}", payload: "{\"sub\":\"anna\",\"exp\":1000001}")
    #expect(try user([source], headers: ["Authorization: Bearer \(good)"]) == "anna")
    #expect(try user([source], headers: ["Authorization: Bearer \(good)"], now: 2_000_000) == nil)
    #expect(try user([source], headers: ["Authorization: Bearer \(good)x"]) == nil)
    #expect(try user([source]) == nil)
    let blank = TokenSigner.hs256.token(header: "{\"alg\":\"HS256\"}", payload: "{\"sub\":\" \"}")
    #expect(try user([source, .query("u")], target: "/?u=bert", headers: ["Authorization: Bearer \(blank)"]) == "bert")
}

@Test func theFirstSourceThatYieldsAnIdWins() throws {
    let all: [UserSource] = [
        .header("X-User-Id"), .cookie("uid"), .query("u"), try path("/users/{user_id}/**"), .basic,
    ]
    let headers = ["X-User-Id: header", "Cookie: uid=cookie", "Authorization: Basic YmFzaWM6eA=="]
    let names = ["header", "cookie", "query", "path", "basic"]
    for first in all.indices {
        let sources = Array(all[first...])
        #expect(try user(sources, target: "/users/path/x?u=query", headers: headers) == names[first])
        let reversed = Array(all[...first].reversed())
        #expect(try user(reversed, target: "/users/path/x?u=query", headers: headers) == names[first])
    }
}

@Test func aSourceThatYieldsABlankIdLetsTheNextOneSpeak() throws {
    let blank = ["X-User-Id:   ", "Cookie: uid=", "Authorization: Basic OnNlY3JldA=="]
    let sources: [UserSource] = [
        .header("X-User-Id"), .cookie("uid"), .basic, .query("u"), try path("/users/{user_id}/**"),
    ]
    #expect(try user(sources, target: "/users/anna/x?u=%20%09", headers: blank) == "anna")
    #expect(try user(sources, target: "/?u=", headers: blank) == nil)
}

@Test func anonymousRequestsAreSplitByAHeaderOnlyWhereThatIsWanted() throws {
    let headers = ["X-Device: tablet"]
    #expect(try user([.header("X-User-Id")], headers: headers) == nil)
    #expect(try user([.header("X-User-Id")], anonymous: .hash(header: "X-Device"), headers: headers) == "tablet")
    #expect(try user([.header("X-User-Id")], anonymous: .hash(header: "X-Device"), headers: ["X-Device: "]) == nil)
    let both = headers + ["X-User-Id: anna"]
    #expect(try user([.header("X-User-Id")], anonymous: .hash(header: "X-Device"), headers: both) == "anna")
}

@Test func aSourceThatCannotWorkIsRefusedAtTheStart() throws {
    var settings = UserSettings()
    settings.from = [try path("/notes/{a}/{b}")]
    #expect(throws: IdentityError.self) { try IdentitySources(settings) }
    settings.from = [.jwt(JWTSource(header: "A", claim: "sub", algorithm: .rs256, keyFile: "/nowhere/key.pem"))]
    #expect(throws: IdentityError.self) { try IdentitySources(settings) }
}

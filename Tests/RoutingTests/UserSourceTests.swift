import Routing
import Testing

// MARK: Path

private func user(_ pattern: String, _ path: String) -> String? {
    guard let source = UserPath(PathPattern(pattern)!) else { return nil }
    return withBytes(path) { source.user(in: $0, $1) }.map { text(path, $0) }
}

@Test func thePathNamesTheUser() {
    #expect(user("/users/{user_id}/**", "/users/42") == "42")
    #expect(user("/users/{user_id}/**", "/users/a%20b/notes") == "a%20b")
    #expect(user("/users/{user_id}/**", "/users/") == nil)
    #expect(user("/users/{user_id}/**", "/notes/42") == nil)
    #expect(user("/{tenant}/users/{user_id}", "/t/users/42") == "42")
}

@Test func theOnlyVariableIsTheUserWhateverItsName() {
    #expect(user("/users/{id}/**", "/users/42/x") == "42")
    #expect(UserPath(PathPattern("/{a}/{b}")!) == nil)
    #expect(UserPath(PathPattern("/users/**")!) == nil)
}

// MARK: Request target

@Test func aTargetIsAPathAndPerhapsAQuery() {
    #expect(withBytes("/a?b=c?d#e") { RequestTarget.pathCount($0, $1) } == 2)
    #expect(withBytes("/a?b=c?d#e") { RequestTarget.query($0, $1) } == ByteRange(start: 3, end: 8))
    #expect(withBytes("/a") { RequestTarget.pathCount($0, $1) } == 2)
    #expect(withBytes("/a") { RequestTarget.query($0, $1) } == nil)
    #expect(withBytes("/a#b?c") { RequestTarget.query($0, $1) } == nil)
    #expect(withBytes("/a?") { RequestTarget.query($0, $1) } == ByteRange(start: 3, end: 3))
    #expect(withBytes("") { RequestTarget.pathCount($0, $1) } == 0)
}

private func query(_ name: String, _ query: String) -> String? {
    withBytes(query) { RequestTarget.queryValue(named: Array(name.utf8), in: $0, $1) }
        .map { text(query, $0.range) + ($0.needsDecoding ? " !" : "") }
}

@Test func theFirstPairOfANameIsItsValue() {
    #expect(query("user_id", "user_id=42") == "42")
    #expect(query("user_id", "a=b&user_id=42&user_id=43") == "42")
    #expect(query("user_id", "xuser_id=1&user_idx=2&user_id=3") == "3")
    #expect(query("user_id", "USER_ID=1") == nil)
    #expect(query("user_id", "") == nil)
    #expect(query("user_id", "a=user_id=42") == nil)
    #expect(query("user_id", "user_id=a=b") == "a=b")
    #expect(query("user_id", "&&user_id=42&") == "42")
    #expect(query("user_id", "a;user_id=42") == nil)
}

@Test func aNameWithoutAValueIsEmpty() {
    #expect(query("user_id", "user_id") == "")
    #expect(query("user_id", "user_id=") == "")
    #expect(query("user_id", "user_id&user_id=42") == "")
}

@Test func encodedQueriesSayThatTheyAre() {
    #expect(query("user_id", "user_id=a%20b") == "a%20b !")
    #expect(query("user_id", "user_id=a+b") == "a+b !")
    #expect(query("user_id", "user%5Fid=42") == "42")
    #expect(query("user id", "user+id=42") == "42")
    #expect(query("user+id", "user%2Bid=42") == "42")
}

// MARK: Cookies

private func cookie(_ name: String, _ header: String) -> String? {
    withBytes(header) { Cookies.value(named: Array(name.utf8), in: $0, $1) }.map { text(header, $0) }
}

@Test func aCookieIsFoundByItsWholeName() {
    #expect(cookie("uid", "uid=42") == "42")
    #expect(cookie("uid", "a=b; uid=42; c=d") == "42")
    #expect(cookie("uid", "xuid=1; uidx=2; uid=3") == "3")
    #expect(cookie("uid", "UID=1") == nil)
    #expect(cookie("uid", "a=uid=42") == nil)
    #expect(cookie("uid", "uid") == nil)
    #expect(cookie("uid", "") == nil)
}

@Test func theFirstCookieOfANameWins() {
    #expect(cookie("uid", "uid=1; uid=2") == "1")
    #expect(cookie("uid", "uid=; uid=2") == "")
}

@Test func blanksAndQuotesAreNoPartOfACookie() {
    #expect(cookie("uid", "a=b;uid=42") == "42")
    #expect(cookie("uid", "  uid = 42 \t; a=b") == "42")
    #expect(cookie("uid", "uid=\"42\"") == "42")
    #expect(cookie("uid", "uid=\"\"") == "")
    #expect(cookie("uid", "uid=\"42") == "\"42")
    #expect(cookie("uid", "uid=\"") == "\"")
    #expect(cookie("uid", "uid=a b; c=d") == "a b")
}

@Test func cookieValuesAreOpaque() {
    #expect(cookie("uid", "uid=a%20b") == "a%20b")
    #expect(cookie("uid", "uid=YWI=; c=d") == "YWI=")
    #expect(cookie("uid", "x=\"a; uid=42\"") == "42\"")
}

// MARK: Authorization

private func basic(_ value: String) -> String? {
    withBytes(value) { bytes, count in
        var scratch = [UInt8](repeating: 0xee, count: count + 1)
        let length = scratch.withUnsafeMutableBufferPointer {
            Credentials.basicUser(in: bytes, count, decodedInto: $0.baseAddress!)
        }
        #expect(scratch[count] == 0xee)
        return length.map { String(decoding: scratch[..<$0], as: UTF8.self) }
    }
}

@Test func basicCredentialsNameTheUser() {
    // The examples of RFC 7617 §2 and §2.1.
    #expect(basic("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") == "Aladdin")
    #expect(basic("Basic dGVzdDoxMjPCow==") == "test")
    #expect(basic("bAsIc   QWxhZGRpbjpvcGVuIHNlc2FtZQ== ") == "Aladdin")
    #expect(basic("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ") == "Aladdin")
    // "a:b:c", ":x", "ü:"
    #expect(basic("Basic YTpiOmM=") == "a")
    #expect(basic("Basic Ong=") == "")
    #expect(basic("Basic w7w6") == "ü")
}

@Test(arguments: [
    "", "Basic", "Basic ", "BasicQWxhZGRpbjpvcGVu", "Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "Basic QWxhZGRpbg==",  // no colon
    "Basic YQA6eA==",  // a NUL in the name
    "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=",  // half the padding
    "Basic QWxhZ!RpbjpvcGVu", "Basic YTpi YTpi", "Basic YTpiO", "Basic =", "Basic YTpi====",
])
func whatIsNoBasicCredentialNamesNobody(value: String) {
    #expect(basic(value) == nil)
}

private func bearer(_ value: String) -> String? {
    withBytes(value) { Credentials.bearerToken(in: $0, $1) }.map { text(value, $0) }
}

@Test func bearerCredentialsHoldAToken() {
    #expect(bearer("Bearer a.b-c_d~e+f/g==") == "a.b-c_d~e+f/g==")
    #expect(bearer("BEARER  abc ") == "abc")
    #expect(bearer("Bearer") == nil)
    #expect(bearer("Bearer ") == nil)
    #expect(bearer("Bearer ==") == nil)
    #expect(bearer("Bearer a b") == nil)
    #expect(bearer("Bearer a=b") == nil)
    #expect(bearer("Bearer a,b") == nil)
    #expect(bearer("Basic abc") == nil)
}

// MARK: Base64

private func base64URL(_ value: String) -> [UInt8]? {
    withBytes(value) { bytes, count in
        var output = [UInt8](repeating: 0xee, count: count / 4 * 3 + 3)
        let written = output.withUnsafeMutableBufferPointer { Base64.decodeURL(bytes, count, into: $0.baseAddress!) }
        #expect(output.last == 0xee)
        return written.map { Array(output[..<$0]) }
    }
}

@Test func theURLAlphabetIsDecoded() {
    // The examples of RFC 4648 §10, without padding, and of RFC 7515 appendix C.
    #expect(base64URL("") == [])
    #expect(base64URL("Zg") == Array("f".utf8))
    #expect(base64URL("Zm8") == Array("fo".utf8))
    #expect(base64URL("Zm9vYmFy") == Array("foobar".utf8))
    #expect(base64URL("A-z_4ME") == [3, 236, 255, 224, 193])
}

@Test(arguments: ["Z", "Zg==", "Zh", "Zm9", "A+z/4ME", "Zm 8", "Zm8\n", "Zm8=", "ZZZZZ"])
func otherSpellingsOfTheURLAlphabetAreRefused(value: String) {
    #expect(base64URL(value) == nil)
}

@Test func everyByteSurvivesTheURLAlphabet() {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    for byte in UInt8.min...UInt8.max {
        let encoded = [alphabet[Int(byte >> 2)], alphabet[Int(byte & 3) << 4]]
        #expect(base64URL(String(decoding: encoded, as: UTF8.self)) == [byte])
    }
}

import Configuration
import HTTPWire
import Routing
import Telemetry
import TestSupport
import Testing

@testable import Gateway

/// What is left of a request's user where something that should verify does not, or where the peer is not trusted.
struct UnverifiableTests {
    private static func jwt(_ header: String = "Authorization", _ secret: String = TokenSigner.secretText) throws
        -> (UserSource, KeyFixture)
    {
        let file = try KeyFixture(secret)
        return (.jwt(JWTSource(header: header, claim: "sub", algorithm: .hs256, keyFile: file.path)), file)
    }

    private func ask(
        _ from: [UserSource], _ headers: [String], anonymous: AnonymousPolicy = .legacy, isTrusted: Bool = true
    ) throws -> (user: String?, why: IdentityRejection?) {
        var settings = UserSettings()
        settings.from = from
        settings.anonymous = anonymous
        let sources = try IdentitySources(settings)
        let head = MessageHead(limits: WireLimits())
        let buffer = Buffer(pool: BlockPool())
        buffer.append(text: "GET /?u=query HTTP/1.1\r\nHost: h\r\n" + headers.map { $0 + "\r\n" }.joined() + "\r\n")
        try #require(head.parseRequest(buffer.readable, buffer.count) == .complete)
        if !isTrusted { head.withdraw(sources.plainHeaders, in: buffer.readable) }
        // It holds what the id's bytes are read from.
        let scratch = IdentityScratch()
        return withExtendedLifetime(scratch) {
            let found = sources.identify(
                head, buffer.readable, scratch, isTrusted: isTrusted, nowSeconds: 1_000_000)
            return (found.user?.text, found.rejection)
        }
    }

    private func token(_ payload: String, by signer: TokenSigner = .hs256) -> String {
        signer.token(header: #"{"alg":"HS256"}"#, payload: payload)
    }

    @Test func aWeakerSourceDoesNotSpeakInItsPlace() throws {
        let (jwt, file) = try Self.jwt()
        let weak: [UserSource] = [.header("X-User-Id"), .cookie("uid"), .query("u"), .basic]
        let claims = ["X-User-Id: eve", "Cookie: uid=eve"]
        let bad = try ask([jwt] + weak, ["Authorization: Bearer \(token("{}"))x"] + claims)
        #expect(bad.user == nil && bad.why == .signature)
        let old = try ask([jwt] + weak, ["Authorization: Bearer \(token(#"{"sub":"ada","exp":1}"#))"] + claims)
        #expect(old.user == nil && old.why == .expired)
        for absent in [[], ["Authorization: Basic ZXZlOng="], ["Authorization: Bearer2 x"]] {
            let none = try ask([jwt] + weak, absent + claims)
            #expect(none.user == "eve" && none.why == nil)
        }
        // It comes first because it is wanted first.
        let first = try ask(weak + [jwt], ["Authorization: Bearer x"] + claims)
        #expect(first.user == "eve" && first.why == nil)
        _ = file
    }

    @Test func anotherSourceThatVerifiesMaySpeak() throws {
        let (one, file) = try Self.jwt()
        let (other, otherFile) = try Self.jwt("Authorization", String(repeating: "o", count: 32))
        let line = ["Authorization: Bearer \(token(#"{"sub":"ada"}"#))"]
        for sources in [[one, other], [other, one], [other, .header("X-User-Id"), one]] {
            let found = try ask(sources, line + ["X-User-Id: eve"])
            #expect(found.user == "ada" && found.why == nil)
        }
        // Of two refusals the one that got further is told.
        let old = ["Authorization: Bearer \(token(#"{"sub":"ada","exp":1}"#))"]
        for sources in [[one, other], [other, one]] { #expect(try ask(sources, old).why == .expired) }
        _ = (file, otherFile)
    }

    @Test func whatDoesNotHoldIsToldWhereAnotherProofNamesTheUser() throws {
        let (one, file) = try Self.jwt()
        let (other, otherFile) = try Self.jwt("X-Token")
        let (issuer, issuerFile) = try Self.jwt("Authorization", String(repeating: "o", count: 32))
        let good = token(#"{"sub":"ada"}"#)
        let old = "Authorization: Bearer \(token(#"{"sub":"eve","exp":1}"#))"
        for sources in [[one, other], [one, issuer, other], [issuer, one, .header("X-User-Id"), other]] {
            let found = try ask(sources, [old, "X-Token: \(good)"])
            #expect(found.user == "ada" && found.why == .expired)
        }
        // Only what stands elsewhere than the token that holds.
        let both = try ask([issuer, other, one], ["Authorization: Bearer \(good)", "X-Token: x"])
        #expect(both.user == "ada" && both.why == .malformed)
        // Nobody looks behind the first that names the user.
        let first = try ask([other, one], [old, "X-Token: \(good)"])
        #expect(first.user == "ada" && first.why == nil)
        _ = (file, otherFile, issuerFile)
    }

    @Test func ofTheRefusalsOfAllPlacesButOneTheLastIsTold() {
        var refusals = IdentityRefusals()
        #expect(refusals.isEmpty && refusals.most(besides: nil) == nil)
        for (reason, place) in [(IdentityRejection.signature, 0), (.malformed, 1), (.expired, 0), (.algorithm, 2)] {
            refusals.add(reason, place: place)
        }
        #expect(refusals.most(besides: nil) == .expired && refusals.most(besides: 2) == .expired)
        #expect(refusals.most(besides: 0) == .algorithm)
        refusals.add(.expired, place: 1)
        #expect(refusals.most(besides: 0) == .expired)
    }

    @Test func aTokenWithoutAUserIsNoRefusal() throws {
        let (jwt, file) = try Self.jwt()
        for payload in ["{}", #"{"sub":""}"#, #"{"sub":["ada"]}"#, #"{"sub":true}"#, #"{"sub":"a\u0000b"}"#] {
            let found = try ask([jwt, .query("u")], ["Authorization: Bearer \(token(payload))"])
            #expect(found.user == "query" && found.why == nil, "\(payload)")
        }
        _ = file
    }

    @Test func unverifiableRequestsAreSplitAsAnonymousOnes() throws {
        let (jwt, file) = try Self.jwt()
        let found = try ask(
            [jwt, .header("X-User-Id")], ["Authorization: Bearer x", "X-Device: d", "X-User-Id: eve"],
            anonymous: .hash(header: "X-Device"))
        #expect(found.user == "d" && found.why == .malformed)
        _ = file
    }

    @Test func twoTokensInTwoLinesAreNone() throws {
        let (jwt, file) = try Self.jwt()
        let line = "Authorization: Bearer \(token(#"{"sub":"ada"}"#))"
        let found = try ask([jwt], [line, line])
        #expect(found.user == nil && found.why == .malformed)
        _ = file
    }

    @Test func signedCookiesAreJudgedLikeTokens() throws {
        let file = try KeyFixture(TokenSigner.secretText)
        let source = UserSource.signedCookie(SignedCookieSource(name: "uid", secretFile: file.path))
        let good = "ada.." + base64URL(TokenSigner.hs256.signature(Array("uid=ada.".utf8)))
        #expect(try ask([source], ["Cookie: a=b; uid=\(good)"]).user == "ada")
        let bad = try ask([source, .header("X-User-Id")], ["Cookie: uid=eve", "X-User-Id: eve"])
        #expect(bad.user == nil && bad.why == .malformed)
        for absent in [[], ["Cookie: uid="], ["Cookie: other=1"]] {
            #expect(try ask([source, .header("X-User-Id")], absent + ["X-User-Id: bob"]).user == "bob")
        }
    }

    // MARK: Who is trusted

    @Test func headersOfAPeerThatIsNotTrustedNameNobody() throws {
        let from: [UserSource] = [.header("X-User-Id"), .header("X-Account"), .cookie("uid")]
        let claims = ["X-User-Id: eve", "x-account: eve"]
        #expect(try ask(from, claims).user == "eve")
        #expect(try ask(from, claims, isTrusted: false).user == nil)
        #expect(try ask(from, claims + ["Cookie: uid=bob"], isTrusted: false).user == "bob")
        #expect(try ask(from, claims, anonymous: .hash(header: "X-User-Id"), isTrusted: false).user == nil)
        #expect(try ask(from, claims + ["X-D: d"], anonymous: .hash(header: "X-D"), isTrusted: false).user == "d")
        let (jwt, file) = try Self.jwt("X-Token")
        #expect(try ask([jwt], ["X-Token: \(token(#"{"sub":"ada"}"#))"], isTrusted: false).user == "ada")
        _ = file
    }

    // MARK: What has been verified before

    @Test func aTokenIsVerifiedOnceAndItsTimeEachTime() throws {
        let (source, file) = try Self.jwt()
        guard case .jwt(let jwt) = source else { return }
        let metrics = LoopMetrics()
        let known = VerifiedTokens(metrics: metrics)
        func lookups() -> [UInt64] { [metrics.value(Cells.identityLookups), metrics.value(Cells.identityLookups + 1)] }
        let verifier = try JWTVerifier(jwt)
        let good = token(#"{"sub":"ada","nbf":1000,"exp":2000}"#)
        #expect(verifier.verdict(good, now: 1500, known: known) == nil)
        #expect(lookups() == [0, 1])
        #expect(verifier.verdict(good, now: 1500, known: known) == nil)
        #expect(lookups() == [1, 1])
        #expect(verifier.verdict(good, now: 2060, known: known) == .expired)
        #expect(verifier.verdict(good, now: 900, known: known) == .notYetValid)
        #expect(lookups() == [3, 1])
        // One byte more or less, and another verifier of the same key, are something else.
        #expect(verifier.verdict(good + "A", now: 1500, known: known) != nil)
        #expect(verifier.verdict(String(good.dropLast()), now: 1500, known: known) != nil)
        #expect(try JWTVerifier(jwt).verdict(good, now: 1500, known: known) == nil)
        #expect(lookups() == [3, 4])
        _ = file
    }

    @Test func whatDoesNotVerifyIsNotKept() throws {
        let (source, file) = try Self.jwt()
        guard case .jwt(let jwt) = source else { return }
        let metrics = LoopMetrics()
        let known = VerifiedTokens(metrics: metrics)
        let verifier = try JWTVerifier(jwt)
        let long = #"{"sub":"ada","pad":"\#(String(repeating: "x", count: 2000))"}"#
        for bad in [token("{}") + "x", token(#"{"sub":"ada","exp":1}"#), "a.b.c", token(long)] {
            for _ in 0..<2 { _ = verifier.verdict(bad, known: known) }
        }
        #expect(metrics.value(Cells.identityLookups) == 0)
        // More tokens than there are places.
        let tokens = (0..<1000).map { token(#"{"sub":"u\#($0)"}"#) }
        for _ in 0..<2 { for token in tokens { #expect(verifier.verdict(token, known: known) == nil) } }
        _ = file
    }

    // MARK: Claims

    @Test func claimsThatAreAskedForHaveToBeThere() throws {
        let file = try KeyFixture(TokenSigner.secretText)
        var source = JWTSource(header: "Authorization", claim: "sub", algorithm: .hs256, keyFile: file.path)
        source.issuers = ["https://id.example", "other"]
        source.audiences = ["notes", "files"]
        source.leewaySeconds = 5
        source.requiresExpiry = true
        let verifier = try JWTVerifier(source)
        let right = #""iss":"other","aud":"notes","exp":1000"#
        let cases: [(String, IdentityRejection?)] = [
            (right, nil), (#""iss":"https://id.example","aud":["x","files"],"exp":1000"#, nil),
            (#""aud":"notes","exp":1000"#, .issuer), (#""iss":"evil","aud":"notes","exp":1000"#, .issuer),
            (#""iss":["other"],"aud":"notes","exp":1000"#, .issuer), (#""iss":7,"aud":"notes","exp":1000"#, .issuer),
            (#""iss":"other","exp":1000"#, .audience), (#""iss":"other","aud":[],"exp":1000"#, .audience),
            (#""iss":"other","aud":"note","exp":1000"#, .audience),
            (#""iss":"other","aud":["x"],"exp":1000"#, .audience),
            (#""iss":"other","aud":{"notes":1},"exp":1000"#, .audience), (#""iss":"other","aud":"notes"#, .malformed),
            (#""iss":"other","aud":"notes""#, .malformed), (right + #","exp":2000"#, .malformed),
            (right + #","nbf":1006"#, .notYetValid), (right + #","nbf":1005"#, nil),
            (right + #","nbf":1,"nbf":2"#, .malformed),
            (right + #","iss":"other""#, .issuer), (right + #","aud":"notes""#, .audience),
            (right + #","sub":"b""#, .malformed),
        ]
        for (claims, why) in cases {
            #expect(verifier.verdict(token("{\"sub\":\"ada\",\(claims)}"), now: 1000) == why, "\(claims)")
        }
        #expect(verifier.verdict(token("{\"sub\":\"ada\",\(right)}"), now: 1004) == nil)
        #expect(verifier.verdict(token("{\"sub\":\"ada\",\(right)}"), now: 1005) == .expired)
    }

    @Test func hostileTokensAreMalformed() throws {
        let (source, file) = try Self.jwt()
        guard case .jwt(let jwt) = source else { return }
        let verifier = try JWTVerifier(jwt)
        let deep = String(repeating: "[", count: 3000) + String(repeating: "]", count: 3000)
        let head = base64URL(Array(#"{"alg":"HS256"}"#.utf8))
        for text in [
            ".", "..", "...", String(repeating: ".", count: 8000), head, head + ".", head + "..", "." + head + ".",
            head + ".e30.", head + ".e30=.AAAA", head + ".e30.AA AA", String(repeating: "A", count: 8193), "a.b",
            "%.%.%",
            base64URL(Array(deep.utf8)) + ".e30.AAAA", base64URL(Array("{\"alg\":\(deep)}".utf8)) + ".e30.AAAA",
            base64URL([0, 0, 0]) + ".e30.AAAA", base64URL(Array("{\"alg\":\"HS256\"}\0".utf8)) + ".e30.AAAA",
            base64URL(Array("{\"alg\":\"\\ud800\"}".utf8)) + ".e30.AAAA", base64URL([0xff, 0xfe]) + ".e30.AAAA",
        ] {
            let why = verifier.verdict(text)
            #expect(why == .malformed || why == .signature, "\(text.prefix(60))")
        }
        // Signed, and yet no claims that can be read.
        for payload in [deep, "{\"sub\":\(deep)}", "", "null", "[]", "{\"sub\":\"ada\",}", "{\"sub\":\"ada\"}\0"] {
            #expect(verifier.verdict(token(payload)) == .malformed, "\(payload.prefix(40))")
        }
        _ = file
    }
}

import COpenSSL
import Routing
import TestSupport
import Testing

@testable import Gateway

private let algorithms: [JWTSource.Algorithm] = [.hs256, .rs256, .es256]

/// Which tokens are believed, and what is read out of them.
struct JWTVerifierTests {
    private static func token(_ algorithm: JWTSource.Algorithm, _ payload: String, header: String? = nil) -> String {
        let (signer, _, name) = TokenSigner.of(algorithm)
        return signer.token(header: header ?? #"{"alg":"\#(name)"}"#, payload: payload)
    }

    private static func verifier(
        _ algorithm: JWTSource.Algorithm, header: String = "Authorization", claim: String = "sub"
    ) throws -> JWTVerifier {
        try JWTVerifier.of(algorithm, TokenSigner.of(algorithm).file, header: header, claim: claim)
    }

    // MARK: Signatures

    @Test(arguments: algorithms)
    func aSignedTokenNamesItsUser(_ algorithm: JWTSource.Algorithm) throws {
        #expect(try Self.verifier(algorithm).user(token: Self.token(algorithm, #"{"sub":"ada"}"#)) == "ada")
    }

    @Test(arguments: algorithms)
    func noCharacterOfATokenCanBeChanged(_ algorithm: JWTSource.Algorithm) throws {
        let verifier = try Self.verifier(algorithm)
        let token = Array(Self.token(algorithm, #"{"sub":"ada","exp":2000000}"#).utf8)
        #expect(verifier.user(token: String(decoding: token, as: UTF8.self)) == "ada")
        for index in token.indices {
            // The neighbours in the alphabet differ in the low bits, which the end of a part does not use.
            for other in Array("AQgwx_-.=+/ ".utf8) where other != token[index] {
                var changed = token
                changed[index] = other
                #expect(verifier.user(token: String(decoding: changed, as: UTF8.self)) == nil, "\(index): \(other)")
            }
        }
    }

    @Test(arguments: algorithms)
    func noPartOfATokenCanBeLeftOutCutOrPaddedOut(_ algorithm: JWTSource.Algorithm) throws {
        let verifier = try Self.verifier(algorithm)
        let token = Self.token(algorithm, #"{"sub":"ada"}"#)
        let parts = token.split(separator: ".").map(String.init)
        for count in 0..<token.utf8.count {
            #expect(verifier.user(token: String(token.prefix(count))) == nil, "\(count) characters")
        }
        let wrong = [
            "", ".", "..", "...", parts[0], parts[0] + "." + parts[1], parts[0] + "." + parts[1] + ".",
            "." + parts[1] + "." + parts[2], parts[0] + ".." + parts[2], token + ".", token + "." + parts[2],
            token + "=", token + "==", token + "A", token + "AA", "." + token,
        ]
        for token in wrong { #expect(verifier.user(token: token) == nil, "\(token)") }
    }

    @Test func aSignatureOfAnotherKeyIsRefused() throws {
        let others: [(JWTSource.Algorithm, TokenSigner)] = [
            (.hs256, TokenSigner(.secret(Array(repeating: 7, count: 32)))), (.rs256, TokenSigner(.rsa(bits: 2048))),
            (.es256, TokenSigner(.ec(curve: "P-256"))),
        ]
        for (algorithm, signer) in others {
            let name = TokenSigner.of(algorithm).name
            let token = signer.token(header: #"{"alg":"\#(name)"}"#, payload: #"{"sub":"ada"}"#)
            #expect(try Self.verifier(algorithm).user(token: token) == nil, "\(name)")
        }
    }

    @Test func signaturesWhoseNumbersAreShortAreAccepted() throws {
        let verifier = try Self.verifier(.es256)
        var shortFirst = false
        var shortSecond = false
        for number in 0..<20_000 where !(shortFirst && shortSecond) {
            let signed =
                base64URL(Array(#"{"alg":"ES256"}"#.utf8)) + "." + base64URL(Array(#"{"sub":\#(number)}"#.utf8))
            let signature = TokenSigner.es256.signature(Array(signed.utf8))
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            if signature[0] == 0 { shortFirst = true }
            if signature[32] == 0 { shortSecond = true }
            #expect(verifier.user(token: signed + "." + base64URL(signature)) == String(number))
        }
        #expect(shortFirst && shortSecond)
    }

    @Test func signaturesOfZerosAreRefused() throws {
        for algorithm in algorithms {
            let name = TokenSigner.of(algorithm).name
            let signed = base64URL(Array(#"{"alg":"\#(name)"}"#.utf8)) + "." + base64URL(Array(#"{"sub":"ada"}"#.utf8))
            for count in [0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257] {
                let token = signed + "." + base64URL(Array(repeating: 0, count: count))
                #expect(try Self.verifier(algorithm).user(token: token) == nil, "\(name) \(count)")
            }
        }
    }

    @Test func aRefusalLeavesNoNoteInTheErrorQueueThatTLSReads() throws {
        for algorithm in algorithms {
            let verifier = try Self.verifier(algorithm)
            ERR_clear_error()
            let token = Self.token(algorithm, #"{"sub":"ada"}"#)
            #expect(verifier.user(token: String(token.dropLast(4)) + "AAAA") == nil)
            #expect(ERR_peek_error() == 0)
        }
    }

    // MARK: The header

    @Test(arguments: algorithms)
    func theTokenDoesNotChooseHowItIsJudged(_ algorithm: JWTSource.Algorithm) throws {
        let verifier = try Self.verifier(algorithm)
        let names = [
            "none", "None", "NONE", "", "HS256", "hs256", "HS384", "HS512", "RS256", "rs256", "RS512", "PS256", "ES256",
            "es256", "ES256K", "ES384", "EdDSA",
        ]
        for name in names where name != TokenSigner.of(algorithm).name {
            let header = #"{"alg":"\#(name)"}"#
            #expect(verifier.user(token: Self.token(algorithm, #"{"sub":"ada"}"#, header: header)) == nil, "\(name)")
            let unsigned = base64URL(Array(header.utf8)) + "." + base64URL(Array(#"{"sub":"ada"}"#.utf8)) + "."
            #expect(verifier.user(token: unsigned) == nil, "\(name), unsigned")
        }
    }

    @Test func aPublicKeyIsNotTakenForASharedSecret() throws {
        for algorithm in [JWTSource.Algorithm.rs256, .es256] {
            let (_, pem, name) = TokenSigner.of(algorithm)
            let forger = TokenSigner(.secret(Array(pem.utf8)))
            for claimed in ["HS256", name] {
                let token = forger.token(header: #"{"alg":"\#(claimed)"}"#, payload: #"{"sub":"ada"}"#)
                #expect(try Self.verifier(algorithm).user(token: token) == nil, "\(claimed)")
            }
        }
    }

    @Test func headersThatCannotBeHonouredAreRefused() throws {
        let verifier = try Self.verifier(.hs256)
        let headers = [
            #"{}"#, #"[]"#, #""HS256""#, #"["HS256"]"#, #"null"#, #""#, #"{"alg":"HS256""#, #"{"alg":["HS256"]}"#,
            #"{"alg":null}"#, #"{"alg":256}"#, #"{"ALG":"HS256"}"#, #"{"alg":"HS256","alg":"none"}"#,
            #"{"alg":"HS256","crit":["exp"]}"#, #"{"alg":"HS256","crit":[]}"#, #"{"alg":"HS256","crit":null}"#,
            #"{"alg":"HS256","b64":false,"crit":["b64"]}"#,
        ]
        for header in headers {
            #expect(verifier.user(token: Self.token(.hs256, #"{"sub":"ada"}"#, header: header)) == nil, "\(header)")
        }
    }

    @Test func whatAHeaderSaysBesidesIsPassedOver() throws {
        let verifier = try Self.verifier(.hs256)
        let headers = [
            #"{"alg":"HS256","typ":"JWT"}"#, #"{"typ":"at+jwt","alg":"HS256","kid":"7"}"#, #"{"typ":7,"alg":"HS256"}"#,
            #" { "alg" : "HS256" } "#, #"{"alg":"HS256","jku":"https://example.com/keys"}"#,
        ]
        for header in headers {
            #expect(verifier.user(token: Self.token(.hs256, #"{"sub":"ada"}"#, header: header)) == "ada", "\(header)")
        }
    }

    // MARK: Claims

    @Test func claimsThatAreTextOrIntegersAreIds() throws {
        let verifier = try Self.verifier(.hs256)
        let ids: [(String, String?)] = [
            (#"{"sub":"ada"}"#, "ada"), (#"{"sub":"Gr\u00fc\u00dfe \ud83d\ude00"}"#, "Grüße 😀"), (#"{"sub":""}"#, ""),
            (#"{"sub":7}"#, "7"), (#"{"sub":-7}"#, "-7"), (#"{"sub":12345678901234567890}"#, "12345678901234567890"),
            (#"{"sub":7.0}"#, "7"), (#"{"sub":7.5}"#, nil), (#"{"sub":true}"#, nil), (#"{"sub":null}"#, nil),
            (#"{"sub":["ada"]}"#, nil), (#"{"sub":{"id":"ada"}}"#, nil), (#"{"user":"ada"}"#, nil), (#"{}"#, nil),
            (#"["ada"]"#, nil), (#""ada""#, nil), (#"{"sub":"ada""#, nil), (#""#, nil), (#"{"sub":"\ud83d"}"#, nil),
        ]
        for (payload, id) in ids { #expect(verifier.user(token: Self.token(.hs256, payload)) == id, "\(payload)") }
    }

    @Test func claimsMayHaveAnyName() throws {
        let names = ["uid", "https://example.com/claims/user~id", "0", "a b", "Größe"]
        for name in names {
            let verifier = try Self.verifier(.hs256, claim: name)
            #expect(verifier.user(token: Self.token(.hs256, #"{"sub":"x","\#(name)":"ada"}"#)) == "ada", "\(name)")
        }
        // The first element of an array is no claim.
        #expect(try Self.verifier(.hs256, claim: "0").user(token: Self.token(.hs256, #"["ada"]"#)) == nil)
    }

    @Test func timesAreHonouredWithSixtySecondsOfLeeway() throws {
        let verifier = try Self.verifier(.hs256)
        let now: Int64 = 1_800_000_000
        let cases: [(String, Bool)] = [
            ("", true), (#","exp":1800000001"#, true), (#","exp":1800000000"#, true), (#","exp":1799999941"#, true),
            (#","exp":1799999940"#, false), (#","exp":1799999940.5"#, true), (#","exp":1799999939.9"#, false),
            (#","exp":0"#, false), (#","exp":-1"#, false), (#","exp":1e400"#, true), (#","exp":-1e400"#, false),
            (#","exp":99999999999999999999"#, true), (#","exp":"1900000000""#, false), (#","exp":null"#, false),
            (#","exp":[1900000000]"#, false), (#","exp":1900000000,"exp":1"#, false),
            (#","nbf":1800000000"#, true), (#","nbf":1800000060"#, true), (#","nbf":1800000060.5"#, false),
            (#","nbf":1800000061"#, false), (#","nbf":0"#, true), (#","nbf":1e400"#, false), (#","nbf":"0""#, false),
            (#","nbf":1799999990,"exp":1800000010"#, true), (#","nbf":1800000100,"exp":1800000200"#, false),
            (#","iat":1900000000"#, true),
        ]
        for (claims, accepted) in cases {
            let token = Self.token(.hs256, #"{"sub":"ada"\#(claims)}"#)
            #expect((verifier.user(token: token, now: now) != nil) == accepted, "\(claims)")
        }
    }

    // MARK: The header line

    @Test func authorizationCarriesBearerCredentialsOnly() throws {
        let token = Self.token(.hs256, #"{"sub":"ada"}"#)
        for name in ["Authorization", "authorization", "AUTHORIZATION"] {
            let verifier = try Self.verifier(.hs256, header: name)
            for scheme in ["Bearer ", "bearer ", "BEARER  "] {
                #expect(verifier.user(line: scheme + token) == "ada", "\(scheme)")
            }
            for line in [token, "Basic " + token, "Bearer" + token, "Bearer", "Bearer ", "", "Token " + token] {
                #expect(verifier.user(line: line) == nil, "\(line)")
            }
        }
    }

    @Test func otherHeadersCarryTheTokenBareOrAsBearer() throws {
        let verifier = try Self.verifier(.hs256, header: "X-Access-Token")
        let token = Self.token(.hs256, #"{"sub":"ada"}"#)
        #expect(verifier.user(line: token) == "ada")
        #expect(verifier.user(line: "Bearer " + token) == "ada")
        for line in ["", "Bearer", "Basic " + token, token + " " + token, "\"" + token + "\""] {
            #expect(verifier.user(line: line) == nil, "\(line)")
        }
    }

    @Test func tokensAreLookedAtUpToEightKibibytes() throws {
        let verifier = try Self.verifier(.hs256)
        func token(padding: Int) -> String {
            Self.token(.hs256, #"{"sub":"ada","pad":"\#(String(repeating: "x", count: padding))"}"#)
        }
        let rest = token(padding: 0).utf8.count
        // Three bytes are four characters.
        let largest = (8 * 1024 - rest) / 4 * 3
        #expect(token(padding: largest).utf8.count <= 8 * 1024)
        #expect(verifier.user(token: token(padding: largest)) == "ada")
        #expect(token(padding: largest + 6).utf8.count > 8 * 1024)
        #expect(verifier.user(token: token(padding: largest + 6)) == nil)
    }

    @Test(arguments: algorithms)
    func oneVerifierServesManyThreads(_ algorithm: JWTSource.Algorithm) async throws {
        let verifier = try Self.verifier(algorithm)
        let good = Self.token(algorithm, #"{"sub":"ada"}"#)
        let bad = String(good.dropLast(8)) + "AAAAAAAA"
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<50).count { _ in verifier.user(token: good) != "ada" || verifier.user(token: bad) != nil }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}

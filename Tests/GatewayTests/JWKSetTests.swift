import COpenSSL
import Routing
import Telemetry
import TestSupport
import Testing

@testable import Gateway

/// Sets of keys: which are read, which of them judges a token, and what is said about the others.
struct JWKSetTests {
    private func verifier(_ keys: String...) throws -> JWTVerifier {
        try verifier(text: #"{"keys":["# + keys.joined(separator: ",") + "]}")
    }

    private func verifier(text: String, claim: String = "sub") throws -> JWTVerifier {
        let file = try KeyFixture(text)
        return try JWTVerifier(JWTSource(header: "Authorization", claim: claim, keys: .set(file: file.path)))
    }

    private func problem(_ text: String) throws -> String? {
        let file = try KeyFixture(text)
        do throws(IdentityError) {
            _ = try JWTVerifier(JWTSource(header: "Authorization", claim: "sub", keys: .set(file: file.path)))
            return nil
        } catch {
            #expect(error.text.contains(file.path))
            return error.text.replacing(file.path, with: "FILE")
        }
    }

    private func oct(_ secret: String = TokenSigner.secretText, _ more: String = "") -> String {
        #"{"kty":"oct","k":"\#(base64URL(Array(secret.utf8)))"\#(more)}"#
    }

    private func token(_ signer: TokenSigner, _ algorithm: String, _ more: String = "") -> String {
        signer.token(header: #"{"alg":"\#(algorithm)"\#(more)}"#, payload: #"{"sub":"ada"}"#)
    }

    // MARK: The examples of the RFCs

    /// RFC 7517 appendix A.1: the key for encryption is passed over, the RSA key is read.
    @Test func theExampleSetIsRead() throws {
        let text = """
            {"keys":
              [
                {"kty":"EC",
                 "crv":"P-256",
                 "x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
                 "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
                 "use":"enc",
                 "kid":"1"},

                {"kty":"RSA",
                 "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXj\
            BZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c\
            7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-c\
            sFCur-kEgU8awapJzKnqDKgw",
                 "e":"AQAB",
                 "alg":"RS256",
                 "kid":"2011-04-29"}
              ]
            }
            """
        let verifier = try verifier(text: text)
        #expect(verifier.verdict(token(TokenSigner.rs256, "RS256", #","kid":"2011-04-29""#)) == .signature)
        #expect(verifier.verdict(token(TokenSigner.rs256, "RS256", #","kid":"1""#)) == .unknownKey)
        #expect(verifier.verdict(token(TokenSigner.es256, "ES256", #","kid":"1""#)) == .algorithm)
    }

    /// RFC 7515 appendix A.1 to A.3 with their keys in one set: each token finds its own.
    @Test func theExampleTokensAreJudgedByTheirKeys() throws {
        let verifier = try verifier(
            text: """
                {"keys":[
                 {"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"},
                 {"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0B\
                m4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBY\
                UsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8\
                NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"},
                 {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                  "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
                """, claim: "iss")
        for token in Self.tokens { #expect(verifier.user(token: token, now: JWTVectorTests.now) == "joe") }
        // Every bit counts.
        for token in Self.tokens {
            #expect(verifier.user(token: String(token.dropLast(8)) + "AAAAAAAA", now: JWTVectorTests.now) == nil)
        }
    }

    private static let tokens = [
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + JWTVectorTests.payload
            + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        "eyJhbGciOiJSUzI1NiJ9." + JWTVectorTests.payload + "."
            + "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
            + "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383"
            + "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
            + "wlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        "eyJhbGciOiJFUzI1NiJ9." + JWTVectorTests.payload
            + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    ]

    // MARK: Which key

    @Test func theNamedKeyJudgesAndNoOther() throws {
        let verifier = try verifier(
            oct(TokenSigner.secretText, #","kid":"a""#), oct(String(repeating: "b", count: 32), #","kid":"b""#))
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", #","kid":"a""#)) == nil)
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", #","kid":"b""#)) == .signature)
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", #","kid":"c""#)) == .unknownKey)
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256")) == nil)
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", #","kid":7"#)) == .malformed)
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", #","kid":"a","kid":"a""#)) == .malformed)
    }

    @Test func aKeyWithoutANameServesNamesThatNoKeyHas() throws {
        let verifier = try verifier(oct(), oct(String(repeating: "b", count: 32), #","kid":"b""#))
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", #","kid":"elsewhere""#)) == nil)
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", #","kid":"b""#)) == .signature)
    }

    @Test func withoutANameEightKeysAreTriedAndNoMore() throws {
        let others = (0..<8).map { oct(String(repeating: "\($0)", count: 32)) }
        let within = try verifier(text: #"{"keys":["# + (others.dropLast() + [oct()]).joined(separator: ",") + "]}")
        #expect(within.verdict(token(TokenSigner.hs256, "HS256")) == nil)
        let beyond = try verifier(text: #"{"keys":["# + (others + [oct()]).joined(separator: ",") + "]}")
        #expect(beyond.verdict(token(TokenSigner.hs256, "HS256")) == .signature)
    }

    @Test func theKindOfTheKeyDecidesTheAlgorithm() throws {
        let ec = try #require(TokenSigner.es256.jwk)
        let rsa = try #require(TokenSigner.rs256.jwk)
        let verifier = try verifier(rsa, ec)
        #expect(verifier.verdict(token(TokenSigner.rs256, "RS256")) == nil)
        #expect(verifier.verdict(token(TokenSigner.es256, "ES256")) == nil)
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256")) == .algorithm)
        #expect(verifier.verdict(token(TokenSigner.rs256, "ES256")) == .signature)
        for name in ["none", "None", "", "RS512", "PS256", "rs256"] {
            #expect(verifier.verdict(token(TokenSigner.rs256, name)) == .algorithm, "\(name)")
        }
        // What is public is no secret, in whatever spelling an attacker guesses that a verifier would take it.
        for secret in [rsa, TokenSigner.rs256.publicPEM, ec, TokenSigner.es256.publicPEM] {
            let forger = TokenSigner(.secret(Array(secret.utf8)))
            #expect(verifier.verdict(token(forger, "HS256")) == .algorithm)
        }
    }

    @Test func keysThatATokenBringsAlongAreNotLookedAt() throws {
        let verifier = try verifier(oct())
        let attacker = TokenSigner(.ec(curve: "P-256"))
        let key = try #require(attacker.jwk)
        for more in [
            #","jwk":\#(key)"#, #","jku":"https://example.com/keys""#, #","x5c":["MIIB"],"x5u":"https://example.com/""#,
        ] {
            #expect(verifier.verdict(token(attacker, "ES256", more)) == .algorithm)
            #expect(verifier.verdict(token(TokenSigner.hs256, "HS256", more)) == nil)
        }
    }

    // MARK: Which sets

    @Test func keysForOtherPurposesArePassedOver() throws {
        let others = [
            #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#, #"{"kty":"RSA","alg":"RSA-OAEP","n":"AA","e":"AQAB"}"#,
            #"{"kty":"RSA","use":"enc","n":"AA","e":"AQAB"}"#, #"{"kty":"oct","key_ops":["sign"],"k":"AA"}"#,
            oct(TokenSigner.secretText, #","alg":"HS512""#),
        ]
        let verifier = try verifier(
            text: #"{"more":1,"keys":["#
                + (others + [oct(TokenSigner.secretText, #","key_ops":["sign","verify"],"use":"sig","alg":"HS256""#)])
                .joined(separator: ",") + "]}")
        #expect(verifier.verdict(token(TokenSigner.hs256, "HS256")) == nil)
        for other in others {
            #expect(
                try #require(try problem(#"{"keys":[\#(other)]}"#)).contains(
                    "none of the 1 keys in FILE verifies a token"))
        }
    }

    @Test func setsThatCannotBeUsedSayWhy() throws {
        let ec = try #require(TokenSigner.es256.jwk)
        let rsa = try #require(TokenSigner.rs256.jwk)
        let small = try #require(TokenSigner(.rsa(bits: 1024)).jwk)
        let many = Array(repeating: oct(), count: 65).joined(separator: ",")
        let cases: [(String, String)] = [
            (#"{"keys":[]}"#, "FILE is a JWK Set without a key; accepted: kty RSA"), ("{}", "no JWK Set"),
            ("[]", "no JWK Set"),
            ("hello", "no JWK Set"), (#"{"keys":{}}"#, "no JWK Set"), (#"{"keys":[],"keys":[]}"#, "no JWK Set"),
            (oct(), "no JWK Set"), (#"{"keys":[7]}"#, "keys[0]: not an object"), (#"{"keys":[{}]}"#, "kty is missing"),
            (#"{"keys":[\#(oct()),{"kty":7}]}"#, "keys[1]: kty is no string"),
            (#"{"keys":[\#(many)]}"#, "65 keys; accepted: at most 64"),
            (#"{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}"#, "5 bytes, at least 32"),
            (#"{"keys":[{"kty":"oct"}]}"#, "k is missing"),
            (#"{"keys":[{"kty":"oct","k":"a+/="}]}"#, "k is no Base64url"), (#"{"keys":[\#(small)]}"#, "1024 bits"),
            (#"{"keys":[{"kty":"RSA","n":"AQAB"}]}"#, "e is missing"),
            (#"{"keys":[{"kty":"RSA","n":"AAAA","e":"AQAB"}]}"#, "keys[0]"),
            (#"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#, "not of 32 bytes"),
            (
                #"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(base64URL(Array(repeating: 1, count: 32)))","y":"\#(base64URL(Array(repeating: 1, count: 32)))"}]}"#,
                "the numbers make no key"
            ),
            (#"{"keys":[\#(ec.dropLast()),"d":"AA"}]}"#, "a private key"),
            (#"{"keys":[\#(rsa.dropLast()),"d":"AA"}]}"#, "a private key"),
            (
                #"{"keys":[\#(oct(TokenSigner.secretText, #","kid":"a","kid":"b""#))]}"#,
                "kid stands there more than once"
            ),
        ]
        for (text, reason) in cases {
            let said = try #require(try problem(text), "\(reason)")
            #expect(said.contains(reason), "\(said)")
        }
        #expect(try problem(#"{"keys":[\#(Array(repeating: oct(), count: 64).joined(separator: ","))]}"#) == nil)
        #expect(try #require(try problem(String(repeating: " ", count: 256 * 1024 + 1))).contains("larger than 262144"))
        #expect(ERR_peek_error() == 0)
    }

    @Test func noErrorTextQuotesAKey() throws {
        for key in [
            #"{"kty":"oct","k":"aHVudGVyMg"}"#, #"{"kty":"oct","k":"hunter2+"}"#,
            #"{"kty":"RSA","n":"hunter2A","e":"AQAB"}"#,
        ] {
            let said = try #require(try problem(#"{"keys":[\#(key)]}"#))
            #expect(!said.contains("hunter2") && !said.contains("aHVudGVyMg"))
        }
    }
}

extension JWTVerifier {
    /// Why a token is refused; nil: it is not.
    func verdict(_ token: String, now: Int64 = 1_000_000, known: VerifiedTokens? = nil) -> IdentityRejection? {
        let bytes = Array("Bearer \(token)".utf8)
        return bytes.withUnsafeBufferPointer { line in
            guard let base = line.baseAddress,
                case .refused(let why) = judge(base, line.count, nowSeconds: now, known: known)
            else { return nil }
            return why
        }
    }
}

extension TokenSigner {
    /// The public key as a JSON Web Key; nil for a secret.
    var jwk: String? {
        guard let key else { return nil }
        func number(_ name: String) -> String {
            var value: OpaquePointer?
            guard EVP_PKEY_get_bn_param(key, name, &value) == 1 else { return "" }
            defer { BN_free(value) }
            var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(value) + 7) / 8)
            if EVP_PKEY_is_a(key, "EC") == 1 { bytes = [UInt8](repeating: 0, count: 32) }
            _ = BN_bn2binpad(value, &bytes, Int32(bytes.count))
            return base64URL(bytes)
        }
        if EVP_PKEY_is_a(key, "RSA") == 1 { return #"{"kty":"RSA","n":"\#(number("n"))","e":"\#(number("e"))"}"# }
        return #"{"kty":"EC","crv":"P-256","x":"\#(number("qx"))","y":"\#(number("qy"))"}"#
    }
}

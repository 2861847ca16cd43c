import Configuration
import HTTPWire
import Routing
import Testing

@testable import Gateway

/// Which key files are taken, and what is said about the others.
struct JWTKeyTests {
    private func problem(_ algorithm: JWTSource.Algorithm, _ contents: [UInt8]) throws -> String? {
        let file = try KeyFixture(contents)
        do throws(IdentityError) {
            _ = try JWTVerifier(
                JWTSource(header: "Authorization", claim: "sub", algorithm: algorithm, keyFile: file.path))
            return nil
        } catch {
            #expect(error.text.contains(file.path))
            return error.text.replacing(file.path, with: "FILE")
        }
    }

    private func problem(_ algorithm: JWTSource.Algorithm, _ contents: String) throws -> String? {
        try problem(algorithm, Array(contents.utf8))
    }

    @Test func secretsNeedThirtyTwoBytesBesidesTheLineEnding() throws {
        let secret = TokenSigner.secretText
        for accepted in [secret, secret + "\n", secret + "\r\n", secret + "\n\n", secret + secret] {
            #expect(try problem(.hs256, accepted) == nil)
        }
        for refused in [String(secret.dropLast()), secret.dropLast() + "\n", secret.dropLast(2) + "\r\n", "\n", "x"] {
            let text = try #require(try problem(.hs256, String(refused)))
            #expect(text.contains("too short"))
            #expect(text.contains("32"))
        }
    }

    @Test func theLineEndingIsNoPartOfTheSecret() throws {
        let token = TokenSigner.hs256.token(header: #"{"alg":"HS256"}"#, payload: #"{"sub":"ada"}"#)
        for ending in ["", "\n", "\r\n"] {
            #expect(try JWTVerifier.of(.hs256, TokenSigner.secretText + ending).user(token: token) == "ada")
        }
        for other in ["\n\n", " ", " \n", "\r"] {
            #expect(try JWTVerifier.of(.hs256, TokenSigner.secretText + other).user(token: token) == nil)
        }
    }

    @Test func secretsMayHoldAnyByte() throws {
        let secret = [UInt8](0...255)
        let file = try KeyFixture(secret)
        let verifier = try JWTVerifier(
            JWTSource(header: "Authorization", claim: "sub", algorithm: .hs256, keyFile: file.path))
        let token = TokenSigner(.secret(secret)).token(header: #"{"alg":"HS256"}"#, payload: #"{"sub":"ada"}"#)
        #expect(verifier.user(token: token) == "ada")
    }

    @Test func noErrorTextQuotesAKey() throws {
        let short = "hunter2hunter2"
        #expect(try #require(try problem(.hs256, short)).contains("hunter2") == false)
        let garbage = "-----BEGIN PUBLIC KEY-----\nhunter2hunter2\n-----END PUBLIC KEY-----\n"
        for algorithm in [JWTSource.Algorithm.rs256, .es256] {
            #expect(try #require(try problem(algorithm, garbage)).contains("hunter2") == false)
        }
    }

    @Test func aKeyOfAnotherKindIsRefused() throws {
        let secret = TokenSigner.secretText
        let rsa = TokenSigner.rs256
        let ec = TokenSigner.es256
        let cases: [(JWTSource.Algorithm, String, String)] = [
            (.hs256, rsa.publicPEM, "PEM document"), (.hs256, ec.publicPEM, "PEM document"),
            (.hs256, rsa.privatePEM, "PEM document"), (.rs256, secret, "no PEM public key"),
            (.es256, secret, "no PEM public key"), (.rs256, ec.publicPEM, "not an RSA key"),
            (.es256, rsa.publicPEM, "not an elliptic curve key"), (.rs256, rsa.privatePEM, "private key"),
            (.es256, ec.privatePEM, "private key"), (.rs256, TokenSigner(.rsa(bits: 1024)).publicPEM, "1024 bits"),
            (.es256, TokenSigner(.ec(curve: "P-384")).publicPEM, "P-256"),
            (.es256, TokenSigner(.ec(curve: "secp256k1")).publicPEM, "P-256"),
            (.rs256, String(rsa.publicPEM.dropLast(60)), "no PEM public key"),
        ]
        for (algorithm, contents, reason) in cases {
            #expect(try #require(try problem(algorithm, contents)).contains(reason), "\(algorithm), \(reason)")
        }
    }

    @Test func filesThatCannotBeReadSayWhy() throws {
        #expect(try #require(try problem(.hs256, "")).contains("empty"))
        #expect(try #require(try problem(.hs256, Array(repeating: 65, count: 64 * 1024 + 1))).contains("larger"))
        #expect(try problem(.hs256, Array(repeating: 65, count: 64 * 1024)) == nil)
        for (path, reason) in [("/nonexistent/key", "No such file"), ("/", "Is a directory")] {
            do throws(IdentityError) {
                _ = try JWTVerifier(JWTSource(header: "A", claim: "sub", algorithm: .hs256, keyFile: path))
                Issue.record("\(path) was taken for a key")
            } catch {
                #expect(error.text.contains(reason))
            }
        }
    }

    @Test func claimsThatCannotBeNamedAreRefused() throws {
        for claim in ["", "*"] {
            #expect(throws: IdentityError.self) {
                try JWTVerifier.of(.hs256, TokenSigner.secretText, claim: claim)
            }
        }
    }

    @Test func aRequestIsOfTheUserThatItsTokenNames() throws {
        let file = try KeyFixture(TokenSigner.secretText)
        var settings = UserSettings()
        settings.from = [
            .jwt(JWTSource(header: "Authorization", claim: "sub", algorithm: .hs256, keyFile: file.path)),
            .header("X-User-Id"),
        ]
        let sources = try IdentitySources(settings)
        let token = TokenSigner.hs256.token(
            header: #"{"alg":"HS256"}"#, payload: #"{"sub":"ada","nbf":1000,"exp":2000}"#)
        func user(_ authorization: String, at seconds: Int64) -> String? {
            let text = "GET / HTTP/1.1\r\nHost: a\r\nX-User-Id: bob\r\nAuthorization: \(authorization)\r\n\r\n"
            let bytes = Array(text.utf8)
            let head = MessageHead(limits: WireLimits())
            let scratch = IdentityScratch()
            return (bytes + [0, 0, 0, 0, 0, 0, 0, 0]).withUnsafeBufferPointer { buffer in
                guard let p = buffer.baseAddress else { return nil }
                _ = head.parseRequest(p, bytes.count)
                return sources.user(head, p, scratch) { seconds }?.text
            }
        }
        #expect(user("Bearer " + token, at: 1500) == "ada")
        // What does not hold does not leave the word to a header that anybody can write.
        #expect(user("Bearer " + token, at: 2060) == nil)
        #expect(user("Bearer " + token, at: 0) == nil)
        #expect(user("Bearer x" + token, at: 1500) == nil)
        #expect(user("Basic YWRhOmE=", at: 1500) == "bob")
    }
}

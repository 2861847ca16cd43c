import Routing
import Telemetry
import TestSupport
import Testing

@testable import Gateway

/// Cookies that the application has signed.
struct SignedCookieTests {
    private static let now: Int64 = 1_800_000_000

    private func cookie(
        _ secrets: String = TokenSigner.secretText, encoding: SignedCookieSource.Encoding = .plain,
        requiresExpiry: Bool = false, name: String = "uid"
    ) throws -> SignedCookie {
        let file = try KeyFixture(secrets)
        var source = SignedCookieSource(name: name, secretFile: file.path)
        source.encoding = encoding
        source.requiresExpiry = requiresExpiry
        return try SignedCookie(source)
    }

    /// What an application sends.
    private func signed(_ text: String, by signer: TokenSigner = .hs256, name: String = "uid") -> String {
        text + "." + base64URL(signer.signature(Array("\(name)=\(text)".utf8)))
    }

    private func outcome(_ cookie: SignedCookie, _ value: String, now: Int64 = now) -> String {
        let bytes = Array(value.utf8)
        let scratch = IdentityScratch()
        return bytes.withUnsafeBufferPointer { bytes in
            switch cookie.judge(bytes, nowSeconds: now, into: scratch.base) {
            case .absent: "absent"
            case .refused(let why): why.rawValue
            case .verified(let count):
                "user " + String(decoding: UnsafeBufferPointer(start: scratch.base, count: count), as: UTF8.self)
            }
        }
    }

    @Test func whatIsSignedNamesTheUser() throws {
        let cookie = try cookie()
        for (text, user) in [
            ("ada.1800000001", "ada"), ("ada.", "ada"), ("ada@example.com.1900000000", "ada@example.com"),
            ("42.", "42"),
            ("a.b.c.1900000000", "a.b.c"), ("José.", "José"), (".1900000000", ""), ("..1900000000", "."),
        ] { #expect(outcome(cookie, signed(text)) == "user \(user)", "\(text)") }
    }

    /// Made with `hmac.digest(secret, b"uid=ada.1900000000", "sha256")` of Python.
    @Test func theFormIsTheOneInTheDocuments() throws {
        let value = "ada.1900000000.psxDyEqNXuK_ga-j8QRygTkPEjk0bqXMKewMvha5G4g"
        #expect(outcome(try cookie(), value) == "user ada")
    }

    @Test func whatIsNotSignedNamesNobody() throws {
        let cookie = try cookie()
        let good = signed("ada.1900000000")
        for (value, why) in [
            ("", "absent"), ("ada", "malformed"), ("ada.1900000000", "malformed"), (".", "malformed"),
            ("ada.1900000000.", "signature"), (String(good.dropLast()), "malformed"), (good + "A", "signature"),
            (good + "=", "malformed"), (String(good.dropLast(8)) + "AAAAAAAA", "signature"),
            (good.replacing("ada", with: "eve"), "signature"), (good.replacing("19", with: "29"), "signature"),
            ("x" + good, "signature"), (good.replacing("ada.", with: "ada.0"), "signature"),
            (signed("ada.1900000000", name: "theme"), "signature"), (signed("ada.1800000000"), "expired"),
            (signed("ada.0"), "expired"), (signed("ada.x"), "malformed"), (signed("ada.-1"), "malformed"),
            (signed("ada.1e12"), "malformed"), (signed("ada.9999999999999"), "malformed"),
            (signed(String(repeating: "a", count: 4100) + "."), "malformed"), (signed("a\u{0}b."), "malformed"),
            (signed("ada.", by: TokenSigner(.secret(Array(String(repeating: "x", count: 32).utf8)))), "signature"),
        ] { #expect(outcome(cookie, value) == why, "\(value)") }
    }

    @Test func everyLineIsASecretThatVerifies() throws {
        let new = String(repeating: "n", count: 40)
        for text in [
            "\(new)\n\(TokenSigner.secretText)\n", "\(new)\r\n\n\(TokenSigner.secretText)",
            "\(TokenSigner.secretText)\n\(new)",
        ] {
            let cookie = try cookie(text)
            #expect(outcome(cookie, signed("ada.")) == "user ada")
            #expect(outcome(cookie, signed("ada.", by: TokenSigner(.secret(Array(new.utf8))))) == "user ada")
        }
    }

    @Test func idsAreSpelledAsTheConfigurationSays() throws {
        let percent = try cookie(encoding: .percent)
        #expect(outcome(percent, signed("ada%20l%C3%B6we.")) == "user ada löwe")
        #expect(outcome(percent, signed("a%00.")) == "malformed")
        let base64 = try cookie(encoding: .base64url)
        #expect(outcome(base64, signed(base64URL(Array("ada; löwe".utf8)) + ".")) == "user ada; löwe")
        #expect(outcome(base64, signed("!!.")) == "malformed")
        #expect(outcome(base64, signed(base64URL([0x61, 0x0a]) + ".")) == "malformed")
    }

    @Test func anExpiryCanBeAskedFor() throws {
        let cookie = try cookie(requiresExpiry: true)
        #expect(outcome(cookie, signed("ada.")) == "malformed")
        #expect(outcome(cookie, signed("ada.1900000000")) == "user ada")
    }

    @Test func filesThatHoldNoSecretSayWhy() throws {
        let long = String(repeating: "s", count: 32)
        for (text, reason) in [
            ("\n\n", "0 secrets"), ("short\n", "line 1"), ("\(long)\nshort", "line 2"), ("", "empty"),
            (Array(repeating: long, count: 9).joined(separator: "\n"), "9 secrets; accepted: 1 to 8"),
            (TokenSigner.rs256.publicPEM, "PEM document"),
        ] {
            do throws(IdentityError) {
                let file: KeyFixture
                do { file = try KeyFixture(text) } catch { throw IdentityError(text: "no file") }
                _ = try SignedCookie(SignedCookieSource(name: "uid", secretFile: file.path))
                Issue.record("\(reason) was taken")
            } catch {
                #expect(error.text.contains(reason) && !error.text.contains("short\n") && !error.text.contains(long))
            }
        }
    }
}

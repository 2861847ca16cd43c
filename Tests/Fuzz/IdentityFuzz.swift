import COpenSSL
import Routing
import TestSupport

@testable import Gateway

/// Tokens, signed cookies and files of keys: nothing holds that was not signed with the keys here, what was signed by nobody is
/// read as what it says, and a file of keys is a set or an error.
///
/// The first letter of an input says what follows: `T` a token, `S` header and payload that are signed here and then judged, `C` a
/// cookie, `D` the text of one to be signed, `K` a JWK Set, `P` a PEM file.
final class IdentityFuzz {
    static let secret = "0123456789abcdef0123456789ABCDEF"
    /// The tokens that were signed, with keys whose private halves are gone, are these headers and one payload.
    private static let headers = [
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InIifQ",
        "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImUifQ",
    ]
    private static let payload =
        "eyJzdWIiOiJhZGEiLCJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjpbImEiLCJiIl0sImV4cCI6MjAwMDAwMCwi"
        + "bmJmIjoxMH0"
    private static let signedCookie = "ada.l.1900000000"
    private static let now: Int64 = 1_000_000

    private let directory = scratchDirectory("identity")
    private let verifiers: [JWTVerifier]
    private let strict: JWTVerifier
    private let cookie: SignedCookie
    private let scratch = IdentityScratch()

    init() {
        let (directory, keys) = (directory, FuzzKeys.self)
        writeFile("\(directory)/secret", Array(Self.secret.utf8))
        writeFile("\(directory)/rsa.pem", Array(keys.rsa.utf8))
        writeFile("\(directory)/ec.pem", Array(keys.ec.utf8))
        writeFile("\(directory)/set.json", Array(keys.set.utf8))
        func source(_ keys: JWTSource.Keys) -> JWTSource { JWTSource(header: "x-token", claim: "sub", keys: keys) }
        do {
            verifiers = try [
                source(.one(.hs256, file: "\(directory)/secret")), source(.one(.rs256, file: "\(directory)/rsa.pem")),
                source(.one(.es256, file: "\(directory)/ec.pem")), source(.set(file: "\(directory)/set.json")),
            ].map { try JWTVerifier($0) }
            var demanding = source(.one(.hs256, file: "\(directory)/secret"))
            demanding.issuers = ["https://issuer.example"]
            demanding.audiences = ["a"]
            demanding.requiresExpiry = true
            strict = try JWTVerifier(demanding)
            cookie = try SignedCookie(SignedCookieSource(name: "uid", secretFile: "\(directory)/secret"))
        } catch { fatalError("\(error)") }
    }

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        guard let first = input.first else { return }
        let rest = UnsafeBufferPointer(rebasing: input[1...])
        switch first {
        case UInt8(ascii: "S"): judgeSigned(rest)
        case UInt8(ascii: "C"): judgeCookie(Array(rest), isSigned: false)
        case UInt8(ascii: "D"):
            let text = Array(rest)
            let code = mac(Array("uid=".utf8) + text)
            judgeCookie(text + [0x2e] + base64URL(code).utf8, isSigned: true)
        case UInt8(ascii: "K"): judgeKeys(Array(rest), isSet: true)
        case UInt8(ascii: "P"): judgeKeys(Array(rest), isSet: false)
        default: judgeToken(rest)
        }
    }

    // MARK: Tokens

    private func judgeToken(_ token: UnsafeBufferPointer<UInt8>) {
        for verifier in verifiers + [strict] {
            let verdict = withExactCopy(token) { verifier.judge($0, token.count, nowSeconds: Self.now) }
            guard case .verified(let verified) = verdict else { continue }
            var text = String(decoding: token, as: UTF8.self)
            if text.lowercased().hasPrefix("bearer ") {
                text = String(text.dropFirst(7).drop { $0 == " " || $0 == "\t" })
            }
            let isOurs = Self.headers.contains { text.hasPrefix("\($0).\(Self.payload).") }
            require(isOurs, "a token that nobody signed holds: \(text)")
            require(verified.user == Array("ada".utf8), "and it names \(verified.user as Any)")
        }
    }

    /// What stands in a token that the issuer did sign is read strictly all the same.
    private func judgeSigned(_ input: UnsafeBufferPointer<UInt8>) {
        let parts = input.split(separator: 0x0a, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
        let signed = Array("\(base64URL(parts[0])).\(base64URL(parts.count > 1 ? parts[1] : []))".utf8)
        let token = signed + [0x2e] + base64URL(mac(signed)).utf8
        let lax = withExactCopy(token) { verifiers[0].judge($0, token.count, nowSeconds: Self.now) }
        let demanding = withExactCopy(token) { strict.judge($0, token.count, nowSeconds: Self.now) }
        if case .verified(let token) = demanding {
            guard case .verified(let same) = lax else {
                fatalError("the strict verifier takes what the lax one refuses")
            }
            require(token.user == same.user, "two users of one token")
            require(Double(Self.now) < token.endsAt, "not in its time")
        }
        if case .verified(let token) = lax {
            require(token.user?.contains { $0 < 0x20 || $0 == 0x7f } != true, "a user with control characters")
            require(token.startsAt <= Double(Self.now) && Double(Self.now) < token.endsAt, "not in its time")
        }
    }

    // MARK: Cookies

    private func judgeCookie(_ value: [UInt8], isSigned: Bool) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, value.count))
        defer { copy.deallocate() }
        _ = copy.update(fromContentsOf: value)
        let bytes = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(copy)[..<value.count])
        guard case .verified(let count) = cookie.judge(bytes, nowSeconds: Self.now, into: scratch.base) else { return }
        let user = Array(UnsafeBufferPointer(start: scratch.base, count: count))
        require(!user.contains { $0 < 0x20 || $0 == 0x7f }, "a user with control characters")
        if isSigned {
            require(value.starts(with: user + [0x2e]), "another user than the cookie's")
        } else {
            require(value.starts(with: Array("\(Self.signedCookie).".utf8)), "a cookie that nobody signed holds")
        }
    }

    // MARK: Files of keys

    private func judgeKeys(_ bytes: [UInt8], isSet: Bool) {
        let path = "\(directory)/input"
        writeFile(path, bytes)
        let sources: [JWTSource.Keys] =
            isSet ? [.set(file: path)] : [.one(.rs256, file: path), .one(.es256, file: path), .one(.hs256, file: path)]
        for keys in sources {
            do throws(IdentityError) {
                _ = try JWTKeySet(keys)
                // A set that holds is readable by whoever else reads it, and no private key.
                if isSet { require(bytes.contains(UInt8(ascii: "{")), "a set without an object") }
            } catch {
                require(
                    !error.text.isEmpty && error.text.utf8.count < 400, "an error of \(error.text.utf8.count) bytes")
                require(error.text.contains(path), "which file? \(error.text)")
            }
        }
        require(ERR_peek_error() == 0, "notes left for whoever uses TLS next")
        ERR_clear_error()
    }

    // MARK: Signing

    private func mac(_ message: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        _ = HMAC(EVP_sha256(), Self.secret, Int32(Self.secret.utf8.count), message, message.count, &code, &count)
        return code
    }
}

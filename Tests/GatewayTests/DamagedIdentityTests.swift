import Routing
import TestSupport
import Testing

@testable import Gateway

/// Bytes that are nearly right: whatever is damaged, nothing verifies that was not signed, and nothing falls over.
struct DamagedIdentityTests {
    private static func damaged(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            let byte =
                [UInt8(ascii: "."), 0x22, 0x7b, 0x5b, 0x5c, 0, 0xff, UInt8.random(in: 0...255, using: &random)]
                .randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes.insert(byte, at: place)
            case 1: if place < bytes.count { bytes.remove(at: place) }
            case 2: if place < bytes.count { bytes[place] = byte }
            default: bytes += bytes[place...].prefix(40)
            }
            if bytes.isEmpty { bytes = [byte] }
        }
        return bytes
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func noDamagedTokenVerifies(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let file = try KeyFixture(TokenSigner.secretText)
        let verifier = try JWTVerifier(
            JWTSource(header: "X-Token", claim: "sub", algorithm: .hs256, keyFile: file.path))
        let good = Array(
            TokenSigner.hs256.token(header: #"{"alg":"HS256","kid":"a"}"#, payload: #"{"sub":"ada","exp":2000000}"#)
                .utf8)
        for _ in 0..<2000 {
            let token = Self.damaged(good, &random)
            if token == good { continue }
            let user = token.withUnsafeBufferPointer { bytes in
                bytes.baseAddress.flatMap { verifier.user(in: $0, bytes.count, nowSeconds: 1_000_000) }
            }
            #expect(user == nil, "seed \(seed): \(token)")
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func noDamagedCookieVerifies(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let file = try KeyFixture(TokenSigner.secretText)
        let cookie = try SignedCookie(SignedCookieSource(name: "uid", secretFile: file.path))
        let text = "ada.l.1900000000"
        let good = Array((text + "." + base64URL(TokenSigner.hs256.signature(Array("uid=\(text)".utf8)))).utf8)
        let scratch = IdentityScratch()
        for _ in 0..<2000 {
            let value = Self.damaged(good, &random)
            if value == good { continue }
            let isRefused = value.withUnsafeBufferPointer { bytes in
                if case .verified = cookie.judge(bytes, nowSeconds: 1_000_000, into: scratch.base) {
                    false
                } else {
                    true
                }
            }
            #expect(isRefused, "seed \(seed): \(value)")
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func damagedSetsAreReadOrRefused(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let secret = base64URL(Array(TokenSigner.secretText.utf8))
        let keys = [TokenSigner.es256.jwk, TokenSigner.rs256.jwk, #"{"kty":"oct","k":"\#(secret)","kid":"a"}"#]
        let good = Array(#"{"keys":[\#(keys.compactMap(\.self).joined(separator: ","))]}"#.utf8)
        var refused = 0
        for _ in 0..<300 {
            let file = try KeyFixture(Self.damaged(good, &random))
            if IdentitySources.problem(.jwt(JWTSource(header: "A", claim: "sub", keys: .set(file: file.path)))) != nil {
                refused += 1
            }
        }
        #expect(refused > 100)
    }
}

import COpenSSL
import FoundationEssentials
import HTTPWire
import Routing
import TestSupport

@testable import Gateway

/// A file that lives as long as its owner.
final class KeyFixture {
    let path: String

    init(_ bytes: [UInt8]) throws {
        let name = "cutover-key-\(UUID().uuidString)"
        path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try Data(bytes).write(to: URL(filePath: path))
    }

    convenience init(_ text: String) throws { try self.init(Array(text.utf8)) }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Signs tokens, as an issuer does.
final class TokenSigner: @unchecked Sendable {
    enum Kind { case secret([UInt8]), rsa(bits: Int32), ec(curve: String) }

    private let secret: [UInt8]
    let key: OpaquePointer?

    init(_ kind: Kind) {
        switch kind {
        case .secret(let bytes):
            secret = bytes
            key = nil
        case .rsa(let bits):
            secret = []
            key = TokenSigner.generate("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, bits) }
        case .ec(let curve):
            secret = []
            key = TokenSigner.generate("EC") { EVP_PKEY_CTX_set_group_name($0, curve) }
        }
    }

    deinit { EVP_PKEY_free(key) }

    private static func generate(_ type: String, _ set: (OpaquePointer) -> Int32) -> OpaquePointer? {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, set(context) == 1, EVP_PKEY_generate(context, &key) == 1 else {
            return nil
        }
        return key
    }

    var publicPEM: String { pem { PEM_write_bio_PUBKEY($0, key) } }
    var privatePEM: String { pem { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) } }

    private func pem(_ write: (OpaquePointer?) -> Int32) -> String {
        let memory = BIO_new(BIO_s_mem())
        defer { BIO_free(memory) }
        guard write(memory) == 1 else { return "" }
        var bytes = [UInt8](repeating: 0, count: 16 * 1024)
        let count = Int(BIO_read(memory, &bytes, Int32(bytes.count)))
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    /// The whole token. `header` and `payload` are JSON.
    func token(header: String, payload: String) -> String {
        let signed = base64URL(Array(header.utf8)) + "." + base64URL(Array(payload.utf8))
        return signed + "." + base64URL(signature(Array(signed.utf8)))
    }

    func signature(_ message: [UInt8]) -> [UInt8] {
        guard let key else {
            var code = [UInt8](repeating: 0, count: 32)
            var count: UInt32 = 0
            _ = HMAC(EVP_sha256(), secret, Int32(secret.count), message, message.count, &code, &count)
            return code
        }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        var count = bytes.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &bytes, &count, message, message.count) == 1
        else { return [] }
        bytes.removeSubrange(count...)
        return EVP_PKEY_is_a(key, "EC") == 1 ? TokenSigner.raw(bytes) : bytes
    }

    /// `r ‖ s` of a signature in DER.
    private static func raw(_ der: [UInt8]) -> [UInt8] {
        der.withUnsafeBufferPointer { der in
            var next = der.baseAddress
            guard let pair = d2i_ECDSA_SIG(nil, &next, der.count) else { return [] }
            defer { ECDSA_SIG_free(pair) }
            var raw = [UInt8](repeating: 0, count: 64)
            raw.withUnsafeMutableBufferPointer { raw in
                _ = BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw.baseAddress, 32)
                _ = BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw.baseAddress.map { $0 + 32 }, 32)
            }
            return raw
        }
    }

    static let secretText = "0123456789abcdef0123456789ABCDEF"
    static let hs256 = TokenSigner(.secret(Array(secretText.utf8)))
    static let rs256 = TokenSigner(.rsa(bits: 2048))
    static let es256 = TokenSigner(.ec(curve: "P-256"))

    /// The signer of an algorithm, what its verifiers have in their file, and the name that tokens give it.
    static func of(_ algorithm: JWTSource.Algorithm) -> (signer: TokenSigner, file: String, name: String) {
        switch algorithm {
        case .hs256: (hs256, secretText, "HS256")
        case .rs256: (rs256, rs256.publicPEM, "RS256")
        case .es256: (es256, es256.publicPEM, "ES256")
        }
    }
}

extension IdentitySources {
    /// Who asks, from a peer that is trusted.
    func user(_ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch, wallSeconds: () -> Int64)
        -> UserID?
    {
        identify(head, p, scratch, isTrusted: true, nowSeconds: wallSeconds()).user
    }
}

extension JWTVerifier {
    /// The user id in the token that a header line carries; nil when there is none, or one that is not to be believed.
    func user(in line: UnsafePointer<UInt8>, _ count: Int, nowSeconds: Int64) -> [UInt8]? {
        guard case .verified(let token) = judge(line, count, nowSeconds: nowSeconds) else { return nil }
        return token.user
    }

    static func of(
        _ algorithm: JWTSource.Algorithm, _ key: String, header: String = "Authorization", claim: String = "sub"
    ) throws -> JWTVerifier {
        let file = try KeyFixture(key)
        return try JWTVerifier(JWTSource(header: header, claim: claim, algorithm: algorithm, keyFile: file.path))
    }

    /// The user in a header line, as text. The bytes behind the line are not the verifier's business.
    func user(line: String, now: Int64 = 1_000_000) -> String? {
        var bytes = Array(line.utf8)
        let count = bytes.count
        bytes += Array("!!!!!!!!".utf8)
        return bytes.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.flatMap { user(in: $0, count, nowSeconds: now) }
        }.map { String(decoding: $0, as: UTF8.self) }
    }

    func user(token: String, now: Int64 = 1_000_000) -> String? { user(line: "Bearer " + token, now: now) }
}

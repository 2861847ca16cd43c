import CLinux
import COpenSSL
import Routing

/// The key that the tokens of one source are signed with: a shared secret or a public key. Immutable, any thread.
///
/// Unsafe inside: it owns one reference to an `EVP_PKEY`, which OpenSSL only reads during verification and which lives as
/// long as this object. Everything that a verification writes to is made for that verification.
final class JWTKey: @unchecked Sendable {
    /// RFC 7518 §3.2: a key of the size of the hash output or larger.
    static let minimumSecretBytes = 32
    /// RFC 7518 §3.3.
    static let minimumRSABits: Int32 = 2048

    private enum Material {
        case secret(SecretBytes)
        case rsa(OpaquePointer)
        case ec(OpaquePointer)
    }
    private let material: Material

    /// What its signatures are made with. The key decides it, never a token.
    let algorithm: JWTSource.Algorithm

    /// - Throws: when the file cannot be read or holds no key of the kind and size that the algorithm asks for. The text
    ///   names the file and the reason and nothing that stands in the file.
    init(_ algorithm: JWTSource.Algorithm, file path: String) throws(IdentityError) {
        let file = try KeyFile(path)
        self.algorithm = algorithm
        switch algorithm {
        case .hs256:
            let count = file.countWithoutLineEnding
            guard count >= JWTKey.minimumSecretBytes else {
                throw IdentityError(
                    text: "hs256 secret in \(path) is too short: \(count) bytes without the line ending, "
                        + "at least \(JWTKey.minimumSecretBytes) are needed (RFC 7518)")
            }
            // A public key is no secret: whoever reads it could sign.
            guard !file.contains("-----BEGIN ") else {
                throw IdentityError(text: "hs256 secret file \(path) holds a PEM document, not a shared secret")
            }
            material = .secret(SecretBytes(UnsafeBufferPointer(rebasing: file.bytes[..<count])))
        case .rs256:
            material = .rsa(try JWTKey.publicKey(file, "rs256", JWTKey.problemAsRSA))
        case .es256:
            material = .ec(try JWTKey.publicKey(file, "es256", JWTKey.problemAsP256))
        }
    }

    /// A shared secret. Its size has been judged.
    init(secret: SecretBytes) {
        algorithm = .hs256
        material = .secret(secret)
    }

    /// A public key as X.509 spells it: a SubjectPublicKeyInfo in DER (RFC 5280 §4.1.2.7).
    /// - Throws: what is wrong with it, for a sentence that names the key.
    init(_ algorithm: JWTSource.Algorithm, der: [UInt8]) throws(IdentityError) {
        // What fails here leaves notes in this thread's queue, where TLS would take them for its own.
        defer { ERR_clear_error() }
        self.algorithm = algorithm
        let key: OpaquePointer? = der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_PUBKEY(nil, &next, bytes.count)
        }
        guard let key else { throw IdentityError(text: "the numbers make no key") }
        if let problem = algorithm == .rs256 ? JWTKey.problemAsRSA(key) : JWTKey.problemAsP256(key) {
            EVP_PKEY_free(key)
            throw IdentityError(text: problem)
        }
        material = algorithm == .rs256 ? .rsa(key) : .ec(key)
    }

    deinit {
        switch material {
        case .secret: break
        case .rsa(let key), .ec(let key): EVP_PKEY_free(key)
        }
    }

    /// Whether the signature is that of the message (RFC 7518 §3.2 to §3.4; raw form, already decoded from Base64url).
    func signed(_ message: UnsafeBufferPointer<UInt8>, with signature: UnsafeBufferPointer<UInt8>) -> Bool {
        switch material {
        case .secret(let secret):
            return secret.isHMAC(signature, of: message)
        case .rsa(let key):
            // RFC 8017 §8.2.2: a signature is as long as the modulus; OpenSSL checks it.
            return JWTKey.verify(key, message, signature)
        case .ec(let key):
            return JWTKey.withDER(signature) { JWTKey.verify(key, message, $0) } ?? false
        }
    }

    // MARK: Reading keys

    /// A public key from PEM (`BEGIN PUBLIC KEY`), owned by the caller.
    private static func publicKey(
        _ file: KeyFile, _ algorithm: String, _ problem: (OpaquePointer) -> String?
    ) throws(IdentityError) -> OpaquePointer {
        // What fails here leaves notes in this thread's queue, where TLS would take them for its own.
        defer { ERR_clear_error() }
        guard !file.contains("PRIVATE KEY-----") else {
            throw IdentityError(
                text: "\(algorithm) key file \(file.path) holds a private key: give the public key only")
        }
        guard let bytes = BIO_new_mem_buf(file.base, Int32(file.count)) else {
            throw IdentityError(text: "\(algorithm) key file \(file.path): out of memory")
        }
        defer { BIO_free(bytes) }
        // Without a callback OpenSSL would ask for a password on the terminal.
        guard let key = PEM_read_bio_PUBKEY(bytes, nil, { _, _, _, _ in -1 }, nil) else {
            throw IdentityError(
                text: "\(algorithm) key file \(file.path) holds no PEM public key (-----BEGIN PUBLIC KEY-----)")
        }
        if let text = problem(key) {
            EVP_PKEY_free(key)
            throw IdentityError(text: "\(algorithm) key file \(file.path): \(text)")
        }
        return key
    }

    private static func problemAsRSA(_ key: OpaquePointer) -> String? {
        guard EVP_PKEY_is_a(key, "RSA") == 1 else { return "the key is not an RSA key" }
        let bits = EVP_PKEY_get_bits(key)
        guard bits >= minimumRSABits else {
            return "the RSA key has \(bits) bits, at least \(minimumRSABits) are needed (RFC 7518)"
        }
        return isSound(key) ? nil : "the RSA key is not valid"
    }

    private static func problemAsP256(_ key: OpaquePointer) -> String? {
        guard EVP_PKEY_is_a(key, "EC") == 1 else { return "the key is not an elliptic curve key" }
        var name = [CChar](repeating: 0, count: 80)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1, strcmp(name, "prime256v1") == 0 else {
            return "the key is not on the curve P-256"
        }
        return isSound(key) ? nil : "the point is not on the curve"
    }

    private static func isSound(_ key: OpaquePointer) -> Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_public_check(context) == 1
    }

    // MARK: Checking signatures

    /// SHA-256 with RSASSA-PKCS1-v1_5 or ECDSA, as the key says.
    private static func verify(
        _ key: OpaquePointer, _ message: UnsafeBufferPointer<UInt8>, _ signature: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        // 0 is "does not match", below 0 is "could not tell": both are no.
        return EVP_DigestVerify(context, signature.baseAddress, signature.count, message.baseAddress, message.count)
            == 1
    }

    /// The DER form (RFC 3279 §2.2.3: a sequence of two integers) of a signature that is `r ‖ s`, 32 bytes each
    /// (RFC 7518 §3.4); nil when it has another length.
    private static func withDER(
        _ signature: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Bool
    ) -> Bool? {
        guard signature.count == 64 else { return nil }
        // Two bytes of header, and per integer two of header, one that keeps it positive, and 32.
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 + 2 * 35) { der in
            var count = 2
            for half in [0..<32, 32..<64] {
                var digits = half
                while digits.count > 1, signature[digits.lowerBound] == 0 { digits = digits.dropFirst() }
                let padding = signature[digits.lowerBound] >= 0x80 ? 1 : 0
                der[count] = 0x02
                der[count + 1] = UInt8(digits.count + padding)
                der[count + 2] = 0
                count += 2 + padding
                for offset in digits {
                    der[count] = signature[offset]
                    count += 1
                }
            }
            der[0] = 0x30
            der[1] = UInt8(count - 2)
            return body(UnsafeBufferPointer(rebasing: der[0..<count]))
        }
    }
}

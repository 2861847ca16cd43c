import Comparison
import Routing

/// Reads a JWK Set (RFC 7517 §5; the numbers of RFC 7518 §6).
///
/// Keys for other purposes are passed over, as RFC 7517 §5 asks: issuers publish their encryption keys and other algorithms
/// beside what signs. A key that says that it is for us and is not right is an error: who relies on it must hear of it.
enum JWKSetFile {
    private static let accepted =
        "accepted: kty RSA (2048 bits or more, RS256), kty EC with crv P-256 (ES256), kty oct (32 bytes or more, HS256)"

    /// - Throws: when the file cannot be read or is no JWK Set, when a key is wrong, and when none is usable.
    static func entries(_ path: String) throws(IdentityError) -> [JWTKeySet.Entry] {
        let file = try KeyFile(path, most: KeyFile.maximumSetBytes)
        guard let document = JSONDocument(bytes: file.bytes), case .one(let list) = document.onlyMember("keys".bytes),
            list.kind == .array
        else {
            throw IdentityError(text: "\(path) is no JWK Set (RFC 7517): accepted: {\"keys\": [ … ]}")
        }
        let keys = document.elements(of: list)
        guard keys.count <= JWTKeySet.maximumKeys else {
            throw IdentityError(
                text: "\(path) holds \(keys.count) keys; accepted: at most \(JWTKeySet.maximumKeys)")
        }
        var entries: [JWTKeySet.Entry] = []
        for (index, value) in keys.enumerated() {
            do throws(IdentityError) {
                if let entry = try JWK(document, value).entry() { entries.append(entry) }
            } catch {
                throw IdentityError(text: "\(path): keys[\(index)]: \(error.text)")
            }
        }
        guard !entries.isEmpty else {
            throw IdentityError(
                text: keys.isEmpty
                    ? "\(path) is a JWK Set without a key; \(accepted)"
                    : "none of the \(keys.count) keys in \(path) verifies a token; \(accepted)")
        }
        return entries
    }
}

/// One JSON Web Key.
private struct JWK {
    private let document: JSONDocument
    private let object: JSONNode

    init(_ document: JSONDocument, _ object: JSONNode) throws(IdentityError) {
        guard object.kind == .object else { throw IdentityError(text: "not an object") }
        self.document = document
        self.object = object
    }

    /// The key; nil when it is for something else than verifying tokens of an algorithm that is known here.
    func entry() throws(IdentityError) -> JWTKeySet.Entry? {
        guard let type = try text("kty") else { throw IdentityError(text: "kty is missing") }
        guard let algorithm = try algorithm(type) else { return nil }
        // RFC 7517 §4.2 and §4.3.
        if let use = try text("use"), use != "sig" { return nil }
        if let operations = try member("key_ops") {
            let names = document.elements(of: operations).map { document.string(of: $0) }
            if !names.contains("verify") { return nil }
        }
        let id = try text("kid").map { Array($0.utf8) }
        // Passed by whoever may read the file, a private key lets them sign.
        if algorithm != .hs256, try member("d") != nil {
            throw IdentityError(text: "a private key (it has the member d): give the public keys only")
        }
        switch algorithm {
        case .hs256: return JWTKeySet.Entry(id: id, key: try secret())
        case .rs256:
            return JWTKeySet.Entry(
                id: id, key: try JWTKey(.rs256, der: DER.rsa(n: try number("n"), e: try number("e"))))
        case .es256:
            let (x, y) = (try number("x"), try number("y"))
            // RFC 7518 §6.2.1.2: as long as the field, leading zeros included.
            guard x.count == 32, y.count == 32 else { throw IdentityError(text: "x or y is not of 32 bytes") }
            return JWTKeySet.Entry(id: id, key: try JWTKey(.es256, der: DER.p256(x: x, y: y)))
        }
    }

    /// What the key is for, where that is known here: by its type, and by its `alg` where it says one.
    private func algorithm(_ type: String) throws(IdentityError) -> JWTSource.Algorithm? {
        let algorithm: JWTSource.Algorithm
        switch type {
        case "RSA": algorithm = .rs256
        case "EC": algorithm = .es256
        case "oct": algorithm = .hs256
        default: return nil
        }
        if type == "EC", try text("crv") != "P-256" { return nil }
        if let named = try text("alg"), named != algorithm.rawValue.uppercased() { return nil }
        return algorithm
    }

    private func secret() throws(IdentityError) -> JWTKey {
        var bytes = try number("k")
        defer { for index in bytes.indices { bytes[index] = 0 } }
        guard bytes.count >= JWTKey.minimumSecretBytes else {
            throw IdentityError(
                text: "the secret has \(bytes.count) bytes, at least \(JWTKey.minimumSecretBytes) are needed (RFC 7518)"
            )
        }
        return JWTKey(secret: bytes.withUnsafeBufferPointer { SecretBytes($0) })
    }

    private func member(_ name: String) throws(IdentityError) -> JSONNode? {
        switch document.onlyMember(name.bytes, of: object) {
        case .none: return nil
        case .one(let value): return value
        case .several: throw IdentityError(text: "\(name) stands there more than once")
        }
    }

    private func text(_ name: String) throws(IdentityError) -> String? {
        guard let value = try member(name) else { return nil }
        guard let text = document.string(of: value) else { throw IdentityError(text: "\(name) is no string") }
        return text
    }

    /// The bytes that a member spells in Base64url.
    private func number(_ name: String) throws(IdentityError) -> [UInt8] {
        guard let text = try text(name) else { throw IdentityError(text: "\(name) is missing") }
        let input = Array(text.utf8)
        var output = [UInt8](repeating: 0, count: input.count + 2)
        let count = input.withUnsafeBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                input.baseAddress.flatMap { from in
                    output.baseAddress.flatMap { Base64.decodeURL(from, input.count, into: $0) }
                }
            }
        }
        guard let count, count > 0 else { throw IdentityError(text: "\(name) is no Base64url without padding") }
        output.removeSubrange(count...)
        return output
    }
}

/// Public keys in the form that OpenSSL reads: SubjectPublicKeyInfo in DER.
private enum DER {
    /// RFC 3279 §2.3.1.
    static func rsa(n: [UInt8], e: [UInt8]) -> [UInt8] {
        let rsaEncryption: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00]
        let key = tagged(0x30, integer(n) + integer(e))
        return tagged(0x30, tagged(0x30, rsaEncryption) + tagged(0x03, [0] + key))
    }

    /// RFC 5480 §2: the point uncompressed, on secp256r1.
    static func p256(x: [UInt8], y: [UInt8]) -> [UInt8] {
        let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
        let prime256v1: [UInt8] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
        return tagged(0x30, tagged(0x30, ecPublicKey + prime256v1) + tagged(0x03, [0, 4] + x + y))
    }

    /// Without needless zeros, and positive.
    private static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        guard let first = digits.first else { return tagged(0x02, [0]) }
        return tagged(0x02, (first >= 0x80 ? [0] : []) + digits)
    }

    private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        if count < 0x80 { return [tag, UInt8(count)] + content }
        var length: [UInt8] = []
        var rest = count
        while rest > 0 {
            length.insert(UInt8(rest & 255), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}

extension String {
    fileprivate var bytes: [UInt8] { Array(utf8) }
}

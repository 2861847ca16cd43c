import Comparison
import Routing

/// Verifies the JSON Web Tokens (RFC 7519, in the compact form of RFC 7515 §3.1) of one user source and reads the user id
/// out of them. Immutable, any thread.
///
/// Only the configured algorithm is accepted: a token does not choose how it is judged (RFC 8725 §3.1). A token without
/// `exp` does not expire.
struct JWTVerifier: Sendable {
    /// Tokens above this many bytes are not looked at.
    static let maximumTokenBytes = 8 * 1024
    /// How far the clocks of issuer and gateway may be apart.
    static let leewaySeconds: Int64 = 60

    private let key: JWTKey
    private let algorithm: [UInt8]
    private let members: Members
    private let isBearerOnly: Bool

    /// Where things stand in the two documents of a token.
    private struct Members {
        let algorithm, critical, expiry, notBefore, claim: PointerPattern

        init?(claim name: String) {
            guard let algorithm = Members.pointer("alg"), let critical = Members.pointer("crit"),
                let expiry = Members.pointer("exp"), let notBefore = Members.pointer("nbf"),
                let claim = Members.pointer(name)
            else { return nil }
            self.algorithm = algorithm
            self.critical = critical
            self.expiry = expiry
            self.notBefore = notBefore
            self.claim = claim
        }

        /// The pointer to one member of the outermost object, whatever characters its name has (RFC 6901 §3).
        private static func pointer(_ name: String) -> PointerPattern? {
            // A lone `*` is the one name that a pattern cannot spell.
            guard !name.isEmpty, name != "*" else { return nil }
            var text = "/"
            for character in name.unicodeScalars {
                switch character {
                case "~": text += "~0"
                case "/": text += "~1"
                default: text.unicodeScalars.append(character)
                }
            }
            return PointerPattern(text)
        }
    }

    /// Reads the key file.
    /// - Throws: when it cannot be read or holds no key that fits; the text holds nothing of what is in the file.
    init(_ source: JWTSource) throws(IdentityError) {
        guard let members = Members(claim: source.claim) else {
            throw IdentityError(text: "jwt claim \"\(source.claim)\" cannot be looked up")
        }
        self.members = members
        key = try JWTKey(source.algorithm, file: source.keyFile)
        algorithm = Array(source.algorithm.rawValue.uppercased().utf8)
        isBearerOnly = source.header.lowercased() == "authorization"
    }

    /// The user id in the token that a header line carries: the configured claim, when it is a string or an integer.
    ///
    /// - Parameters:
    ///   - line: the value of the configured header: `Bearer TOKEN`, or for other headers than Authorization the token.
    ///   - count: length of the value in bytes.
    ///   - nowSeconds: the wall clock, in seconds since 1970.
    /// - Returns: the id's UTF-8 bytes; nil when there is no token, or one that is not to be believed.
    func user(in line: UnsafePointer<UInt8>, _ count: Int, nowSeconds: Int64) -> [UInt8]? {
        let token: ByteRange
        if let bearer = Credentials.bearerToken(in: line, count) {
            token = bearer
        } else {
            guard !isBearerOnly else { return nil }
            token = ByteRange(start: 0, end: count)
        }
        guard token.count <= JWTVerifier.maximumTokenBytes else { return nil }
        let bytes = UnsafeBufferPointer(start: line + token.start, count: token.count)
        guard let parts = Parts(bytes), isHeaderAcceptable(parts.header), isSigned(parts) else { return nil }
        return JWTVerifier.decoded(parts.payload) { payload in subject(of: payload, nowSeconds) }
    }

    // MARK: The three parts

    /// `header.payload.signature`; any further dot is refused by the Base64url of the signature.
    private struct Parts {
        let header: UnsafeBufferPointer<UInt8>
        let payload: UnsafeBufferPointer<UInt8>
        let signature: UnsafeBufferPointer<UInt8>
        /// Header and payload as they stand in the token: what is signed (RFC 7515 §5.1).
        let signed: UnsafeBufferPointer<UInt8>

        init?(_ token: UnsafeBufferPointer<UInt8>) {
            let dot = UInt8(ascii: ".")
            guard let first = token.firstIndex(of: dot), let second = token[(first + 1)...].firstIndex(of: dot) else {
                return nil
            }
            header = UnsafeBufferPointer(rebasing: token[..<first])
            payload = UnsafeBufferPointer(rebasing: token[(first + 1)..<second])
            signature = UnsafeBufferPointer(rebasing: token[(second + 1)...])
            signed = UnsafeBufferPointer(rebasing: token[..<second])
        }
    }

    /// `alg` is the configured one; no extension is demanded that nobody here knows (RFC 7515 §4.1.11).
    private func isHeaderAcceptable(_ header: UnsafeBufferPointer<UInt8>) -> Bool {
        JWTVerifier.decoded(header) { bytes in
            guard let document = JSONDocument(bytes: bytes), document.root.kind == .object,
                let named = document.value(at: members.algorithm), named.kind == .string
            else { return false }
            return document.identifierBytes(of: named) == algorithm && document.value(at: members.critical) == nil
        } ?? false
    }

    private func isSigned(_ parts: Parts) -> Bool {
        JWTVerifier.decoded(parts.signature) { key.signed(parts.signed, with: $0) } ?? false
    }

    private func subject(of payload: UnsafeBufferPointer<UInt8>, _ nowSeconds: Int64) -> [UInt8]? {
        guard let document = JSONDocument(bytes: payload), document.root.kind == .object else { return nil }
        if let expiry = document.value(at: members.expiry) {
            guard let seconds = JWTVerifier.seconds(expiry, document, payload),
                Double(nowSeconds - JWTVerifier.leewaySeconds) < seconds
            else { return nil }
        }
        if let notBefore = document.value(at: members.notBefore) {
            guard let seconds = JWTVerifier.seconds(notBefore, document, payload),
                Double(nowSeconds + JWTVerifier.leewaySeconds) >= seconds
            else { return nil }
        }
        return document.value(at: members.claim).flatMap { document.identifierBytes(of: $0) }
    }

    // MARK: Helpers

    /// A NumericDate (RFC 7519 §2): seconds since 1970, which may have a fraction. Exact for every year that matters.
    private static func seconds(
        _ value: JSONValue, _ document: JSONDocument, _ bytes: UnsafeBufferPointer<UInt8>
    ) -> Double? {
        guard value.kind == .number else { return nil }
        if let whole = document.integer(of: value) { return Double(whole) }
        // Fractions are rare; JSON's numbers are all numbers of Swift.
        return Double(String(decoding: UnsafeBufferPointer(rebasing: bytes[value.range]), as: UTF8.self))
    }

    /// Calls `body` with the bytes that this part of a token spells; nil when it is no strict Base64url.
    private static func decoded<Result>(
        _ part: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result?
    ) -> Result? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: part.count + 2) { memory in
            guard let input = part.baseAddress, let output = memory.baseAddress,
                let count = Base64.decodeURL(input, part.count, into: output)
            else { return nil }
            return body(UnsafeBufferPointer(start: output, count: count))
        }
    }
}

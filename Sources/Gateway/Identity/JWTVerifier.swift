import Comparison
import Routing
import Telemetry

/// What a request's token came to.
enum TokenVerdict {
    /// There is none.
    case absent
    case verified(VerifiedToken)
    case refused(IdentityRejection)
}

/// What a token says whose signature, issuer and audience are right. Immutable, any thread.
struct VerifiedToken: Sendable {
    /// The claim's bytes; nil when it names nobody.
    let user: [UInt8]?
    /// It holds from here, leeway included; seconds since 1970.
    let startsAt: Double
    /// It does not hold from here on, leeway included; seconds since 1970.
    let endsAt: Double

    /// Why it does not hold at a time; nil: it does.
    func refusal(at seconds: Int64) -> IdentityRejection? {
        if Double(seconds) >= endsAt { return .expired }
        return Double(seconds) < startsAt ? .notYetValid : nil
    }
}

/// Verifies the JSON Web Tokens (RFC 7519, in the compact form of RFC 7515 §3.1) of one user source and reads the user id
/// out of them. Immutable, any thread.
///
/// The configured keys decide the algorithm: a token does not choose how it is judged (RFC 8725 §3.1), and a key that it
/// brings along (`jwk`, `x5c`) or points to (`jku`, `x5u`) is passed over.
struct JWTVerifier: Sendable {
    /// Tokens above this many bytes are not looked at.
    static let maximumTokenBytes = 8 * 1024

    private let keys: JWTKeySet
    private let claim: [UInt8]
    private let issuers: [[UInt8]]
    private let audiences: [[UInt8]]
    private let leewaySeconds: Double
    private let requiresExpiry: Bool
    private let isBearerOnly: Bool
    /// Tells what this verifier has verified from what one before a reload has.
    let mark = VerifierMark()

    /// Reads the key file.
    /// - Throws: when it cannot be read or holds no key that fits; the text holds nothing of what is in the file.
    init(_ source: JWTSource) throws(IdentityError) {
        guard !source.claim.isEmpty, source.claim != "*" else {
            throw IdentityError(text: "jwt claim \"\(source.claim)\" cannot be looked up")
        }
        keys = try JWTKeySet(source.keys)
        claim = Array(source.claim.utf8)
        issuers = source.issuers.map { Array($0.utf8) }
        audiences = source.audiences.map { Array($0.utf8) }
        leewaySeconds = Double(source.leewaySeconds)
        requiresExpiry = source.requiresExpiry
        isBearerOnly = source.header.lowercased() == "authorization"
    }

    /// Judges the token that a header line carries.
    ///
    /// - Parameters:
    ///   - line: the value of the configured header: `Bearer TOKEN`, or for other headers than Authorization the token.
    ///   - count: length of the value in bytes.
    ///   - nowSeconds: the wall clock, in seconds since 1970.
    ///   - known: where tokens are kept that have been verified before.
    func judge(
        _ line: UnsafePointer<UInt8>, _ count: Int, nowSeconds: Int64, known: VerifiedTokens? = nil
    ) -> TokenVerdict {
        let range: ByteRange
        if let bearer = Credentials.bearerToken(in: line, count) {
            range = bearer
        } else if isBearerOnly {
            // Another scheme is no token; this scheme with something else behind it is a bad one.
            return Credentials.isBearer(line, count) ? .refused(.malformed) : .absent
        } else {
            if count == 0 { return .absent }
            range = ByteRange(start: 0, end: count)
        }
        guard range.count <= JWTVerifier.maximumTokenBytes else { return .refused(.malformed) }
        let bytes = UnsafeBufferPointer(start: line + range.start, count: range.count)
        let token: VerifiedToken
        if let found = known?.find(bytes, mark) {
            token = found
        } else {
            switch verify(bytes) {
            case .absent: return .absent
            case .refused(let why): return .refused(why)
            case .verified(let verified): token = verified
            }
            if token.refusal(at: nowSeconds) == nil { known?.keep(token, bytes, mark) }
        }
        return token.refusal(at: nowSeconds).map { .refused($0) } ?? .verified(token)
    }

    /// Everything but the time.
    private func verify(_ token: UnsafeBufferPointer<UInt8>) -> TokenVerdict {
        guard let parts = Parts(token), let header = JWTVerifier.decoded(parts.header, { Header($0) }) else {
            return .refused(.malformed)
        }
        let refusal = JWTVerifier.decoded(parts.signature) { signature in
            .some(keys.refusal(of: parts.signed, signature, algorithm: header.algorithm, id: header.key))
        }
        guard let refusal else { return .refused(.malformed) }
        if let why = refusal { return .refused(why) }
        return JWTVerifier.decoded(parts.payload) { judge(payload: $0) } ?? .refused(.malformed)
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

    /// What the header says of how it is signed. No extension may be demanded that nobody here knows (RFC 7515 §4.1.11), and
    /// nothing that is read may stand there twice (RFC 7515 §4): others might read the other one.
    private struct Header {
        let algorithm: [UInt8]
        let key: [UInt8]?

        init?(_ bytes: UnsafeBufferPointer<UInt8>) {
            guard let document = JSONDocument(bytes: bytes), document.root.kind == .object,
                case .one(let named) = document.onlyMember(Names.algorithm), named.kind == .string,
                let algorithm = document.identifierBytes(of: named),
                case .none = document.onlyMember(Names.critical)
            else { return nil }
            self.algorithm = algorithm
            switch document.onlyMember(Names.key) {
            case .none: key = nil
            case .one(let id):
                guard id.kind == .string, let bytes = document.identifierBytes(of: id) else { return nil }
                key = bytes
            case .several: return nil
            }
        }
    }

    private enum Names {
        static let algorithm = Array("alg".utf8)
        static let critical = Array("crit".utf8)
        static let key = Array("kid".utf8)
        static let expiry = Array("exp".utf8)
        static let notBefore = Array("nbf".utf8)
        static let issuer = Array("iss".utf8)
        static let audience = Array("aud".utf8)
    }

    private func judge(payload: UnsafeBufferPointer<UInt8>) -> TokenVerdict {
        guard let document = JSONDocument(bytes: payload), document.root.kind == .object else {
            return .refused(.malformed)
        }
        var endsAt = Double.infinity
        switch document.onlyMember(Names.expiry) {
        case .none: if requiresExpiry { return .refused(.malformed) }
        case .one(let value):
            guard let seconds = JWTVerifier.seconds(value, document, payload) else { return .refused(.malformed) }
            endsAt = seconds + leewaySeconds
        case .several: return .refused(.malformed)
        }
        var startsAt = -Double.infinity
        switch document.onlyMember(Names.notBefore) {
        case .none: break
        case .one(let value):
            guard let seconds = JWTVerifier.seconds(value, document, payload) else { return .refused(.malformed) }
            startsAt = seconds - leewaySeconds
        case .several: return .refused(.malformed)
        }
        if !issuers.isEmpty, !isOneOf(issuers, document.onlyMember(Names.issuer), document, mayBeList: false) {
            return .refused(.issuer)
        }
        if !audiences.isEmpty, !isOneOf(audiences, document.onlyMember(Names.audience), document, mayBeList: true) {
            return .refused(.audience)
        }
        switch document.onlyMember(claim) {
        case .none: return .verified(VerifiedToken(user: nil, startsAt: startsAt, endsAt: endsAt))
        case .one(let value):
            let user = document.identifierBytes(of: value).flatMap { isPrintable($0) ? $0 : nil }
            return .verified(VerifiedToken(user: user, startsAt: startsAt, endsAt: endsAt))
        case .several: return .refused(.malformed)
        }
    }

    /// Whether a claim is one of these texts, or where it may be a list has one of them (RFC 7519 §4.1.3).
    private func isOneOf(
        _ wanted: [[UInt8]], _ member: JSONMember, _ document: JSONDocument, mayBeList: Bool
    ) -> Bool {
        guard case .one(let value) = member else { return false }
        if value.kind == .string { return document.identifierBytes(of: value).map { wanted.contains($0) } ?? false }
        guard mayBeList, value.kind == .array else { return false }
        return document.elements(of: value).contains { element in
            element.kind == .string && (document.identifierBytes(of: element).map { wanted.contains($0) } ?? false)
        }
    }

    // MARK: Helpers

    /// A NumericDate (RFC 7519 §2): seconds since 1970, which may have a fraction. Exact for every year that matters.
    private static func seconds(
        _ value: JSONNode, _ document: JSONDocument, _ bytes: UnsafeBufferPointer<UInt8>
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

/// Whether an id that was decoded holds no control characters: stores and logs need not take those.
func isPrintable(_ id: some Sequence<UInt8>) -> Bool { id.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }

/// The identity of a verifier, for as long as anything that it has verified is kept.
final class VerifierMark: Sendable {}

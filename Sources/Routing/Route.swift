/// What the gateway does with requests that a route matches.
@usableFromInline package enum RouteKind: String, Sendable, CaseIterable {
    case read, write, legacy, new, split

    /// A small number for each, for comparing.
    @inlinable var index: UInt8 {
        switch self {
        case .read: 0
        case .write: 1
        case .legacy: 2
        case .new: 3
        case .split: 4
        }
    }

    /// One comparison of bytes. Without it another module would compare the raw values: two strings made and compared
    /// through a witness table, several times a request.
    @inlinable package static func == (one: RouteKind, other: RouteKind) -> Bool { one.index == other.index }
}

/// One entry of `routes`: a pattern and what to do with what it matches.
package struct Route: Sendable {
    package var pattern: RoutePattern
    package var kind: RouteKind
    /// JSON pointer of the user id in the body (text form, RFC 6901).
    package var user: String?
    package var record: String?
    package var revision: String?
    package var idempotencyKey: String?
    /// JSON pointer of the array of a batch; record and revision are then relative to each item.
    package var items: String?
    /// True: a write without a key is refused (`require_idempotency_key: true`).
    package var requiresIdempotencyKey = false
    /// True: conditional headers go to the second leg too (`conditionals: keep`).
    package var keepsConditionals = false
    /// Where the records of a write can be read, for comparing the backends after a reverse sync; nil: at the write's own
    /// target, where its method says so.
    package var read: ReadTemplate?

    package init(pattern: RoutePattern, kind: RouteKind) {
        self.pattern = pattern
        self.kind = kind
    }
}

/// Where a user id may come from.
package enum UserSource: Sendable, Equatable {
    case header(String)
    case cookie(String)
    case query(String)
    case path(PathPattern)
    case basic
    case jwt(JWTSource)
    case signedCookie(SignedCookieSource)
}

/// A JSON Web Token as the source of a user id.
package struct JWTSource: Sendable, Equatable {
    package enum Algorithm: String, Sendable { case hs256, rs256, es256 }

    /// What tokens are judged with. It decides the algorithm; a token never does.
    package enum Keys: Sendable, Equatable {
        /// A file with one key: the shared secret (hs256), or the PEM public key (rs256, es256).
        case one(Algorithm, file: String)
        /// A file with a JWK Set (RFC 7517 §5), whose keys each say what they are for.
        case set(file: String)
    }
    package var header: String
    package var claim: String
    package var keys: Keys
    /// `iss` has to be one of these; empty: it may be anything.
    package var issuers: [String] = []
    /// `aud` has to name one of these; empty: it may be anything.
    package var audiences: [String] = []
    /// How far the clocks of issuer and gateway may be apart.
    package var leewaySeconds = JWTSource.usualLeewaySeconds
    /// A token without `exp` is refused.
    package var requiresExpiry = false

    package static let usualLeewaySeconds: Int64 = 60

    package init(header: String, claim: String, keys: Keys) {
        self.header = header
        self.claim = claim
        self.keys = keys
    }

    package init(header: String, claim: String, algorithm: Algorithm, keyFile: String) {
        self.init(header: header, claim: claim, keys: .one(algorithm, file: keyFile))
    }
}

/// A cookie that the application has signed as the source of a user id: `VALUE.EXPIRY.SIGNATURE`.
package struct SignedCookieSource: Sendable, Equatable {
    /// How the id is spelled in VALUE.
    package enum Encoding: String, Sendable, CaseIterable { case plain, percent, base64url }
    package var name: String
    /// File of the secrets, one a line: any of them verifies.
    package var secretFile: String
    package var encoding = Encoding.plain
    /// A cookie whose EXPIRY is empty is refused.
    package var requiresExpiry = false

    package init(name: String, secretFile: String) {
        self.name = name
        self.secretFile = secretFile
    }
}

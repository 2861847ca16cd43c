import Routing
import Telemetry

/// The keys that the tokens of one source are judged with: one of a file of its own, or those of a JWK Set. Immutable, any
/// thread.
struct JWTKeySet: Sendable {
    /// More keys make a set unusable.
    static let maximumKeys = 64
    /// So many keys at most are tried on one token that names none: each costs its share of a loop's time.
    static let triedMax = 8

    struct Entry: Sendable {
        /// The key's name in the set; nil where it has none.
        let id: [UInt8]?
        let key: JWTKey
    }
    private let entries: [Entry]

    init(_ entries: [Entry]) { self.entries = entries }

    /// Reads the file.
    /// - Throws: when it cannot be read or holds no key that fits; the text holds nothing of what is in the file.
    init(_ keys: JWTSource.Keys) throws(IdentityError) {
        switch keys {
        case .one(let algorithm, let file): entries = [Entry(id: nil, key: try JWTKey(algorithm, file: file))]
        case .set(let file): entries = try JWKSetFile.entries(file)
        }
    }

    /// Why the signature is not that of the message under any key that it may be made with; nil: it is.
    ///
    /// - Parameters:
    ///   - algorithm: as the token's header spells it. It only picks among the keys: each of them knows what it is for.
    ///   - id: the key that the token names. Keys of that name are asked, and keys without a name where none has it.
    func refusal(
        of message: UnsafeBufferPointer<UInt8>, _ signature: UnsafeBufferPointer<UInt8>, algorithm: [UInt8],
        id: [UInt8]?
    ) -> IdentityRejection? {
        guard let algorithm = JWTKeySet.algorithm(named: algorithm),
            entries.contains(where: { $0.key.algorithm == algorithm })
        else { return .algorithm }
        let isNamed = id != nil && entries.contains { $0.id == id && $0.key.algorithm == algorithm }
        var tried = 0
        for entry in entries where entry.key.algorithm == algorithm {
            if let id, entry.id != (isNamed ? id : nil) { continue }
            if tried == JWTKeySet.triedMax { break }
            tried += 1
            if entry.key.signed(message, with: signature) { return nil }
        }
        return tried == 0 ? .unknownKey : .signature
    }

    /// Case matters (RFC 7515 §4.1.1).
    private static func algorithm(named name: [UInt8]) -> JWTSource.Algorithm? {
        if name.elementsEqual("HS256".utf8) { return .hs256 }
        if name.elementsEqual("RS256".utf8) { return .rs256 }
        return name.elementsEqual("ES256".utf8) ? .es256 : nil
    }
}

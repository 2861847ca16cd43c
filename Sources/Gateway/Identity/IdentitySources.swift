package import Configuration
import HTTPWire
import Rollout
import Routing

/// Bytes of a user id: inside a request's head, or decoded into scratch memory. Valid until either changes.
struct UserID {
    let base: UnsafePointer<UInt8>
    let count: Int

    var text: String { String(decoding: UnsafeBufferPointer(start: base, count: count), as: UTF8.self) }
    var hash: UInt64 { userHash(base, count) }
    /// Its bytes are those of `text`, whatever else they may be.
    var isASCII: Bool {
        var all: UInt8 = 0
        for i in 0..<count { all |= base[i] }
        return all < 0x80
    }
}

/// Scratch memory for ids that have to be decoded. One per loop.
final class IdentityScratch {
    static let capacity = 16 * 1024
    let base = UnsafeMutablePointer<UInt8>.allocate(capacity: IdentityScratch.capacity + 16)
    deinit { base.deallocate() }
}

/// Where the user id of a request comes from, in order: the compiled form of `user.from`. Immutable, any thread.
package struct IdentitySources: Sendable {
    private enum Source: Sendable {
        case header([UInt8])
        case cookie([UInt8])
        case query([UInt8])
        case path(UserPath)
        case basic
        case jwt(header: [UInt8], JWTVerifier)
    }
    private let sources: [Source]
    private let anonymousHeader: [UInt8]?
    /// Name of the header that comes first; empty where another source does. The common case, without touching the list.
    private let leadingHeader: [UInt8]

    /// - Throws: when a key file of a JWT source cannot be used; the text says which and why.
    package init(_ settings: UserSettings) throws(IdentityError) {
        var sources: [Source] = []
        for source in settings.from {
            switch source {
            case .header(let name): sources.append(.header(Array(name.lowercased().utf8)))
            case .cookie(let name): sources.append(.cookie(Array(name.utf8)))
            case .query(let name): sources.append(.query(Array(name.utf8)))
            case .path(let pattern):
                guard let path = UserPath(pattern) else {
                    throw IdentityError(text: "\(pattern.text) names no {user_id}")
                }
                sources.append(.path(path))
            case .basic: sources.append(.basic)
            case .jwt(let jwt):
                sources.append(.jwt(header: Array(jwt.header.lowercased().utf8), try JWTVerifier(jwt)))
            }
        }
        self.sources = sources
        if case .header(let name)? = sources.first { leadingHeader = name } else { leadingHeader = [] }
        anonymousHeader =
            switch settings.anonymous {
            case .legacy: nil
            case .hash(let header): Array(header.lowercased().utf8)
            }
    }

    /// The first source that yields an id which is not blank; else the header that anonymous requests are split by.
    func user(_ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch, wallSeconds: () -> Int64)
        -> UserID?
    {
        if !leadingHeader.isEmpty, let field = head.firstField(named: leadingHeader, in: p) {
            let id = value(field, p)
            if !Bucketing.isAnonymous(id.base, id.count) { return id }
        }
        for source in sources {
            if let id = id(source, head, p, scratch, wallSeconds), !Bucketing.isAnonymous(id.base, id.count) {
                return id
            }
        }
        guard let anonymousHeader, let field = head.firstField(named: anonymousHeader, in: p) else { return nil }
        let id = value(field, p)
        return Bucketing.isAnonymous(id.base, id.count) ? nil : id
    }

    @inline(__always)
    private func value(_ field: Field, _ p: UnsafePointer<UInt8>) -> UserID {
        UserID(base: p + Int(field.valueStart), count: Int(field.valueEnd) - Int(field.valueStart))
    }

    private func id(
        _ source: Source, _ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch,
        _ wallSeconds: () -> Int64
    ) -> UserID? {
        switch source {
        case .header(let name):
            return head.firstField(named: name, in: p).map { value($0, p) }
        case .cookie(let name):
            for i in 0..<head.fieldCount where head.field(i).kind == .cookie {
                let line = value(head.field(i), p)
                if let found = Cookies.value(named: name, in: line.base, line.count) {
                    return UserID(base: line.base + found.start, count: found.count)
                }
            }
            return nil
        case .query(let name):
            guard head.queryEnd > head.queryStart else { return nil }
            let query = p + Int(head.queryStart)
            let count = Int(head.queryEnd) - Int(head.queryStart)
            guard let found = RequestTarget.queryValue(named: name, in: query, count) else { return nil }
            return decoded(
                query + found.range.start, found.range.count, found.needsDecoding, plusIsSpace: true, scratch)
        case .path(let path):
            let start = p + Int(head.pathStart)
            guard let found = path.user(in: start, Int(head.pathEnd) - Int(head.pathStart)) else { return nil }
            return decoded(start + found.start, found.count, true, plusIsSpace: false, scratch)
        case .basic:
            guard let field = head.firstField(kind: .authorization) else { return nil }
            let line = value(field, p)
            guard line.count < IdentityScratch.capacity,
                let count = Credentials.basicUser(in: line.base, line.count, decodedInto: scratch.base)
            else { return nil }
            return UserID(base: UnsafePointer(scratch.base), count: count)
        case .jwt(let header, let verifier):
            guard let field = head.firstField(named: header, in: p) else { return nil }
            let line = value(field, p)
            guard let user = verifier.user(in: line.base, line.count, nowSeconds: wallSeconds()) else { return nil }
            guard user.count < IdentityScratch.capacity else { return nil }
            user.withUnsafeBufferPointer { bytes in
                if let base = bytes.baseAddress { scratch.base.update(from: base, count: bytes.count) }
            }
            return UserID(base: UnsafePointer(scratch.base), count: user.count)
        }
    }

    private func decoded(
        _ base: UnsafePointer<UInt8>, _ count: Int, _ needed: Bool, plusIsSpace: Bool, _ scratch: IdentityScratch
    ) -> UserID? {
        guard needed else { return UserID(base: base, count: count) }
        guard count < IdentityScratch.capacity else { return nil }
        let written = PercentCoding.decode(base, count, plusIsSpace: plusIsSpace, into: scratch.base)
        return UserID(base: UnsafePointer(scratch.base), count: written)
    }
}

/// A user source that cannot be used.
package struct IdentityError: Error, Sendable {
    package let text: String
}

package import Configuration
import HTTPWire
import Rollout
package import Routing
import Telemetry

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

/// Scratch memory for ids that have to be decoded, and what was verified lately. One per loop.
final class IdentityScratch {
    static let capacity = 16 * 1024
    let base = UnsafeMutablePointer<UInt8>.allocate(capacity: IdentityScratch.capacity + 16)
    let verified: VerifiedTokens

    init(metrics: LoopMetrics? = nil) { verified = VerifiedTokens(metrics: metrics) }

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
        case signedCookie(SignedCookie)

        /// It believes nothing that is not signed.
        var verifies: Bool {
            switch self {
            case .jwt, .signedCookie: true
            case .header, .cookie, .query, .path, .basic: false
            }
        }

        /// What both verify stands in the same header or cookie.
        func sharesPlace(with other: Source) -> Bool {
            switch (self, other) {
            case (.jwt(let header, _), .jwt(let otherHeader, _)): header == otherHeader
            case (.signedCookie(let cookie), .signedCookie(let otherCookie)): cookie.name == otherCookie.name
            default: false
            }
        }
    }

    /// What one source knows of a request.
    private enum Finding {
        case nobody
        case user(UserID)
        /// Something that should have been verified was there and does not hold.
        case refused(IdentityRejection)

        @inline(__always)
        init(_ user: UserID?) { self = user.map { .user($0) } ?? .nobody }
    }
    private let sources: [Source]
    /// For each source the first one that reads the same header or cookie: two issuers can share one.
    private let places: [Int]
    private let anonymousHeader: [UInt8]?
    /// Name of the header that comes first; empty where another source does. The common case, without touching the list.
    private let leadingHeader: [UInt8]
    /// A source wants a proof, and for that the time.
    let verifies: Bool
    /// Names, in lower case, of the headers that are believed as they are: from a peer that is not trusted they do not count.
    let plainHeaders: [[UInt8]]

    /// - Throws: when a key file of a source cannot be used; the text says which and why.
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
            case .signedCookie(let cookie): sources.append(.signedCookie(try SignedCookie(cookie)))
            }
        }
        self.sources = sources
        places = sources.map { source in sources.firstIndex { $0.sharesPlace(with: source) } ?? 0 }
        verifies = sources.contains { $0.verifies }
        plainHeaders = sources.compactMap { if case .header(let name) = $0 { name } else { nil } }
        if case .header(let name)? = sources.first { leadingHeader = name } else { leadingHeader = [] }
        anonymousHeader =
            switch settings.anonymous {
            case .legacy: nil
            case .hash(let header): Array(header.lowercased().utf8)
            }
    }

    /// What is wrong with the key file of a source; nil when it can be used.
    package static func problem(_ source: UserSource) -> String? {
        var settings = UserSettings()
        settings.from = [source]
        do throws(IdentityError) {
            _ = try IdentitySources(settings)
            return nil
        } catch {
            return error.text
        }
    }

    /// The first source that yields an id which is not blank; else the header that anonymous requests are split by.
    ///
    /// Where a token or a signed cookie is there and does not verify, no source that verifies nothing may name the user in its
    /// place: what an attacker can break must not be worth less than what they can write. Another source that verifies may:
    /// two issuers can share a header.
    ///
    /// - Parameters:
    ///   - isTrusted: headers that anybody can write are believed from this peer.
    ///   - nowSeconds: the wall clock, in seconds since 1970; of no account where nothing `verifies`.
    @inline(__always)
    func identify(
        _ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch, isTrusted: Bool,
        nowSeconds: Int64
    ) -> Identified {
        if !leadingHeader.isEmpty, isTrusted, let field = head.firstField(named: leadingHeader, in: p) {
            let id = value(field, p)
            if !Bucketing.isAnonymous(id.base, id.count) { return Identified(user: id, isNamed: true, rejection: nil) }
        }
        return search(head, p, scratch, isTrusted: isTrusted, nowSeconds: nowSeconds)
    }

    private func search(
        _ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch, isTrusted: Bool,
        nowSeconds: Int64
    ) -> Identified {
        var refusals = IdentityRefusals()
        for (index, source) in sources.enumerated() {
            if !refusals.isEmpty, !source.verifies { continue }
            if !isTrusted, case .header = source { continue }
            switch find(source, head, p, scratch, nowSeconds) {
            case .nobody: break
            case .user(let id):
                if Bucketing.isAnonymous(id.base, id.count) { continue }
                // What one issuer's keys refuse and another's verify does hold.
                return Identified(user: id, isNamed: true, rejection: refusals.most(besides: places[index]))
            case .refused(let why): refusals.add(why, place: places[index])
            }
        }
        return Identified(user: anonymous(head, p), isNamed: false, rejection: refusals.most(besides: nil))
    }

    /// What requests without an id are split by.
    private func anonymous(_ head: MessageHead, _ p: UnsafePointer<UInt8>) -> UserID? {
        // A header that was withdrawn, because its sender is not trusted, says nothing here either.
        guard let anonymousHeader, let field = head.firstField(named: anonymousHeader, in: p),
            field.kind != .hopByHop
        else { return nil }
        let id = value(field, p)
        return Bucketing.isAnonymous(id.base, id.count) ? nil : id
    }

    @inline(__always)
    private func value(_ field: Field, _ p: UnsafePointer<UInt8>) -> UserID {
        UserID(base: p + Int(field.valueStart), count: Int(field.valueEnd) - Int(field.valueStart))
    }

    private func find(
        _ source: Source, _ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch,
        _ nowSeconds: Int64
    ) -> Finding {
        switch source {
        case .header(let name): Finding(head.firstField(named: name, in: p).map { value($0, p) })
        case .cookie(let name): Finding(cookie(name, head, p))
        case .query(let name): Finding(query(name, head, p, scratch))
        case .path(let path): Finding(segment(path, head, p, scratch))
        case .basic: Finding(basic(head, p, scratch))
        case .jwt(let header, let verifier): token(header, verifier, head, p, scratch, nowSeconds)
        case .signedCookie(let verifier):
            if let cookie = cookie(verifier.name, head, p) {
                switch verifier.judge(
                    UnsafeBufferPointer(start: cookie.base, count: cookie.count), nowSeconds: nowSeconds,
                    into: scratch.base)
                {
                case .absent: .nobody
                case .refused(let why): .refused(why)
                case .verified(let count): .user(UserID(base: UnsafePointer(scratch.base), count: count))
                }
            } else {
                .nobody
            }
        }
    }

    private func cookie(_ name: [UInt8], _ head: MessageHead, _ p: UnsafePointer<UInt8>) -> UserID? {
        for i in 0..<head.fieldCount where head.field(i).kind == .cookie {
            let line = value(head.field(i), p)
            if let found = Cookies.value(named: name, in: line.base, line.count) {
                return UserID(base: line.base + found.start, count: found.count)
            }
        }
        return nil
    }

    private func query(
        _ name: [UInt8], _ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch
    ) -> UserID? {
        guard head.queryEnd > head.queryStart else { return nil }
        let query = p + Int(head.queryStart)
        let count = Int(head.queryEnd) - Int(head.queryStart)
        guard let found = RequestTarget.queryValue(named: name, in: query, count) else { return nil }
        return decoded(query + found.range.start, found.range.count, found.needsDecoding, plusIsSpace: true, scratch)
    }

    private func segment(
        _ path: UserPath, _ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch
    ) -> UserID? {
        let start = p + Int(head.pathStart)
        guard let found = path.user(in: start, Int(head.pathEnd) - Int(head.pathStart)) else { return nil }
        return decoded(start + found.start, found.count, true, plusIsSpace: false, scratch)
    }

    private func basic(_ head: MessageHead, _ p: UnsafePointer<UInt8>, _ scratch: IdentityScratch) -> UserID? {
        guard let field = head.firstField(kind: .authorization) else { return nil }
        let line = value(field, p)
        guard line.count < IdentityScratch.capacity,
            let count = Credentials.basicUser(in: line.base, line.count, decodedInto: scratch.base)
        else { return nil }
        return UserID(base: UnsafePointer(scratch.base), count: count)
    }

    private func token(
        _ header: [UInt8], _ verifier: JWTVerifier, _ head: MessageHead, _ p: UnsafePointer<UInt8>,
        _ scratch: IdentityScratch, _ nowSeconds: Int64
    ) -> Finding {
        let line: UserID
        switch head.match(named: header, in: p) {
        case .none: return .nobody
        case .one(let field): line = value(field, p)
        // Which of them the backends would take is not known here.
        case .several: return .refused(.malformed)
        }
        switch verifier.judge(line.base, line.count, nowSeconds: nowSeconds, known: scratch.verified) {
        case .absent: return .nobody
        case .refused(let why): return .refused(why)
        case .verified(let token):
            guard let user = token.user, user.count < IdentityScratch.capacity else { return .nobody }
            user.withUnsafeBufferPointer { bytes in
                if let base = bytes.baseAddress { scratch.base.update(from: base, count: bytes.count) }
            }
            return .user(UserID(base: UnsafePointer(scratch.base), count: user.count))
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

/// Who asks, and what was refused while that was found out.
struct Identified {
    /// nil: nobody that is known.
    let user: UserID?
    /// A source names the user; else they are anonymous, whatever such requests are split by.
    let isNamed: Bool
    /// What was offered as proof and does not hold, even where another proof does.
    let rejection: IdentityRejection?
}

/// What was refused of one request, by the place that it stood in: which of two places said most is enough to leave any one out.
struct IdentityRefusals {
    private var most: (reason: IdentityRejection, place: Int)?
    /// Of the places besides that of `most`.
    private var next: (reason: IdentityRejection, place: Int)?

    var isEmpty: Bool { most == nil }

    mutating func add(_ reason: IdentityRejection, place: Int) {
        guard let most else { return self.most = (reason, place) }
        if reason.index > most.reason.index {
            if place != most.place { next = most }
            self.most = (reason, place)
        } else if place != most.place, next.map({ reason.index > $0.reason.index }) ?? true {
            next = (reason, place)
        }
    }

    /// The one that says most, those of a place left out.
    func most(besides place: Int?) -> IdentityRejection? {
        guard let most else { return nil }
        return most.place == place ? next?.reason : most.reason
    }
}

/// A user source that cannot be used.
package struct IdentityError: Error, Sendable {
    package let text: String
}

/// The method of a request (RFC 9110 §9, RFC 5789, RFC 4918, RFC 3253, RFC 5323). Methods are case-sensitive:
/// `get` is `other`.
@usableFromInline
package enum Method: UInt8, Sendable, Equatable {
    case get, head, post, put, delete, options, patch, connect, trace
    case propfind, proppatch, mkcol, copy, move, lock, unlock, report, search
    case other

    /// Asks for nothing to change (RFC 9110 §9.2.1; for WebDAV the "safe" column of IANA's method registry).
    @inlinable package var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .propfind, .report, .search: true
        case .post, .put, .delete, .patch, .connect, .proppatch, .mkcol, .copy, .move, .lock, .unlock, .other: false
        }
    }

    /// Doing it twice has the effect of doing it once (RFC 9110 §9.2.2: the safe methods, PUT and DELETE; RFC 4918
    /// §9 and IANA's method registry: PROPPATCH, MKCOL, COPY, MOVE and UNLOCK too, LOCK not).
    ///
    /// The *answer* to the repetition may differ all the same: 404 to a second DELETE or MOVE, 405 to a second MKCOL.
    @inlinable package var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .trace, .propfind, .report, .search: true
        case .put, .delete, .proppatch, .mkcol, .copy, .move, .unlock: true
        case .post, .patch, .connect, .lock, .other: false
        }
    }

    /// The method whose token is `length` bytes at `p`. Reads up to eight bytes past the token's end.
    @inline(__always)
    static func of(_ p: UnsafePointer<UInt8>, _ length: Int) -> Method {
        let word = Bytes.word(at: p, min(length, 8))
        switch length {
        case 3: return word == Bytes.word("GET") ? .get : word == Bytes.word("PUT") ? .put : .other
        case 4:
            if word == Bytes.word("POST") { return .post }
            if word == Bytes.word("HEAD") { return .head }
            if word == Bytes.word("MOVE") { return .move }
            if word == Bytes.word("COPY") { return .copy }
            return word == Bytes.word("LOCK") ? .lock : .other
        case 5:
            if word == Bytes.word("PATCH") { return .patch }
            if word == Bytes.word("MKCOL") { return .mkcol }
            return word == Bytes.word("TRACE") ? .trace : .other
        case 6:
            if word == Bytes.word("DELETE") { return .delete }
            if word == Bytes.word("UNLOCK") { return .unlock }
            if word == Bytes.word("REPORT") { return .report }
            return word == Bytes.word("SEARCH") ? .search : .other
        case 7: return word == Bytes.word("OPTIONS") ? .options : word == Bytes.word("CONNECT") ? .connect : .other
        case 8: return word == Bytes.word("PROPFIND") ? .propfind : .other
        case 9: return word == Bytes.word("PROPPATC") && p[8] == UInt8(ascii: "H") ? .proppatch : .other
        default: return .other
        }
    }
}

/// What a field means to a proxy. Every field that the gateway treats specially is found by comparing this byte.
@usableFromInline
package enum FieldKind: UInt8, Sendable, Equatable, CaseIterable {
    /// Passed on as it is.
    case other
    case host, connection, contentLength, transferEncoding
    /// `Upgrade`: of this hop only, but a tunnel needs it.
    case upgrade
    /// Means this hop only (RFC 9110 §7.6.1): `Keep-Alive`, `Proxy-Connection`, `TE`, and the fields between a client
    /// and a forward proxy (RFC 9110 §11.7), which must never reach a backend: `Proxy-Authenticate`,
    /// `Proxy-Authorization`, `Proxy-Authentication-Info`.
    case hopByHop
    /// A `Connection` option of this message names this field, so it means this hop only (RFC 9110 §7.6.1).
    case namedByConnection
    /// `Trailer` announces trailers (RFC 9110 §6.6.2): it may stay where the chunked body passes with its trailers, and
    /// must go where the body is framed anew.
    case trailer
    case expect, cookie, authorization
    case via, forwardedFor, forwardedProto, forwardedHost, requestID
    /// `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since`, `If-Range` (RFC 9110 §13.1) and
    /// WebDAV's `If` (RFC 4918 §10.4).
    case conditional
    case range, idempotencyKey, contentType, contentEncoding
    case date, server, retryAfter, setCookie
    /// `traceparent` and `tracestate` (W3C Trace Context §3): the gateway writes a parent of its own.
    case traceParent, traceState
    /// Its name begins with `Cutover-`.
    case cutover

    /// The kind as a bit of a set. `rawValue` would do, but it is a call into this module where the case is a constant.
    @inlinable @inline(__always)
    package var bit: UInt64 {
        // An enum without payloads is one byte that counts its cases, which is what the raw values do too.
        1 &<< UInt64(unsafeBitCast(self, to: UInt8.self))
    }

    /// Whether a `Connection` option may turn the field into one of this hop.
    ///
    /// RFC 9110 §7.6.1 forbids senders to nominate fields that are meant for all recipients. A message that names
    /// `Host`, a length, credentials or a condition all the same is an attempt to make the backend see another request
    /// than the gateway decided by, so for every field that the gateway knows as end-to-end the nomination is ignored.
    var mayBeNamedByConnection: Bool { self == .other || self == .trailer }

    /// The kind of the field whose name is `length` bytes at `p`, in any case. The name must not hold controls.
    @inline(__always)
    static func of(_ p: UnsafePointer<UInt8>, _ length: Int) -> FieldKind {
        // Each word is loaded only where the name reaches into it: then it begins inside the buffer.
        let first = Bytes.lowercased(Bytes.word(at: p, 8), length)
        let second = length > 8 ? Bytes.lowercased(Bytes.word(at: p + 8, 8), length - 8) : 0
        let third = length > 16 ? Bytes.lowercased(Bytes.word(at: p + 16, 8), length - 16) : 0
        if length == 25 {
            return Bytes.equals(p, length, "proxy-authentication-info") ? .hopByHop : .other
        }
        return of(first, second, third, length)
    }

    /// The same for a name of at most 24 bytes given in lower case, as three little-endian words padded with zeros.
    /// (Names that are longer are only told by their prefix.)
    @inline(__always)
    static func of(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ length: Int) -> FieldKind {
        if length <= 8 { return ofShort(first, length) }
        if first == Bytes.word("cutover-") { return .cutover }
        if length <= 16 { return ofMiddle(first, second, length) }
        switch length {
        case 17 where third == Bytes.word("g"):
            return first == Bytes.word("transfer") && second == Bytes.word("-encodin") ? .transferEncoding : .other
        case 17 where third == Bytes.word("o"):
            return first == Bytes.word("x-forwar") && second == Bytes.word("ded-prot") ? .forwardedProto : .other
        case 17 where third == Bytes.word("e"):
            return first == Bytes.word("if-modif") && second == Bytes.word("ied-sinc") ? .conditional : .other
        case 18 where third == Bytes.word("te"):
            return first == Bytes.word("proxy-au") && second == Bytes.word("thentica") ? .hopByHop : .other
        case 19 where third == Bytes.word("nce"):
            return first == Bytes.word("if-unmod") && second == Bytes.word("ified-si") ? .conditional : .other
        case 19 where third == Bytes.word("ion"):
            return first == Bytes.word("proxy-au") && second == Bytes.word("thorizat") ? .hopByHop : .other
        default: return .other
        }
    }

    @inline(__always)
    private static func ofShort(_ name: UInt64, _ length: Int) -> FieldKind {
        switch length {
        case 2: name == Bytes.word("te") ? .hopByHop : name == Bytes.word("if") ? .conditional : .other
        case 3: name == Bytes.word("via") ? .via : .other
        case 4: name == Bytes.word("host") ? .host : name == Bytes.word("date") ? .date : .other
        case 5: name == Bytes.word("range") ? .range : .other
        case 6 where name == Bytes.word("cookie"): .cookie
        case 6 where name == Bytes.word("server"): .server
        case 6: name == Bytes.word("expect") ? .expect : .other
        case 7: name == Bytes.word("upgrade") ? .upgrade : name == Bytes.word("trailer") ? .trailer : .other
        case 8 where name == Bytes.word("cutover-"): .cutover
        case 8: name == Bytes.word("if-match") || name == Bytes.word("if-range") ? .conditional : .other
        default: .other
        }
    }

    @inline(__always)
    private static func ofMiddle(_ first: UInt64, _ second: UInt64, _ length: Int) -> FieldKind {
        switch length {
        case 10 where second == Bytes.word("on"): first == Bytes.word("connecti") ? .connection : .other
        case 10 where second == Bytes.word("ve"): first == Bytes.word("keep-ali") ? .hopByHop : .other
        case 10 where second == Bytes.word("ie"): first == Bytes.word("set-cook") ? .setCookie : .other
        case 10 where second == Bytes.word("te"): first == Bytes.word("tracesta") ? .traceState : .other
        case 11 where second == Bytes.word("ent"): first == Bytes.word("tracepar") ? .traceParent : .other
        case 11: first == Bytes.word("retry-af") && second == Bytes.word("ter") ? .retryAfter : .other
        case 12 where second == Bytes.word("type"): first == Bytes.word("content-") ? .contentType : .other
        case 12 where second == Bytes.word("t-id"): first == Bytes.word("x-reques") ? .requestID : .other
        case 13 where second == Bytes.word("ation"): first == Bytes.word("authoriz") ? .authorization : .other
        case 13 where second == Bytes.word("match"): first == Bytes.word("if-none-") ? .conditional : .other
        case 14: first == Bytes.word("content-") && second == Bytes.word("length") ? .contentLength : .other
        case 15 where second == Bytes.word("ded-for"): first == Bytes.word("x-forwar") ? .forwardedFor : .other
        case 15 where second == Bytes.word("ncy-key"): first == Bytes.word("idempote") ? .idempotencyKey : .other
        case 16 where second == Bytes.word("encoding"): first == Bytes.word("content-") ? .contentEncoding : .other
        case 16 where second == Bytes.word("ded-host"): first == Bytes.word("x-forwar") ? .forwardedHost : .other
        case 16 where second == Bytes.word("nnection"): first == Bytes.word("proxy-co") ? .hopByHop : .other
        default: .other
        }
    }
}

/// One field line, as offsets from the start of the head.
@usableFromInline
package struct Field: Sendable, Equatable {
    @usableFromInline package var kind: FieldKind
    /// Where the line, and with it the name, begins.
    @usableFromInline package var lineStart: UInt32
    /// The colon.
    @usableFromInline package var nameEnd: UInt32
    /// The value without the white space around it.
    @usableFromInline package var valueStart: UInt32
    @usableFromInline package var valueEnd: UInt32
    /// After the CRLF: where the next line begins.
    @usableFromInline package var lineEnd: UInt32

    @inlinable
    package init(
        kind: FieldKind, lineStart: UInt32, nameEnd: UInt32, valueStart: UInt32, valueEnd: UInt32, lineEnd: UInt32
    ) {
        self.kind = kind
        self.lineStart = lineStart
        self.nameEnd = nameEnd
        self.valueStart = valueStart
        self.valueEnd = valueEnd
        self.lineEnd = lineEnd
    }

    /// The value's bytes, in the buffer that the head was parsed from.
    @inlinable @inline(__always)
    package func value(in p: UnsafePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: p + Int(valueStart), count: Int(valueEnd &- valueStart))
    }

    /// The name's bytes, in the buffer that the head was parsed from.
    @inlinable @inline(__always)
    package func name(in p: UnsafePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: p + Int(lineStart), count: Int(nameEnd &- lineStart))
    }
}

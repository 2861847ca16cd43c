/// The head of one request or response: where everything in it is, and what it means for framing.
///
/// One object serves a connection for all its messages; parsing allocates nothing, except that the table of fields
/// grows when a head has more lines than any before it. All positions are offsets from the pointer given to
/// `parseRequest`/`parseResponse`, which may be another one at each call as long as the head's bytes are at the same
/// distance from it. Used by one thread at a time.
///
/// The caller guarantees eight readable bytes past the `n` it names.
@usableFromInline
package final class MessageHead {
    /// All mutable state lies behind one pointer that never changes: a read from another module is a plain load,
    /// without the exclusivity check that a mutable property of a class pays.
    @usableFromInline let state: UnsafeMutablePointer<HeadState>

    /// - Parameter limits: what is refused with 414 or 431.
    package init(limits: WireLimits) {
        state = .allocate(capacity: 1)
        state.initialize(to: HeadState(limits: limits))
    }

    deinit {
        state.pointee.fields.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Forgets the message: the next parse call begins a new one. Needed after an incomplete head is given up and after
    /// a refusal; after a complete head the next parse call does it by itself.
    package func reset() { state.pointee.reset() }

    /// Parses a request head (RFC 9112 §3 and §5).
    ///
    /// Work already done for an earlier, shorter `n` is not repeated. Once refused it stays refused until `reset()`.
    package func parseRequest(_ p: UnsafePointer<UInt8>, _ n: Int) -> HeadOutcome {
        state.pointee.parse(p, n, asRequest: true)
    }

    /// Parses a response head (RFC 9112 §4 and §5); otherwise as `parseRequest`. It does not skip empty lines.
    package func parseResponse(_ p: UnsafePointer<UInt8>, _ n: Int) -> HeadOutcome {
        state.pointee.parse(p, n, asRequest: false)
    }

    /// The limits that heads, and trailers of the bodies that they announce, are held to.
    @inlinable package var limits: WireLimits { state.pointee.limits }

    // MARK: The first line

    /// Bytes of the whole head, from the start (skipped empty lines included) to after its closing CRLF CRLF.
    @inlinable package var length: Int { state.pointee.length }
    /// Where the request line begins: 0, or after the empty lines that were skipped (at most two; RFC 9112 §2.2).
    @inlinable package var leading: Int { state.pointee.leading }
    /// After the CRLF of the first line: where the first field line begins.
    @inlinable package var firstLineEnd: Int { state.pointee.firstLineEnd }
    /// The method of a request. Its bytes are `leading..<methodEnd`.
    @inlinable package var method: Method { state.pointee.method }
    @inlinable package var methodEnd: Int { state.pointee.methodEnd }
    /// The request target as it was sent.
    @inlinable package var targetStart: Int { state.pointee.methodEnd &+ 1 }
    @inlinable package var targetEnd: Int { state.pointee.targetEnd }
    /// The path of the target. For a target in absolute form (`http://host/path?query`) it points into it and may be
    /// empty, which means `/` (RFC 9110 §4.2.3; of OPTIONS `*`, RFC 9112 §3.2.4). For `*` it is the asterisk.
    @inlinable package var pathStart: Int { state.pointee.pathStart }
    @inlinable package var pathEnd: Int { state.pointee.pathEnd }
    /// The query without its question mark; empty and at the target's end where there is none (`hasQuery`).
    @inlinable package var queryStart: Int {
        state.pointee.pathEnd &+ (state.pointee.pathEnd < state.pointee.targetEnd ? 1 : 0)
    }
    @inlinable package var queryEnd: Int { state.pointee.targetEnd }
    @inlinable package var hasQuery: Bool { state.pointee.pathEnd < state.pointee.targetEnd }
    /// The host and port inside a target in absolute form; empty otherwise. `Host`, where present, is the same but for
    /// case, else the request is refused.
    @inlinable package var authorityStart: Int { state.pointee.authorityStart }
    @inlinable package var authorityEnd: Int { state.pointee.authorityEnd }
    /// Whether the target was sent in absolute form; to a backend it goes in origin form.
    @inlinable package var isAbsoluteForm: Bool { state.pointee.authorityEnd > 0 }
    /// The status of a response, 100 to 599.
    @inlinable package var status: Int { state.pointee.status }
    /// 0 or 1: of HTTP/1.0 or HTTP/1.1.
    @inlinable package var minorVersion: Int { state.pointee.minorVersion }

    // MARK: Meaning

    /// Whether the sender lets the connection live on (RFC 9112 §9.3). It cannot after a body without framing.
    @inlinable package var keepAlive: Bool { state.pointee.keepAlive }
    /// The value of Content-Length, -1 if absent.
    @inlinable package var contentLength: Int { state.pointee.contentLength }
    @inlinable package var isChunked: Bool { state.pointee.isChunked }
    /// The sender of an HTTP/1.1 request waits for 100 (RFC 9110 §10.1.1). Other expectations are passed over.
    @inlinable package var expectsContinue: Bool { state.pointee.expectsContinue }
    /// `Upgrade` is there and `Connection` names it, in HTTP/1.1 (RFC 9110 §7.8).
    @inlinable package var wantsUpgrade: Bool { state.pointee.wantsUpgrade }
    /// There is a Host: in a request exactly one; its value may be empty.
    @inlinable package var hasHost: Bool { has(.host) }

    // MARK: Fields

    @inlinable package var fieldCount: Int { state.pointee.fieldCount }

    /// Field line `index`, in the order of arrival. `index` must be below `fieldCount`.
    @inlinable @inline(__always)
    package func field(_ index: Int) -> Field {
        assert(index >= 0 && index < state.pointee.fieldCount)
        return state.pointee.fields[index]
    }

    /// Whether any field is of this kind; `namedByConnection` counts, and a field so named no longer counts as what it
    /// was.
    @inlinable package func has(_ kind: FieldKind) -> Bool {
        state.pointee.kinds & kind.bit != 0
    }

    /// The first field of this kind. That there is none is seen in the caller, without a call.
    @inlinable @inline(__always)
    package func firstField(kind: FieldKind) -> Field? { has(kind) ? search(for: kind) : nil }

    @usableFromInline
    func search(for kind: FieldKind) -> Field? {
        let fields = state.pointee.fields
        for index in 0..<state.pointee.fieldCount where fields[index].kind == kind { return fields[index] }
        return nil
    }
}

/// What a search for a field that should be there once found.
package enum FieldMatch: Sendable, Equatable {
    case none
    case one(Field)
    /// There is more than one line of that name; the first of them.
    case several(first: Field)
}

extension MessageHead {
    /// The first field of this name.
    ///
    /// - Parameters:
    ///   - lowercase: the name in lower-case letters.
    ///   - p: the buffer that the head was parsed from.
    package func firstField(named lowercase: [UInt8], in p: UnsafePointer<UInt8>) -> Field? {
        nextIndex(named: lowercase, in: p, from: 0).map { state.pointee.fields[$0] }
    }

    /// The field of this name, and whether it is the only one. Parameters as of `firstField(named:in:)`.
    package func match(named lowercase: [UInt8], in p: UnsafePointer<UInt8>) -> FieldMatch {
        guard let index = nextIndex(named: lowercase, in: p, from: 0) else { return .none }
        let first = state.pointee.fields[index]
        return nextIndex(named: lowercase, in: p, from: index + 1) == nil ? .one(first) : .several(first: first)
    }

    private func nextIndex(named lowercase: [UInt8], in p: UnsafePointer<UInt8>, from start: Int) -> Int? {
        let fields = state.pointee.fields
        for index in start..<state.pointee.fieldCount {
            let field = fields[index]
            guard Int(field.nameEnd &- field.lineStart) == lowercase.count else { continue }
            let name = p + Int(field.lineStart)
            var k = 0
            while k < lowercase.count, Bytes.lowercased(name[k]) == lowercase[k] { k += 1 }
            if k == lowercase.count { return index }
        }
        return nil
    }
}

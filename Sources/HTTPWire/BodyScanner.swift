/// Finds the end of a message body in a stream of bytes and shows what it decodes to. The bytes themselves are meant to
/// be passed on as they are.
@usableFromInline
package struct BodyScanner {
    /// How a body is delimited (RFC 9112 §6).
    package enum Framing: Sendable, Equatable {
        /// There is no body.
        case none
        /// That many bytes.
        case length(Int)
        /// Chunks and trailers (RFC 9112 §7.1).
        case chunked
        /// Whatever comes until the connection closes; only of responses.
        case untilClose
    }

    /// Bytes still to come; of a chunked body 1 until it is whole, of one that ends with the connection always 1 or more.
    @usableFromInline var remaining: Int
    @usableFromInline let isChunked: Bool
    @usableFromInline let isUntilClose: Bool
    @usableFromInline var chunks: ChunkReader

    /// Whether the body is whole. One that ends with the connection never is.
    @inlinable package var isDone: Bool { remaining == 0 }
    /// Whether the end of the connection is the regular end of the body.
    @inlinable package var endsWithConnection: Bool { isUntilClose }
    /// Bytes of a body of known length still to come; `nil` where the length is not known.
    @inlinable package var remainingLength: Int? { isChunked || isUntilClose ? nil : remaining }

    /// - Parameter limits: what the trailers of a chunked body are held to.
    package init(_ framing: Framing, limits: WireLimits = WireLimits()) {
        chunks = ChunkReader(limits: limits)
        switch framing {
        case .none:
            (remaining, isChunked, isUntilClose) = (0, false, false)
        case .length(let length):
            (remaining, isChunked, isUntilClose) = (max(0, length), false, false)
        case .chunked:
            (remaining, isChunked, isUntilClose) = (1, true, false)
        case .untilClose:
            (remaining, isChunked, isUntilClose) = (.max, false, true)
        }
    }

    /// The body of a request (RFC 9112 §6.3): without a length there is none.
    package static func request(_ head: MessageHead) -> BodyScanner {
        if head.isChunked { return BodyScanner(.chunked, limits: head.limits) }
        return BodyScanner(head.contentLength > 0 ? .length(head.contentLength) : .none, limits: head.limits)
    }

    /// The body of a response (RFC 9112 §6.3): 1xx, 204, 304 and answers to HEAD have none, whatever their fields say.
    ///
    /// - Parameter toHead: the request was HEAD.
    package static func response(_ head: MessageHead, toHead: Bool) -> BodyScanner {
        let status = head.status
        if toHead || status < 200 || status == 204 || status == 304 { return BodyScanner(.none, limits: head.limits) }
        if head.isChunked { return BodyScanner(.chunked, limits: head.limits) }
        return BodyScanner(head.contentLength >= 0 ? .length(head.contentLength) : .untilClose, limits: head.limits)
    }

    /// Takes the next bytes of the connection.
    ///
    /// - Parameter payload: is called with each run of content in them.
    /// - Returns: how many of the bytes belong to the body, framing included; `nil` if it is malformed, from then on
    ///   always.
    @inlinable @inline(__always)
    package mutating func scan(
        _ p: UnsafePointer<UInt8>, _ n: Int, payload: (UnsafePointer<UInt8>, Int) -> Void
    ) -> Int? {
        if isChunked { return scanChunks(p, n, payload: payload) }
        let taken = n < remaining ? n : remaining
        if taken > 0 { payload(p, taken) }
        if !isUntilClose { remaining &-= taken }
        return taken
    }

    @usableFromInline
    mutating func scanChunks(
        _ p: UnsafePointer<UInt8>, _ n: Int, payload: (UnsafePointer<UInt8>, Int) -> Void
    ) -> Int? {
        let taken = chunks.scan(p, n, payload: payload)
        if chunks.isDone { remaining = 0 }
        return taken
    }
}

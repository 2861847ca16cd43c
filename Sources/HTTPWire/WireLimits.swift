/// How large the head of a message, and what frames its body, may become before the message is refused.
///
/// A value that is exactly at a limit is accepted; one more is refused.
@usableFromInline
package struct WireLimits: Sendable, Equatable {
    /// Bytes of the request target (414 beyond).
    package var targetBytes: Int
    /// Bytes of one field line, of a status line, or of one trailer line, without their CRLF (431 beyond).
    package var headerLineBytes: Int
    /// Bytes of the whole field section, its CRLFs and the closing empty line included (431 beyond).
    /// The trailer section of a chunked body has the same limit of its own.
    package var headerBytes: Int
    /// Number of field lines (431 beyond); the same for trailers.
    package var headerLines: Int

    package init(
        targetBytes: Int = 8192, headerLineBytes: Int = 16384, headerBytes: Int = 65536, headerLines: Int = 200
    ) {
        self.targetBytes = targetBytes
        self.headerLineBytes = headerLineBytes
        self.headerBytes = headerBytes
        self.headerLines = headerLines
    }

    /// Longest method that is looked at (RFC 9112 §3: longer than any implemented is 501).
    /// The longest registered one, `UPDATEREDIRECTREF`, has 17 bytes.
    static let methodBytes = 32
    /// Bytes of all chunk extensions of one body together. Nothing uses them; unbounded they are a way to make
    /// a proxy work for nothing (RFC 9112 §7.1.1 asks for a limit on their total).
    static let chunkExtensionBytes = 4096
    /// Connection options, other than the three that are understood, that one message may carry: each one is
    /// looked up among all fields.
    static let connectionNominations = 64
}

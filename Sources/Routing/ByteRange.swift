/// A part of a byte string, as offsets from its start; the bytes themselves stay where they are.
@usableFromInline @frozen package struct ByteRange: Sendable, Equatable {
    @usableFromInline package let start: Int
    /// One past the last byte.
    @usableFromInline package let end: Int

    @inlinable package init(start: Int, end: Int) {
        self.start = start
        self.end = end
    }

    @inlinable package var count: Int { end - start }
    @inlinable package var isEmpty: Bool { end == start }
}

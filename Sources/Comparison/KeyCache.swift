/// The digests of keys that have been seen before: most documents use a few keys again and again.
///
/// It holds keys of up to 15 bytes without escapes, each in the one place that its bytes lead to; a key that comes there
/// later takes the place. No result depends on what is in it.
struct KeyCache: ~Copyable {
    /// A key's 16 bytes, filled up with zeros, which no such key holds; its digest; the state of a member's mixer that has
    /// taken it in.
    struct Entry: BitwiseCopyable {
        var x: UInt64
        var y: UInt64
        var digest: Mixer.Digest
        var member: Mixer.State
        /// To 64 bytes, a line of the cache.
        let padding = (UInt64(0), UInt64(0))
    }

    /// Many more than keys, so that few share one; only those in use take room in the processor's cache.
    private static let places = 512
    private let entries: UnsafeMutablePointer<Entry>

    init() {
        entries = .allocate(capacity: Self.places)
        // No key has these bytes, which are not UTF-8.
        entries.initialize(
            repeating: Entry(x: .max, y: .max, digest: 0, member: Mixer(.member).state), count: Self.places)
    }

    deinit {
        entries.deallocate()
    }

    /// The entry of a key of these bytes.
    @inline(__always)
    func entry(_ x: UInt64, _ y: UInt64, count: Int) -> UnsafePointer<Entry> {
        let spread = (x ^ (y << 29 | y >> 35)) &* 0x9E37_79B9_7F4A_7C15
        let entry = entries + Int(truncatingIfNeeded: spread >> 55)
        if entry.pointee.x != x || entry.pointee.y != y {
            Self.replace(entry, x, y, count: count)
        }
        return UnsafePointer(entry)
    }

    @inline(never)
    private static func replace(_ entry: UnsafeMutablePointer<Entry>, _ x: UInt64, _ y: UInt64, count: Int) {
        var mixer = Mixer(.string)
        mixer.absorb(x, y)
        let digest = mixer.finish(UInt64(truncatingIfNeeded: count))
        entry.pointee = Entry(x: x, y: y, digest: digest, member: Digests.member(key: digest).state)
    }
}

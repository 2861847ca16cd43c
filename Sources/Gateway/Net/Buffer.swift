import CLinux

/// Fixed-size memory blocks between uses, so that an idle connection holds none. One per loop.
final class BlockPool {
    static let blockSize = 16 * 1024
    /// Bytes past a buffer's capacity that may be read (not used) by code that looks at eight bytes at once.
    static let slack = 8
    /// More free blocks than this go back to the allocator.
    private static let keep = 512
    /// A block for bodies that come faster than blocks of the other size hold. More than this is dearer again: the
    /// bytes would have left the processor's cache before they are sent on.
    static let largeSize = 64 * 1024
    /// So many large blocks may be in use; whoever comes later goes on with what they have.
    static let largeMax = 128
    /// More free large blocks than this go back to the allocator.
    private static let largeKeep = 8
    private var free: [UnsafeMutablePointer<UInt8>] = []
    private var freeLarge: [UnsafeMutablePointer<UInt8>] = []
    private(set) var largeInUse = 0

    func take() -> UnsafeMutablePointer<UInt8> {
        free.popLast() ?? .allocate(capacity: BlockPool.blockSize + BlockPool.slack)
    }

    func give(_ block: UnsafeMutablePointer<UInt8>) {
        if free.count < BlockPool.keep { free.append(block) } else { block.deallocate() }
    }

    /// Nil when too many are in use.
    func takeLarge() -> UnsafeMutablePointer<UInt8>? {
        guard largeInUse < BlockPool.largeMax else { return nil }
        largeInUse += 1
        return freeLarge.popLast() ?? .allocate(capacity: BlockPool.largeSize + BlockPool.slack)
    }

    func give(large block: UnsafeMutablePointer<UInt8>) {
        largeInUse -= 1
        if freeLarge.count < BlockPool.largeKeep { freeLarge.append(block) } else { block.deallocate() }
    }

    /// Gives all that is free back to the allocator.
    func shrink() {
        for block in free { block.deallocate() }
        for block in freeLarge { block.deallocate() }
        free = []
        freeLarge = []
    }

    deinit { shrink() }
}

/// A flat byte buffer with a read and a write position. It takes a block of its loop's pool when it first needs room
/// and gives it back through `releaseIfEmpty`. Confined to its loop's thread.
final class Buffer {
    private(set) var base: UnsafeMutablePointer<UInt8>
    private(set) var capacity = 0
    private(set) var start = 0
    private(set) var end = 0
    /// The memory is one of the pool's large blocks.
    private(set) var isLarge = false
    private let pool: BlockPool

    /// Stands for "no memory": never written, readable for the slack.
    private nonisolated(unsafe) static let nothing: UnsafeMutablePointer<UInt8> = {
        let p = UnsafeMutablePointer<UInt8>.allocate(capacity: BlockPool.slack)
        p.initialize(repeating: 0, count: BlockPool.slack)
        return p
    }()

    init(pool: BlockPool) {
        self.pool = pool
        base = Buffer.nothing
    }

    deinit { dispose() }

    var count: Int { end &- start }
    var isEmpty: Bool { start == end }
    var free: Int { capacity &- end }
    var readable: UnsafePointer<UInt8> { UnsafePointer(base + start) }
    var writable: UnsafeMutablePointer<UInt8> { base + end }
    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: readable, count: count) }

    private func dispose() {
        if isLarge {
            pool.give(large: base)
            isLarge = false
        } else if capacity == BlockPool.blockSize {
            pool.give(base)
        } else if capacity > 0 {
            base.deallocate()
        }
        base = Buffer.nothing
        capacity = 0
    }

    func clear() {
        start = 0
        end = 0
    }

    /// Gives the memory back when there is nothing in it.
    func releaseIfEmpty() {
        guard start == end, capacity > 0 else { return }
        clear()
        dispose()
    }

    /// Makes an empty buffer as large as the stream that passes through it calls for: large when more has arrived than
    /// it could take, and no longer large when the last part would have gone into a common block.
    /// - Parameters:
    ///   - last: bytes of the part that has just been passed on.
    ///   - more: the next part is there already.
    func adapt(last: Int, more: Bool) {
        guard start == end else { return }
        if isLarge {
            if last <= BlockPool.blockSize { dispose() }
        } else if more, capacity == BlockPool.blockSize, let block = pool.takeLarge() {
            dispose()
            base = block
            capacity = BlockPool.largeSize
            isLarge = true
        }
    }

    /// Gives memory back that is more than a common block and not needed any more.
    @inline(__always)
    func releaseIfLarge() {
        if capacity > BlockPool.blockSize { releaseIfEmpty() }
    }

    @inline(__always)
    func consume(_ n: Int) {
        start &+= n
        if start == end { clear() }
    }

    /// `n` bytes have been written at `writable`.
    @inline(__always)
    func produced(_ n: Int) { end &+= n }

    /// Takes `n` bytes off the end.
    func unappend(_ n: Int) { end &-= n }

    @inline(__always)
    func reserve(_ n: Int) {
        if capacity &- end < n { makeRoom(n) }
    }

    private func makeRoom(_ n: Int) {
        if start > 0 {
            memmove(base, base + start, count)
            end -= start
            start = 0
            if free >= n { return }
        }
        let needed = end + n
        let bigger: UnsafeMutablePointer<UInt8>
        let size: Int
        if needed <= BlockPool.blockSize {
            size = BlockPool.blockSize
            bigger = pool.take()
        } else {
            size = max(needed, min(capacity * 2, capacity + (1 << 20)))
            bigger = .allocate(capacity: size + BlockPool.slack)
        }
        memcpy(bigger, base, end)
        dispose()
        base = bigger
        capacity = size
    }

    /// Removes `n` bytes that follow the first `offset` readable ones.
    func cut(after offset: Int, _ n: Int) {
        guard n > 0 else { return }
        let from = base + start + offset
        let rest = count - offset - n
        if rest > 0 { memmove(from, from + n, rest) }
        end -= n
    }

    @inline(__always)
    func append(_ p: UnsafePointer<UInt8>, _ n: Int) {
        reserve(n)
        memcpy(base + end, p, n)
        end &+= n
    }

    @inline(__always)
    func append(_ s: StaticString) { append(s.utf8Start, s.utf8CodeUnitCount) }

    func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { if let p = $0.baseAddress { append(p, $0.count) } }
    }

    func append(text string: String) {
        var string = string
        string.withUTF8 { if let p = $0.baseAddress { append(p, $0.count) } }
    }

    func append(byte: UInt8) {
        reserve(1)
        base[end] = byte
        end &+= 1
    }

    func append(decimal value: Int) {
        reserve(20)
        var digits = 1
        var rest = value
        while rest >= 10 {
            rest /= 10
            digits &+= 1
        }
        rest = value
        var i = digits &- 1
        while i >= 0 {
            base[end &+ i] = UInt8(truncatingIfNeeded: 48 &+ rest % 10)
            rest /= 10
            i &-= 1
        }
        end &+= digits
    }

    /// One chunk of the chunked coding (RFC 9112 §7.1); nothing for no bytes, which would end the body.
    func append(chunk p: UnsafePointer<UInt8>, _ n: Int) {
        guard n > 0 else { return }
        append(hex: UInt64(n))
        append("\r\n")
        append(p, n)
        append("\r\n")
    }

    /// Sixteen lower-case hexadecimal digits.
    func append(hex value: UInt64) {
        reserve(16)
        let raw = UnsafeMutableRawPointer(base + end)
        raw.storeBytes(of: Buffer.digits(of: UInt32(truncatingIfNeeded: value >> 32)).bigEndian, as: UInt64.self)
        raw.storeBytes(
            of: Buffer.digits(of: UInt32(truncatingIfNeeded: value)).bigEndian, toByteOffset: 8, as: UInt64.self)
        end &+= 16
    }

    /// The eight hexadecimal digits of a word, most significant first, worked out side by side in one register.
    @inline(__always)
    private static func digits(of word: UInt32) -> UInt64 {
        var x = UInt64(word)
        x = (x | x << 16) & 0x0000_ffff_0000_ffff
        x = (x | x << 8) & 0x00ff_00ff_00ff_00ff
        x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f
        // 1 in every byte that holds ten or more, which are letters.
        let letters = ((x &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        return x &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }
}

internal import CJSONTokens

/// The mixing function under every content hash: a 128-bit state that takes 16 bytes a step.
///
/// A step is one full-width multiplication, in the manner of wyhash. Unlike wyhash it adds both factors back into the
/// state, crosswise: a factor that happens to be 0 or 1 (which content can bring about) then loses nothing of what was
/// taken in before. The constants and the order of steps are part of the product's promise (the hash is stable across
/// versions); the vectors in `docs/comparison.md` pin them.
struct Mixer {
    /// 128 bits: the finished hash of a value, or what is summed for things without an order.
    typealias Digest = UInt128

    /// What it is made of what was taken in.
    struct State: BitwiseCopyable {
        var a: UInt64
        var b: UInt64
    }

    private var a: UInt64
    private var b: UInt64
    private let domain: Domain

    /// Digits of the fractional parts of square roots of primes, as in SHA-512: nothing up the sleeve.
    private static let k0: UInt64 = 0x6A09_E667_F3BC_C908
    private static let k1: UInt64 = 0xBB67_AE85_84CA_A73B
    private static let k2: UInt64 = 0x3C6E_F372_FE94_F82B
    private static let k3: UInt64 = 0xA54F_F53A_5F1D_36F1
    private static let k4: UInt64 = 0x510E_527F_ADE6_82D1
    private static let k5: UInt64 = 0x9B05_688C_2B3E_6C1F

    /// Begins a hash in a domain: values of different domains never share a hash by having the same content. The domain
    /// is taken in at the end, where no content can make up for it.
    @inline(__always)
    init(_ domain: Domain) {
        self.domain = domain
        a = Self.k0
        b = Self.k1
    }

    /// Goes on from a state of a mixer of the same domain.
    @inline(__always)
    init(_ domain: Domain, state: State) {
        self.domain = domain
        a = state.a
        b = state.b
    }

    var state: State {
        @inline(__always) get { State(a: a, b: b) }
    }

    /// Takes in 16 bytes. What was taken in before has been multiplied by then, so that order counts.
    @inline(__always)
    mutating func absorb(_ x: UInt64, _ y: UInt64) {
        let left = a ^ x
        let right = b ^ y
        let product = left.multipliedFullWidth(by: right)
        a = (product.low ^ (right << 32 | right >> 32)) &+ Self.k2
        b = (product.high ^ left) &+ Self.k3
    }

    /// Takes in a finished digest.
    @inline(__always)
    mutating func absorb(_ digest: Digest) {
        absorb(UInt64(truncatingIfNeeded: digest), UInt64(truncatingIfNeeded: digest >> 64))
    }

    /// Takes in `count` bytes at `bytes` as blocks of 16. The last block, of 0 to 15 bytes, is filled up with zeros; to
    /// tell it from bytes that are zeros, the count is to be taken in when the hash ends.
    @inline(__always)
    mutating func absorb(_ bytes: UnsafeRawPointer, count: Int) {
        let (cursor, left) = absorbWholeBlocks(bytes, count: count)
        if left >= 8 {
            absorb(Self.load8(cursor), Self.loadTail(cursor + 8, count: left - 8))
        } else {
            absorb(Self.loadTail(cursor, count: left), 0)
        }
    }

    /// Takes in bytes as ``absorb(_:count:)`` does, where 16 bytes behind them may be read: the last block is loaded whole
    /// and cut, without asking how long it is.
    @inline(__always)
    mutating func absorbReadable(_ bytes: UnsafeRawPointer, count: Int) {
        let (cursor, left) = absorbWholeBlocks(bytes, count: count)
        let (x, y) = Self.block(cursor, count: left)
        absorb(x, y)
    }

    /// - Returns: where the last block begins, and how many bytes it has.
    @inline(__always)
    private mutating func absorbWholeBlocks(
        _ bytes: UnsafeRawPointer, count: Int
    ) -> (last: UnsafeRawPointer, count: Int) {
        var cursor = bytes
        var left = count
        while left >= 16 {
            absorb(Self.load8(cursor), Self.load8(cursor + 8))
            cursor += 16
            left &-= 16
        }
        return (cursor, left)
    }

    /// The last block of bytes, of 0 to 15, where 16 may be read.
    @inline(__always)
    static func block(_ bytes: UnsafeRawPointer, count: Int) -> (UInt64, UInt64) {
        guard let kept = json_kept_bytes(count) else { return (0, 0) }
        let mask = UnsafeRawPointer(kept)
        return (load8(bytes) & load8(mask), load8(bytes + 8) & load8(mask + 8))
    }

    /// Takes in a buffer as ``absorb(_:count:)`` does; one without an address is one of no bytes.
    @inline(__always)
    mutating func absorb(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let base = bytes.baseAddress {
            absorb(base, count: bytes.count)
        } else {
            absorb(0, 0)
        }
    }

    /// Ends the hash; the domain, `x` and `y`, which must be below 2⁵⁶, are taken in as well.
    @inline(__always)
    consuming func finish(_ x: UInt64 = 0, _ y: UInt64 = 0) -> Digest {
        absorb(x ^ Self.k4, y ^ UInt64(domain.rawValue) << 56 ^ Self.k5)
        absorb(Self.k5, Self.k4)
        return Digest(b) << 64 | Digest(a)
    }

    @inline(__always)
    private static func load8(_ pointer: UnsafeRawPointer) -> UInt64 {
        pointer.loadUnaligned(as: UInt64.self).littleEndian
    }

    /// Up to seven bytes as the low bytes of a word, by loads that never leave the range.
    @inline(__always)
    private static func loadTail(_ pointer: UnsafeRawPointer, count: Int) -> UInt64 {
        if count >= 4 {
            let low = UInt64(pointer.loadUnaligned(as: UInt32.self).littleEndian)
            let high = UInt64(pointer.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self).littleEndian)
            return low | high &<< UInt64(truncatingIfNeeded: 8 * (count - 4))
        }
        var word: UInt64 = 0
        for index in 0..<count {
            word |=
                UInt64(pointer.load(fromByteOffset: index, as: UInt8.self)) &<< UInt64(truncatingIfNeeded: 8 * index)
        }
        return word
    }
}

extension Mixer {
    /// What a hash is of. The raw values are part of the hash and never change.
    enum Domain: UInt8 {
        case bytes = 1
        case json = 2
        case null = 3
        case `false` = 4
        case `true` = 5
        case string = 6
        case number = 7
        case longNumber = 8
        case array = 9
        case object = 10
        case member = 11
        case unorderedArray = 12
        case unorderedElement = 13
        case ignored = 14
        case answer = 15
        case headerLine = 16
    }
}

extension ContentHash {
    /// The finished form of a digest.
    @inline(__always)
    init(_ digest: Mixer.Digest) {
        self.init(high: UInt64(truncatingIfNeeded: digest >> 64), low: UInt64(truncatingIfNeeded: digest))
    }
}

/// SHA-1 (FIPS 180-4 §6.1) over bytes that arrive in pieces.
///
/// Here it only spreads user ids the way LaunchDarkly does; it protects nothing, so that its broken collision
/// resistance does not matter.
package struct SHA1: Sendable {
    private var a: UInt32 = 0x6745_2301
    private var b: UInt32 = 0xefcd_ab89
    private var c: UInt32 = 0x98ba_dcfe
    private var d: UInt32 = 0x1032_5476
    private var e: UInt32 = 0xc3d2_e1f0
    /// The block that is being filled, as big-endian words.
    private var block = InlineArray<16, UInt32>(repeating: 0)
    private var length: UInt64 = 0

    package init() {}

    /// Adds one byte.
    package mutating func update(byte: UInt8) {
        let position = Int(truncatingIfNeeded: length & 63)
        block[position >> 2] |= UInt32(byte) &<< UInt32(24 - 8 * (position & 3))
        length += 1
        if position == 63 { compress() }
    }

    /// Adds `count` bytes.
    package mutating func update(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        for offset in 0..<count { update(byte: bytes[offset]) }
    }

    /// The first eight of the digest's twenty bytes, big-endian; more may be added to `self` afterwards.
    package func finishedPrefix() -> UInt64 {
        var last = self
        last.pad()
        return UInt64(last.a) << 32 | UInt64(last.b)
    }

    /// The whole digest as five words.
    package func finished() -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        var last = self
        last.pad()
        return (last.a, last.b, last.c, last.d, last.e)
    }

    private mutating func pad() {
        let bits = length &* 8
        update(byte: 0x80)
        while length & 63 != 56 { update(byte: 0) }
        block[14] = UInt32(truncatingIfNeeded: bits >> 32)
        block[15] = UInt32(truncatingIfNeeded: bits)
        compress()
    }

    private mutating func compress() {
        var words = InlineArray<80, UInt32>(repeating: 0)
        for index in 0..<16 { words[index] = block[index] }
        for index in 16..<80 {
            let word = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            words[index] = SHA1.rotated(word, 1)
        }
        var (v, w, x, y, z) = (a, b, c, d, e)
        for index in 0..<80 {
            let (mixed, constant) = SHA1.round(index, w, x, y)
            let next = SHA1.rotated(v, 5) &+ mixed &+ z &+ constant &+ words[index]
            z = y
            y = x
            x = SHA1.rotated(w, 30)
            w = v
            v = next
        }
        a = a &+ v
        b = b &+ w
        c = c &+ x
        d = d &+ y
        e = e &+ z
        block = InlineArray<16, UInt32>(repeating: 0)
    }

    /// The function and the constant of a round (FIPS 180-4 §4.1.1, §4.2.1).
    private static func round(_ index: Int, _ x: UInt32, _ y: UInt32, _ z: UInt32) -> (UInt32, UInt32) {
        switch index {
        case ..<20: ((x & y) ^ (~x & z), 0x5a82_7999)
        case ..<40: (x ^ y ^ z, 0x6ed9_eba1)
        case ..<60: ((x & y) ^ (x & z) ^ (y & z), 0x8f1b_bcdc)
        default: (x ^ y ^ z, 0xca62_c1d6)
        }
    }

    private static func rotated(_ word: UInt32, _ bits: UInt32) -> UInt32 {
        (word &<< bits) | (word &>> (32 &- bits))
    }
}

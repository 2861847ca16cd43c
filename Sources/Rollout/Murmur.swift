/// MurmurHash3_x86_32 over bytes that arrive in pieces (Austin Appleby, public domain).
///
/// The state after the salt is kept, so that a request hashes only the bytes of its user id. No piece is copied: the up
/// to three bytes that do not fill a word yet are carried in `pending`.
package struct Murmur3: Sendable {
    private var hash: UInt32
    /// Bytes that do not fill a word yet, lowest first.
    private var pending: UInt32 = 0
    private var pendingBits: UInt32 = 0
    private var length: UInt32 = 0

    package init(seed: UInt32 = 0) { hash = seed }

    /// Adds `count` bytes.
    @inline(__always)
    package mutating func update(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        length &+= UInt32(truncatingIfNeeded: count)
        let raw = UnsafeRawPointer(bytes)
        var offset = 0
        if pendingBits == 0 {
            while count - offset >= 4 {
                mix(UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
                offset += 4
            }
        } else {
            // 8, 16 or 24 bits wait: each word is theirs and the low part of the next, whose high part waits in turn.
            while count - offset >= 4 {
                let next = UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                mix(pending | (next &<< pendingBits))
                pending = next &>> (32 &- pendingBits)
                offset += 4
            }
        }
        while offset < count {
            append(bytes[offset])
            offset += 1
        }
    }

    /// Adds one byte.
    @inline(__always)
    package mutating func update(byte: UInt8) {
        length &+= 1
        append(byte)
    }

    /// The hash of everything added so far; more may be added afterwards.
    @inline(__always)
    package func finished() -> UInt32 {
        var h = hash
        if pendingBits != 0 { h ^= Murmur3.scrambled(pending) }
        h ^= length
        h ^= h &>> 16
        h = h &* 0x85eb_ca6b
        h ^= h &>> 13
        h = h &* 0xc2b2_ae35
        h ^= h &>> 16
        return h
    }

    @inline(__always)
    private mutating func append(_ byte: UInt8) {
        pending |= UInt32(byte) &<< pendingBits
        pendingBits &+= 8
        if pendingBits == 32 {
            mix(pending)
            pending = 0
            pendingBits = 0
        }
    }

    @inline(__always)
    private mutating func mix(_ word: UInt32) {
        hash ^= Murmur3.scrambled(word)
        hash = (hash &<< 13) | (hash &>> 19)
        hash = hash &* 5 &+ 0xe654_6b64
    }

    @inline(__always)
    private static func scrambled(_ word: UInt32) -> UInt32 {
        let k = word &* 0xcc9e_2d51
        return ((k &<< 15) | (k &>> 17)) &* 0x1b87_3593
    }
}

/// MurmurHash2, 32 bits, seed 0: nginx's `ngx_murmur_hash2`.
///
/// The start value is the total length, which is known only with the user id: the state after the salt cannot be kept.
package struct Murmur2 {
    private static let multiplier: UInt32 = 0x5bd1_e995

    private var hash: UInt32
    private var pending: UInt32 = 0
    private var pendingBits: UInt32 = 0

    /// Starts a hash of `totalLength` bytes in all.
    package init(totalLength: Int) { hash = UInt32(truncatingIfNeeded: totalLength) }

    /// Adds `count` bytes.
    package mutating func update(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        for offset in 0..<count {
            pending |= UInt32(bytes[offset]) &<< pendingBits
            pendingBits &+= 8
            if pendingBits == 32 { mixPending() }
        }
    }

    /// The hash; `totalLength` bytes must have been added.
    package func finished() -> UInt32 {
        var h = hash
        if pendingBits != 0 { h = (h ^ pending) &* Murmur2.multiplier }
        h ^= h &>> 13
        h = h &* Murmur2.multiplier
        h ^= h &>> 15
        return h
    }

    private mutating func mixPending() {
        var k = pending &* Murmur2.multiplier
        k ^= k &>> 24
        k = k &* Murmur2.multiplier
        hash = (hash &* Murmur2.multiplier) ^ k
        pending = 0
        pendingBits = 0
    }
}

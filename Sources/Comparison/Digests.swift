/// How each kind of value becomes a digest: the definition of the content hash, shared by the one-pass hasher and the
/// trees that find differences.
enum Digests {
    @inline(__always)
    static func literal(_ domain: Mixer.Domain) -> Mixer.Digest {
        Mixer(domain).finish()
    }

    @inline(__always)
    static func string(_ bytes: UnsafeBufferPointer<UInt8>) -> Mixer.Digest {
        var mixer = Mixer(.string)
        mixer.absorb(bytes)
        return mixer.finish(UInt64(truncatingIfNeeded: bytes.count))
    }

    @inline(__always)
    static func number(_ number: CanonicalNumber, longDigits: UnsafePointer<UInt8>) -> Mixer.Digest {
        var mixer: Mixer
        if number.longCount == 0 {
            mixer = Mixer(.number)
            mixer.absorb(number.digits, UInt64(truncatingIfNeeded: number.exponent))
        } else {
            mixer = Mixer(.longNumber)
            mixer.absorb(longDigits, count: number.longCount)
            mixer.absorb(UInt64(truncatingIfNeeded: number.longCount), UInt64(truncatingIfNeeded: number.exponent))
        }
        return mixer.finish(UInt64(truncatingIfNeeded: number.exponent >> 64), number.isNegative ? 1 : 0)
    }

    /// A number of up to 19 digits and a small power of ten.
    @inline(__always)
    static func number(_ digits: UInt64, exponent: Int, isNegative: Bool) -> Mixer.Digest {
        var mixer = Mixer(.number)
        guard digits != 0 else {
            mixer.absorb(0, 0)
            return mixer.finish()
        }
        var digits = digits
        var exponent = exponent
        while let tenth = tenth(of: digits) {
            digits = tenth
            exponent &+= 1
        }
        mixer.absorb(digits, UInt64(bitPattern: Int64(exponent)))
        return mixer.finish(UInt64(bitPattern: Int64(exponent &>> 63)), isNegative ? 1 : 0)
    }

    /// A member's mixer that has taken in its key. Members are summed, so each is mixed as strongly as a whole document:
    /// nothing of the sum cancels unless whole members are equal, and members of one object have different keys.
    @inline(__always)
    static func member(key: Mixer.Digest) -> Mixer {
        var mixer = Mixer(.member)
        mixer.absorb(key)
        return mixer
    }

    @inline(__always)
    static func member(key: Mixer.Digest, value: Mixer.Digest) -> Mixer.Digest {
        var mixer = member(key: key)
        mixer.absorb(value)
        return mixer.finish()
    }

    @inline(__always)
    static func object(sum: Mixer.Digest, count: Int) -> Mixer.Digest {
        var mixer = Mixer(.object)
        mixer.absorb(sum)
        return mixer.finish(UInt64(truncatingIfNeeded: count))
    }

    @inline(__always)
    static func unorderedElement(_ value: Mixer.Digest) -> Mixer.Digest {
        var mixer = Mixer(.unorderedElement)
        mixer.absorb(value)
        return mixer.finish()
    }

    @inline(__always)
    static func unorderedArray(sum: Mixer.Digest, count: Int) -> Mixer.Digest {
        var mixer = Mixer(.unorderedArray)
        mixer.absorb(sum)
        return mixer.finish(UInt64(truncatingIfNeeded: count))
    }

    /// Ends the digest of an ordered array: the mixer has taken in the elements one after the other.
    @inline(__always)
    static func array(_ mixer: consuming Mixer, count: Int) -> Mixer.Digest {
        mixer.finish(UInt64(truncatingIfNeeded: count))
    }

    /// The whole document: JSON and bytes never share a hash.
    @inline(__always)
    static func document(_ root: Mixer.Digest) -> ContentHash {
        var mixer = Mixer(.json)
        mixer.absorb(root)
        return ContentHash(mixer.finish())
    }

    /// A number divided by ten, nil when there is a remainder: multiples of five are what the inverse of five makes small
    /// (Torbjörn Granlund, Peter Montgomery: Division by Invariant Integers using Multiplication, 1994, §9).
    @inline(__always)
    static func tenth(of number: UInt64) -> UInt64? {
        let fifth = number &* 0xCCCC_CCCC_CCCC_CCCD
        let tenth = fifth >> 1 | fifth << 63
        return tenth <= UInt64.max / 10 ? tenth : nil
    }
}

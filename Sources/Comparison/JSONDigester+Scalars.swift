internal import CJSONTokens

extension JSONDigester {
    /// The digest of the string that is next; few strings hold escapes.
    @inline(__always)
    mutating func string() throws(NotJSON) -> Mixer.Digest {
        let next = tokens.next
        let start = next[0] + 1
        let close = next[1]
        // One comparison for all loads of 16 bytes, the last of which may reach beyond the string.
        guard close.pointee == UInt8(ascii: "\""), close + 16 <= end else { return try anyString() }
        tokens.next = next + 2
        var mixer = Mixer(.string)
        mixer.absorbReadable(UnsafeRawPointer(start), count: close - start)
        return mixer.finish(UInt64(truncatingIfNeeded: close - start))
    }

    @inline(never)
    private mutating func anyString() throws(NotJSON) -> Mixer.Digest {
        Digests.string(try stringValue())
    }

    /// The value of the string that is next: its own bytes in the document, or the scratch storage when it holds escapes.
    mutating func stringValue() throws(NotJSON) -> UnsafeBufferPointer<UInt8> {
        let start = tokens.next[0] + 1
        let close = tokens.next[1]
        if close.pointee == UInt8(ascii: "\"") {
            tokens.next += 2
            return UnsafeBufferPointer(start: start, count: close - start)
        }
        var cursor = JSONCursor(start - 1, count: end - start + 1)
        let string = try cursor.scanString()
        // On to the token behind the closing quote.
        let behind = cursor.base + cursor.position
        repeat {
            tokens.next += 1
            try lookAhead()
        } while tokens.next.pointee < behind && !tokens.isEmpty
        text.reserve(string.count)
        return UnsafeBufferPointer(start: text.base, count: cursor.decode(string, into: text.base))
    }

    /// The digest of the number or literal that is next.
    @inline(never)
    mutating func scalar() throws(NotJSON) -> Mixer.Digest {
        let start = tokens.next.pointee
        let first = start.pointee
        if first <= UInt8(ascii: "9") {
            // A zero is the end, or no JSON either: not to be read on from.
            guard first != 0 else { throw NotJSON() }
            guard let number = shortNumber(start) else { return try anyNumber(start) }
            try endScalar(number.end)
            return number.digest
        }
        switch first {
        case UInt8(ascii: "t"): return try literal("true", .true)
        case UInt8(ascii: "f"): return try literal("false", .false)
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: throw NotJSON()
        }
    }

    @inline(never)
    private mutating func anyNumber(_ start: UnsafePointer<UInt8>) throws(NotJSON) -> Mixer.Digest {
        var cursor = JSONCursor(start, count: end - start)
        let number = cursor.canonical(try cursor.scanNumber(), scratch: &text)
        try endScalar(start + cursor.position)
        return Digests.number(number, longDigits: text.base)
    }

    @inline(__always)
    private mutating func literal(_ text: StaticString, _ domain: Mixer.Domain) throws(NotJSON) -> Mixer.Digest {
        var cursor = JSONCursor(tokens.next.pointee, count: end - tokens.next.pointee)
        try cursor.expect(literal: text)
        try endScalar(cursor.base + cursor.position)
        return Digests.literal(domain)
    }

    /// Passes over the token of a number or literal that ends here: white space, the next token or the end has to follow.
    @inline(__always)
    private mutating func endScalar(_ place: UnsafePointer<UInt8>) throws(NotJSON) {
        tokens.next += 1
        guard tokens.next.pointee == place || place == end || JSONCursor.isWhitespace(place.pointee) else {
            throw NotJSON()
        }
    }

    /// The digest of a number of at most 19 digits, and at most 7 in its exponent, that is far enough from the document's
    /// end to be read by words, and where it ends; nil for others, and for what is no number.
    @inline(__always)
    private func shortNumber(
        _ start: UnsafePointer<UInt8>
    ) -> (digest: Mixer.Digest, end: UnsafePointer<UInt8>)? {
        // Seven words of digits, two signs, a point, an E.
        guard end - start >= 64 else { return nil }
        let isNegative = start.pointee == UInt8(ascii: "-")
        var place = start + (isNegative ? 1 : 0)
        let integer = place
        var digits: UInt64 = 0
        guard Self.takeDigits(&place, &digits) else { return nil }
        var count = place - integer
        guard count > 0, integer.pointee != UInt8(ascii: "0") || count == 1 else { return nil }
        var exponent = 0
        if place.pointee == UInt8(ascii: ".") {
            place += 1
            let fraction = place
            guard Self.takeDigits(&place, &digits) else { return nil }
            exponent = fraction - place
            guard exponent < 0 else { return nil }
            count &-= exponent
        }
        guard count <= 19 else { return nil }
        if place.pointee | 0x20 == UInt8(ascii: "e") {
            guard let power = Self.takeExponent(&place) else { return nil }
            exponent &+= power
        }
        return (Digests.number(digits, exponent: exponent, isNegative: isNegative), place)
    }

    /// Passes over an exponent of up to seven digits; nil for others.
    @inline(__always)
    private static func takeExponent(_ place: inout UnsafePointer<UInt8>) -> Int? {
        place += 1
        let sign = place.pointee
        if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            place += 1
        }
        let start = place
        var power = 0
        while place - start < 8 {
            let digit = place.pointee &- UInt8(ascii: "0")
            guard digit <= 9 else {
                guard place > start else { return nil }
                return sign == UInt8(ascii: "-") ? 0 &- power : power
            }
            power = power &* 10 &+ Int(digit)
            place += 1
        }
        return nil
    }

    /// Passes over up to 23 digits and joins them to `digits`; false when there are more.
    @inline(__always)
    private static func takeDigits(_ place: inout UnsafePointer<UInt8>, _ digits: inout UInt64) -> Bool {
        for _ in 0..<3 {
            let word = UnsafeRawPointer(place).loadUnaligned(as: UInt64.self).littleEndian
            // Each byte's value if it is a digit; others have, or get by the sum, their highest bit. A carry reaches only
            // bytes behind the first that is no digit.
            let values = word ^ 0x3030_3030_3030_3030
            let others = ((values &+ 0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080
            let bits = others.trailingZeroBitCount & ~7
            if bits == 64 {
                digits = digits &* 100_000_000 &+ Self.joined(values)
                place += 8
                continue
            }
            // Digits go to the top of the word, zeros in front of them; in two shifts, because there may be none.
            let joined = Self.joined((values &<< UInt64(truncatingIfNeeded: 56 &- bits)) &<< 8)
            digits = digits &* json_power_of_ten(UInt32(truncatingIfNeeded: bits &>> 3)) &+ joined
            place += bits &>> 3
            return true
        }
        return false
    }

    /// The number that eight digits make, the first in the lowest byte: to pairs, to fours, to eight.
    @inline(__always)
    private static func joined(_ digits: UInt64) -> UInt64 {
        let pairs = (digits &* 10 &+ digits &>> 8) & 0x00FF_00FF_00FF_00FF
        let fours = (pairs &* 100 &+ pairs &>> 16) & 0x0000_FFFF_0000_FFFF
        return (fours &* 10_000 &+ fours &>> 32) & 0xFFFF_FFFF
    }
}

/// A number as it is written in a document.
struct JSONNumber {
    var isNegative = false
    /// Where the digits begin: those before the point, then, behind the point, those after it.
    var start = 0
    var integerDigits = 0
    var fractionDigits = 0
    /// All digits as one integer; meaningful up to 19 of them, which always fit.
    var digits: UInt64 = 0
    /// The power of ten by which the digits, taken as one integer, are to be multiplied. It wraps at 128 bits: exponents
    /// of more than 38 digits are told apart by their remainder only.
    var exponent: Int128 = 0
}

/// The one form that all spellings of a number share: sign, digits without zeros at either end, power of ten.
///
/// Nothing is rounded, and the cost depends on the length of the text, not on the size of the exponent. Zero is
/// `0 × 10⁰` without a sign: `-0`, `0.0` and `0e9` are 0, as they are for every comparison of numbers.
struct CanonicalNumber {
    /// Digits beyond the 19 that surely fit into `digits`; then they are in the scratch bytes, this many.
    var longCount = 0
    var digits: UInt64
    var exponent: Int128
    var isNegative: Bool
}

extension JSONCursor {
    /// Passes over a number (RFC 8259 §6).
    @inline(__always)
    mutating func scanNumber() throws(NotJSON) -> JSONNumber {
        var number = JSONNumber()
        if current == UInt8(ascii: "-") {
            number.isNegative = true
            position &+= 1
        }
        number.start = position
        if current == UInt8(ascii: "0") {
            position &+= 1
            number.integerDigits = 1
        } else {
            number.integerDigits = scanDigits(&number.digits)
            guard number.integerDigits > 0 else { throw NotJSON() }
        }
        if current == UInt8(ascii: ".") {
            position &+= 1
            number.fractionDigits = scanDigits(&number.digits)
            guard number.fractionDigits > 0 else { throw NotJSON() }
        }
        if current | 0x20 == UInt8(ascii: "e") {
            number.exponent = try scanExponent()
        }
        number.exponent &-= Int128(truncatingIfNeeded: number.fractionDigits)
        return number
    }

    @inline(__always)
    private mutating func scanDigits(_ value: inout UInt64) -> Int {
        let start = position
        while position &+ 8 <= end, let eight = Self.eightDigits(word(position)) {
            value = value &* 100_000_000 &+ eight
            position &+= 8
        }
        while position < end {
            let digit = base[position] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            value = value &* 10 &+ UInt64(digit)
            position &+= 1
        }
        return position &- start
    }

    /// The value of eight digits, or nil when the word is anything else. Neighbours are joined in three steps: to pairs,
    /// to fours, to eight.
    @inline(__always)
    private static func eightDigits(_ word: UInt64) -> UInt64? {
        let highHalves: UInt64 = 0xF0F0_F0F0_F0F0_F0F0
        let threes: UInt64 = 0x3030_3030_3030_3030
        // A byte is a digit when its high half is 3, and still is after 6 has been added.
        guard word & highHalves == threes, (word &+ 0x0606_0606_0606_0606) & highHalves == threes else { return nil }
        let digits = word & 0x0F0F_0F0F_0F0F_0F0F
        let pairs = (digits &* 10 &+ digits &>> 8) & 0x00FF_00FF_00FF_00FF
        let fours = (pairs &* 100 &+ pairs &>> 16) & 0x0000_FFFF_0000_FFFF
        return (fours &* 10_000 &+ fours &>> 32) & 0xFFFF_FFFF
    }

    @inline(never)
    private mutating func scanExponent() throws(NotJSON) -> Int128 {
        position &+= 1
        let sign = current
        if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
            position &+= 1
        }
        let start = position
        var value: Int128 = 0
        while position < end {
            let digit = base[position] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            value = value &* 10 &+ Int128(truncatingIfNeeded: digit)
            position &+= 1
        }
        guard position > start else { throw NotJSON() }
        return sign == UInt8(ascii: "-") ? 0 &- value : value
    }

    /// Brings a number into its canonical form. Up to 19 digits this takes a few instructions; `scratch` takes the digits
    /// of longer ones.
    @inline(__always)
    func canonical(_ number: JSONNumber, scratch: inout Storage<UInt8>) -> CanonicalNumber {
        guard number.integerDigits &+ number.fractionDigits <= 19 else {
            return longCanonical(number, scratch: &scratch)
        }
        return Self.canonical(digits: number.digits, exponent: number.exponent, isNegative: number.isNegative)
    }

    @inline(__always)
    private static func canonical(digits: UInt64, exponent: Int128, isNegative: Bool) -> CanonicalNumber {
        guard digits != 0 else { return CanonicalNumber(digits: 0, exponent: 0, isNegative: false) }
        var result = CanonicalNumber(digits: digits, exponent: exponent, isNegative: isNegative)
        while true {
            let (quotient, remainder) = result.digits.quotientAndRemainder(dividingBy: 10)
            guard remainder == 0 else { return result }
            result.digits = quotient
            result.exponent &+= 1
        }
    }

    @inline(never)
    private func longCanonical(_ number: JSONNumber, scratch: inout Storage<UInt8>) -> CanonicalNumber {
        scratch.reserve(number.integerDigits + number.fractionDigits)
        var count = 0
        func take(_ range: Range<Int>) {
            for index in range where count > 0 || base[index] != UInt8(ascii: "0") {
                scratch.base[count] = base[index]
                count += 1
            }
        }
        let point = number.start + number.integerDigits
        take(number.start..<point)
        if number.fractionDigits > 0 {
            take(point + 1..<point + 1 + number.fractionDigits)
        }
        var trailing = 0
        while count > 0, scratch.base[count - 1] == UInt8(ascii: "0") {
            count -= 1
            trailing += 1
        }
        let exponent = number.exponent &+ Int128(truncatingIfNeeded: trailing)
        if count > 19 {
            return CanonicalNumber(longCount: count, digits: 0, exponent: exponent, isNegative: number.isNegative)
        }
        var value: UInt64 = 0
        for index in 0..<count {
            value = value &* 10 &+ UInt64(scratch.base[index] &- UInt8(ascii: "0"))
        }
        return Self.canonical(digits: value, exponent: exponent, isNegative: number.isNegative)
    }
}

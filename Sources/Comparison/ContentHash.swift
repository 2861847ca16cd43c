/// A 128-bit hash of content: equal for equal content, stable across versions of Cutover and across machines.
///
/// It tells content apart; it is not a cryptographic hash and proves nothing against whoever can choose the content.
package struct ContentHash: Sendable, Hashable, CustomStringConvertible {
    /// The first 16 hex digits.
    package let high: UInt64
    /// The last 16 hex digits.
    package let low: UInt64

    /// Makes a hash of its two halves.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 32 hex digits of either case; nil for anything else.
    package init?(hex: some StringProtocol) {
        let digits = Array(hex.utf8)
        guard digits.count == 32 else { return nil }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for (index, digit) in digits.enumerated() {
            guard let value = hexDigitValue(digit) else { return nil }
            if index < 16 {
                halves.high = halves.high << 4 | UInt64(value)
            } else {
                halves.low = halves.low << 4 | UInt64(value)
            }
        }
        self.init(high: halves.high, low: halves.low)
    }

    /// 32 lower-case hex digits.
    package var hex: String {
        String(unsafeUninitializedCapacity: 32) { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            writeHex(to: base)
            return 32
        }
    }

    package var description: String { hex }

    /// Writes 32 lower-case hex digits to `destination`, which must have room for them. Allocates nothing.
    package func writeHex(to destination: UnsafeMutablePointer<UInt8>) {
        for index in 0..<16 {
            let shift = UInt64(60 - 4 * index)
            destination[index] = hexDigit(UInt8(truncatingIfNeeded: high >> shift) & 15)
            destination[16 + index] = hexDigit(UInt8(truncatingIfNeeded: low >> shift) & 15)
        }
    }
}

/// The lower-case digit of a value below 16.
@inline(__always)
func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}

/// The value of a hex digit of either case, or nil.
@inline(__always)
func hexDigitValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): return digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): return digit - UInt8(ascii: "A") + 10
    default: return nil
    }
}

import Comparison

/// The content hash as `docs/comparison.md` defines it, computed from a tree without regard to speed: what the one-pass
/// hash has to come to, bit for bit.
struct ReferenceHash {
    private var a: UInt64 = 0x6A09_E667_F3BC_C908
    private var b: UInt64 = 0xBB67_AE85_84CA_A73B

    /// The hash of a document; nil when the bytes are not JSON.
    static func json(_ bytes: [UInt8], rules: ComparisonRules = ComparisonRules()) -> ContentHash? {
        ReferenceParser.parse(bytes, rules: rules).map { value in
            let digest = finished(2, [words(of: Self.digest(value))])
            return ContentHash(high: UInt64(truncatingIfNeeded: digest >> 64), low: UInt64(truncatingIfNeeded: digest))
        }
    }

    private mutating func take(_ x: UInt64, _ y: UInt64) {
        let (left, right) = (a ^ x, b ^ y)
        let (high, low) = left.multipliedFullWidth(by: right)
        a = (low ^ (right << 32 | right >> 32)) &+ 0x3C6E_F372_FE94_F82B
        b = (high ^ left) &+ 0xA54F_F53A_5F1D_36F1
    }

    private static func finished(
        _ domain: UInt64, _ blocks: [(UInt64, UInt64)], _ x: UInt64 = 0, _ y: UInt64 = 0
    ) -> UInt128 {
        let (k4, k5): (UInt64, UInt64) = (0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F)
        var mixer = ReferenceHash()
        for block in blocks { mixer.take(block.0, block.1) }
        mixer.take(x ^ k4, y ^ k5 ^ domain << 56)
        mixer.take(k5, k4)
        return UInt128(mixer.b) << 64 | UInt128(mixer.a)
    }

    private static func words(of digest: UInt128) -> (UInt64, UInt64) {
        (UInt64(truncatingIfNeeded: digest), UInt64(truncatingIfNeeded: digest >> 64))
    }

    private static func blocks(of data: [UInt8]) -> [(UInt64, UInt64)] {
        stride(from: 0, through: data.count, by: 16).map { start in
            var words: [UInt64] = [0, 0]
            for (index, byte) in data[start...].prefix(16).enumerated() {
                words[index / 8] |= UInt64(byte) << UInt64(8 * (index % 8))
            }
            return (words[0], words[1])
        }
    }

    /// UTF-8, where a lone surrogate has the three bytes of its code point.
    private static func bytes(of units: [UInt16]) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = units[...]
        while let unit = rest.popFirst() {
            if unit & 0xFC00 == 0xD800, let low = rest.first, low & 0xFC00 == 0xDC00 {
                rest.removeFirst()
                bytes += Array(String(decoding: [unit, low], as: UTF16.self).utf8)
            } else if unit & 0xF800 == 0xD800 {
                bytes += [0xED, 0x80 | UInt8(unit >> 6 & 0x3F), 0x80 | UInt8(unit & 0x3F)]
            } else {
                bytes += Array(String(decoding: [unit], as: UTF16.self).utf8)
            }
        }
        return bytes
    }

    private static func string(_ units: [UInt16]) -> UInt128 {
        let bytes = bytes(of: units)
        return finished(6, blocks(of: bytes), UInt64(bytes.count))
    }

    private static func number(_ isNegative: Bool, _ digits: String, _ exponent: Int) -> UInt128 {
        let low = UInt64(bitPattern: Int64(exponent))
        let high: UInt64 = exponent < 0 ? .max : 0
        if digits.isEmpty { return finished(7, [(0, 0)]) }
        if digits.count <= 19, let value = UInt64(digits) {
            return finished(7, [(value, low)], high, isNegative ? 1 : 0)
        }
        return finished(8, blocks(of: Array(digits.utf8)) + [(UInt64(digits.count), low)], high, isNegative ? 1 : 0)
    }

    private static func digest(_ value: ReferenceValue) -> UInt128 {
        switch value {
        case .null: return finished(3, [])
        case .bool(let isTrue): return finished(isTrue ? 5 : 4, [])
        case .number(let isNegative, let digits, let exponent): return number(isNegative, digits, exponent)
        case .string(let units): return string(units)
        case .array(let elements):
            return finished(9, elements.map { words(of: digest($0)) }, UInt64(elements.count))
        case .object(let members):
            let sum = members.reduce(0 as UInt128) {
                $0 &+ finished(11, [words(of: string($1.key)), words(of: digest($1.value))])
            }
            return finished(10, [words(of: sum)], UInt64(members.count))
        case .multiset(let elements):
            let sum = elements.reduce(0 as UInt128) {
                $0 &+ finished(13, [words(of: digest($1.key))]) &* UInt128($1.value)
            }
            return finished(12, [words(of: sum)], UInt64(elements.values.reduce(0, +)))
        case .ignored: return finished(14, [])
        }
    }
}

/// FNV-1a, 32 bits (draft-eastlake-fnv), over bytes that arrive in pieces.
package struct FNV1a: Sendable {
    package private(set) var value: UInt32 = 0x811c_9dc5

    package init() {}

    /// Adds one byte.
    @inline(__always)
    package mutating func update(byte: UInt8) { value = (value ^ UInt32(byte)) &* 0x0100_0193 }

    /// Adds `count` bytes.
    package mutating func update(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        for offset in 0..<count { update(byte: bytes[offset]) }
    }

    /// Adds the decimal digits of a number, most significant first.
    package mutating func update(decimal number: UInt32) {
        var divisor: UInt32 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            update(byte: UInt8(truncatingIfNeeded: 0x30 + number / divisor % 10))
            divisor /= 10
        }
    }
}

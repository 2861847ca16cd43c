internal import Journal

/// 64 bits that stand for a lane, or for a user's idempotency key, in the shared store: the number that gateways lock, and by
/// which they find each other's changes.
///
/// SipHash-2-4 (Aumasson and Bernstein, 2012) over a tag, the user's length and bytes, and the record's bytes, keyed with the
/// seeds of the store (`cutover_schema`). Unlike `LaneKey` every gateway gets the same number. Should two lanes ever share one,
/// they become one lane: the order only gets stricter. The seeds are random, so nobody outside can choose such a pair.
struct LaneHash: Sendable {
    let low: UInt64
    let high: UInt64

    init(low: Int64, high: Int64) {
        self.low = UInt64(bitPattern: low)
        self.high = UInt64(bitPattern: high)
    }

    /// The lanes of a change, as `LaneKey.lanes` has them: its records, else its user, else the anonymous lane.
    func lanes(user: String?, records: [String]) -> [Int64] {
        if !records.isEmpty { return records.map { hash(user == nil ? 1 : 0, user ?? "", $0) } }
        if let user { return [hash(2, user, "")] }
        return [hash(3, "", "")]
    }

    /// What a user's idempotency key is locked by.
    func key(_ key: String, user: String?) -> Int64 { hash(4, user ?? "", key) }

    private func hash(_ tag: UInt8, _ first: String, _ second: String) -> Int64 {
        var bytes: [UInt8] = [tag]
        bytes.reserveCapacity(16 + first.utf8.count + second.utf8.count)
        withUnsafeBytes(of: UInt64(first.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: first.utf8)
        bytes.append(contentsOf: second.utf8)
        return Int64(bitPattern: Self.sipHash(bytes, low, high))
    }

    static func sipHash(_ bytes: [UInt8], _ low: UInt64, _ high: UInt64) -> UInt64 {
        var state = SipState(low, high)
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            word |= UInt64(byte) << UInt64(8 * (index % 8))
            if index % 8 == 7 {
                state.take(word)
                word = 0
            }
        }
        state.take(word | UInt64(bytes.count & 0xFF) << 56)
        return state.finish()
    }
}

private struct SipState {
    private var (v0, v1, v2, v3): (UInt64, UInt64, UInt64, UInt64)

    init(_ low: UInt64, _ high: UInt64) {
        v0 = low ^ 0x736f_6d65_7073_6575
        v1 = high ^ 0x646f_7261_6e64_6f6d
        v2 = low ^ 0x6c79_6765_6e65_7261
        v3 = high ^ 0x7465_6462_7974_6573
    }

    mutating func take(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    mutating func finish() -> UInt64 {
        v2 ^= 0xFF
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotated(v1, 13) ^ v0
        v0 = Self.rotated(v0, 32)
        v2 &+= v3
        v3 = Self.rotated(v3, 16) ^ v2
        v0 &+= v3
        v3 = Self.rotated(v3, 21) ^ v0
        v2 &+= v1
        v1 = Self.rotated(v1, 17) ^ v2
        v2 = Self.rotated(v2, 32)
    }

    private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 - count) }
}

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of short inputs. Without the key nobody can tell whose hash
/// it is by trying names.
struct SipHash: Sendable, Equatable {
    private let key: (UInt64, UInt64)

    /// The key.
    var words: (UInt64, UInt64) { key }

    init(_ first: UInt64, _ second: UInt64) { key = (first, second) }

    /// A key made of a secret of any length.
    init(secret: [UInt8]) {
        let parts = [UInt64(0), 1].map { part in
            secret.withUnsafeBufferPointer { bytes in
                bytes.baseAddress.map { SipHash(part, 0).hash($0, bytes.count) } ?? part
            }
        }
        self.init(parts[0], parts[1])
    }

    static func == (one: SipHash, other: SipHash) -> Bool { one.key == other.key }

    private struct State {
        var (v0, v1, v2, v3): (UInt64, UInt64, UInt64, UInt64)

        mutating func round() {
            v0 = v0 &+ v1
            v1 = (v1 << 13 | v1 >> 51) ^ v0
            v0 = v0 << 32 | v0 >> 32
            v2 = v2 &+ v3
            v3 = (v3 << 16 | v3 >> 48) ^ v2
            v0 = v0 &+ v3
            v3 = (v3 << 21 | v3 >> 43) ^ v0
            v2 = v2 &+ v1
            v1 = (v1 << 17 | v1 >> 47) ^ v2
            v2 = v2 << 32 | v2 >> 32
        }

        mutating func take(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }
    }

    func hash(_ p: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        var state = State(
            v0: key.0 ^ 0x736f_6d65_7073_6575, v1: key.1 ^ 0x646f_7261_6e64_6f6d, v2: key.0 ^ 0x6c79_6765_6e65_7261,
            v3: key.1 ^ 0x7465_6462_7974_6573)
        var at = 0
        while count - at >= 8 {
            state.take(word(p + at, 8))
            at += 8
        }
        state.take(word(p + at, count - at) | UInt64(truncatingIfNeeded: count) << 56)
        state.v2 ^= 0xff
        for _ in 0..<4 { state.round() }
        return state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    }

    /// Up to eight bytes, the first one lowest.
    private func word(_ p: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        var word: UInt64 = 0
        for i in 0..<count { word |= UInt64(p[i]) << UInt64(8 * i) }
        return word
    }
}

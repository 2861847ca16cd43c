import CLinux

/// SplitMix64, seeded from the clock and an address: for request ids and jitter, never for secrets.
struct LoopRandom {
    private var state: UInt64

    init() {
        var local = 0
        let address = withUnsafePointer(to: &local) { UInt64(UInt(bitPattern: $0)) }
        state = clinux_monotonic_nanoseconds() ^ (UInt64(bitPattern: clinux_wall_milliseconds()) << 20) ^ (address << 1)
    }

    /// The same numbers for the same seed, for tests.
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// An id for a span of a trace; never zero, which would be none (W3C Trace Context §3.2.2.4).
    mutating func span() -> UInt64 {
        let id = next()
        return id == 0 ? 1 : id
    }

    /// 0..<1
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}

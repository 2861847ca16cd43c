import Telemetry
import Testing

/// A small generator with a seed, so that a failure can be played again (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A duration in ns whose logarithm is even between 1 µs and 100 s: as many short as long ones.
    mutating func duration() -> UInt64 {
        let exponent = Int.random(in: 10...36, using: &self)
        return UInt64.random(in: (1 << exponent)...(2 << exponent), using: &self)
    }
}

/// A second in ns.
let second: UInt64 = 1_000_000_000

/// The snapshot of one block.
func snapshot(_ block: LoopMetrics) -> MetricsSnapshot { MetricsSnapshot(of: [block]) }

/// The number of a cell that is not zero, for each such cell outside the histograms.
func touched(_ block: LoopMetrics) -> [Int: UInt64] {
    var result: [Int: UInt64] = [:]
    for cell in 0..<Cells.histograms where block.value(cell) != 0 { result[cell] = block.value(cell) }
    return result
}

import Telemetry
import TestSupport
import Testing

extension SeededGenerator {
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

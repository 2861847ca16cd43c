/// Where an observation lies: log-linear cells, 32 to a power of two, cut once more at the bounds of the classic
/// Prometheus buckets.
///
/// An observation's cell is its log-linear index plus the number of classic bounds below it. Both grow with the value,
/// so cells stay in order, a cell is never wider than 1/32 of its value (1.024 µs below 32 µs), and the classic buckets
/// are exact although only one cell is counted.
@usableFromInline package enum HistogramLayout {
    /// Upper bounds of the classic buckets in seconds, as they are printed. 0.3 is the default gate on writes.
    package static let boundLabels = [
        "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.3", "0.5", "1", "2.5", "5",
        "10",
    ]

    /// The same in nanoseconds.
    package static let bounds: [UInt64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        300_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    /// Log-linear cells: 32 of 1.024 µs, then 27 powers of two from 32.768 µs to 2^42 ns (73 minutes).
    @inlinable package static var logLinearCount: Int { 896 }

    /// All cells.
    @inlinable package static var count: Int { 911 }

    /// What is longer counts as this long (2^42 − 1 ns, 73 minutes).
    @inlinable package static var maximum: UInt64 { (1 << 42) - 1 }

    /// The log-linear cell of an observation that is not above `maximum`.
    @inlinable @inline(__always)
    package static func logLinear(_ nanoseconds: UInt64) -> Int {
        let units = nanoseconds >> 10
        guard units >= 32 else { return Int(truncatingIfNeeded: units) }
        let exponent = 63 - units.leadingZeroBitCount
        return (exponent - 4) &* 32 &+ Int(truncatingIfNeeded: (units >> UInt64(exponent - 5)) & 31)
    }

    /// The smallest observation of a log-linear cell, in ns.
    package static func logLinearLower(_ cell: Int) -> UInt64 {
        guard cell >= 32 else { return UInt64(cell) << 10 }
        return UInt64(32 + cell % 32) << UInt64(cell / 32 - 1 + 10)
    }

    /// The cell of an observation, by comparing with every bound: the slow twin of `HistogramIndex.cell`.
    package static func cell(_ nanoseconds: UInt64) -> Int {
        let value = min(nanoseconds, maximum)
        return logLinear(value) + bounds.count { $0 < value }
    }

    /// The smallest observation of each cell in ns, and one more entry that closes the last cell.
    ///
    /// A cell that no observation can reach is empty: it begins where the next one does.
    package static let lowerEdges: [UInt64] = {
        var edges = [UInt64](repeating: .max, count: count + 1)
        edges[count] = maximum + 1
        let starts = (0..<logLinearCount).map(logLinearLower) + bounds.map { $0 + 1 }
        for start in starts { edges[cell(start)] = min(edges[cell(start)], start) }
        for cell in (0..<count).reversed() where edges[cell] == .max { edges[cell] = edges[cell + 1] }
        return edges
    }()
}

/// Finds cells without searching: a table of ranks and the bounds, in memory that one owner frees.
///
/// Owned by `LoopMetrics`; `@unchecked` there covers it, because the tables never change after `init`.
@usableFromInline package struct HistogramIndex {
    /// For each log-linear cell, how many classic bounds lie below its smallest observation.
    @usableFromInline package let ranks: UnsafeMutablePointer<UInt8>
    /// The classic bounds in ns, closed by one that nothing exceeds.
    @usableFromInline package let bounds: UnsafeMutablePointer<UInt64>

    /// Allocates and fills the tables; the owner calls `deallocate` once.
    package init() {
        ranks = .allocate(capacity: HistogramLayout.logLinearCount)
        bounds = .allocate(capacity: HistogramLayout.bounds.count + 1)
        for cell in 0..<HistogramLayout.logLinearCount {
            let lower = HistogramLayout.logLinearLower(cell)
            (ranks + cell).initialize(to: UInt8(HistogramLayout.bounds.count { $0 < lower }))
        }
        for (position, bound) in HistogramLayout.bounds.enumerated() { (bounds + position).initialize(to: bound) }
        (bounds + HistogramLayout.bounds.count).initialize(to: .max)
    }

    /// Frees the tables.
    package func deallocate() {
        ranks.deallocate()
        bounds.deallocate()
    }

    /// The cell of an observation.
    ///
    /// One comparison is enough after the table: no log-linear cell holds two bounds.
    @inlinable @inline(__always)
    package func cell(_ nanoseconds: UInt64) -> Int {
        let value = min(nanoseconds, HistogramLayout.maximum)
        let logLinear = HistogramLayout.logLinear(value)
        let rank = Int(ranks[logLinear])
        return logLinear &+ rank &+ (value > bounds[rank] ? 1 : 0)
    }
}

/// Durations counted in the cells of `HistogramLayout`: a plain value, for one thread.
package struct Histogram: Sendable, Equatable {
    /// Observations by cell.
    package private(set) var counts: [UInt64]
    /// Sum of all observations, in ns.
    package private(set) var sumNanoseconds: UInt64

    /// An empty histogram.
    package init() {
        counts = [UInt64](repeating: 0, count: HistogramLayout.count)
        sumNanoseconds = 0
    }

    /// Takes counts over as they are.
    ///
    /// - Precondition: `counts` has `HistogramLayout.count` entries.
    package init(counts: [UInt64], sumNanoseconds: UInt64) {
        precondition(counts.count == HistogramLayout.count, "a histogram has HistogramLayout.count cells")
        self.counts = counts
        self.sumNanoseconds = sumNanoseconds
    }

    /// How many observations it holds.
    package var count: UInt64 { counts.reduce(0, &+) }

    /// Sum of all observations, in seconds.
    package var sumSeconds: Double { Double(sumNanoseconds) / 1e9 }

    /// Counts an observation.
    package mutating func record(nanoseconds: UInt64) {
        counts[HistogramLayout.cell(nanoseconds)] &+= 1
        sumNanoseconds &+= nanoseconds
    }

    /// What was observed since `earlier`, which must be an earlier reading of the same histogram.
    ///
    /// A cell that went down (it cannot, with one source) counts as unchanged.
    package func subtracting(_ earlier: Histogram) -> Histogram {
        var result = self
        for cell in counts.indices {
            result.counts[cell] = counts[cell] >= earlier.counts[cell] ? counts[cell] - earlier.counts[cell] : 0
        }
        result.sumNanoseconds =
            sumNanoseconds >= earlier.sumNanoseconds ? sumNanoseconds - earlier.sumNanoseconds : 0
        return result
    }

    /// The observations of both.
    package func adding(_ other: Histogram) -> Histogram {
        var result = self
        for cell in counts.indices { result.counts[cell] &+= other.counts[cell] }
        result.sumNanoseconds &+= other.sumNanoseconds
        return result
    }

    /// Observations that were certainly longer: those of cells that lie wholly above `seconds`.
    ///
    /// Exact at the bounds of `HistogramLayout`, where a cell ends; elsewhere what shares a cell with `seconds` is left out,
    /// so that nobody is blamed for an observation that may not have been too long.
    package func countAbove(seconds: Double) -> UInt64 {
        let limit = (seconds * 1e9).rounded()
        var result: UInt64 = 0
        for cell in counts.indices where counts[cell] > 0 && Double(HistogramLayout.lowerEdges[cell]) > limit {
            result &+= counts[cell]
        }
        return result
    }

    /// The duration that a share of the observations does not exceed, in seconds; nil with no observation.
    ///
    /// The observation of rank ⌈quantile × count⌉ is looked up, and its place within its cell interpolated as if the
    /// cell's observations were spread evenly, the last of them at the upper edge. The result lies in the same cell as
    /// the exact value: it differs from it by at most 1/32 (1.024 µs below 32 µs), rather upwards. What is above
    /// `HistogramLayout.maximum` counts as that.
    ///
    /// - Parameter quantile: 0…1.
    package func quantile(_ quantile: Double) -> Double? {
        let total = count
        guard total > 0 else { return nil }
        let rank = max(1, min(total, UInt64((quantile * Double(total)).rounded(.up))))
        var below: UInt64 = 0
        for cell in counts.indices where counts[cell] > 0 {
            guard below + counts[cell] >= rank else {
                below += counts[cell]
                continue
            }
            let lower = Double(HistogramLayout.lowerEdges[cell])
            let upper = Double(HistogramLayout.lowerEdges[cell + 1] - 1)
            return (lower + (upper - lower) * Double(rank - below) / Double(counts[cell])) / 1e9
        }
        return nil
    }

    /// Observations not above each of `HistogramLayout.bounds`: exact and cumulative. `+Inf` is `count`.
    package var cumulative: [UInt64] {
        var result: [UInt64] = []
        result.reserveCapacity(HistogramLayout.bounds.count)
        var running: UInt64 = 0
        var next = 0
        for bound in HistogramLayout.bounds {
            let last = HistogramLayout.cell(bound)
            while next <= last {
                running &+= counts[next]
                next += 1
            }
            result.append(running)
        }
        return result
    }
}

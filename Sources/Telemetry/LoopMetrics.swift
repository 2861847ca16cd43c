public import Synchronization

/// The counters, gauges and histograms of one event loop (or of the control plane).
///
/// One thread writes, any thread may read at any time. A cell is changed by a relaxed load and a relaxed store: plain
/// moves without a lock prefix, right because there is one writer. A reader may see one cell of an event changed and
/// another not yet; nothing is ever torn or lost. No call allocates. Durations are nanoseconds of a monotonic clock.
///
/// `@usableFromInline` on the type and on its stored properties is what makes `@inlinable` count across modules: Swift 6.3
/// accepts `@inlinable package` members of a plain `package` type and quietly does not inline them. With it, counting a
/// read is one instruction in the caller.
@usableFromInline package final class LoopMetrics: @unchecked Sendable {
    /// `Cells.count` cells in one block that begins on its own cache line.
    @usableFromInline package let cells: UnsafeMutablePointer<Atomic<UInt64>>
    /// Where an observation lies in its histogram.
    @usableFromInline package let histogramIndex: HistogramIndex

    /// A block of zeros.
    package init() {
        let bytes = Cells.count * MemoryLayout<Atomic<UInt64>>.stride
        // 128: a pair of cache lines, because processors prefetch them in pairs; two loops never share one.
        let raw = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 128)
        cells = raw.bindMemory(to: Atomic<UInt64>.self, capacity: Cells.count)
        for position in 0..<Cells.count { (cells + position).initialize(to: Atomic(0)) }
        histogramIndex = HistogramIndex()
    }

    deinit {
        cells.deinitialize(count: Cells.count)
        UnsafeMutableRawPointer(cells).deallocate()
        histogramIndex.deallocate()
    }

    /// Adds to a cell. Writer's thread only.
    @inlinable @inline(__always)
    package func add(_ cell: Int, _ amount: UInt64 = 1) {
        let value = cells[cell].load(ordering: .relaxed)
        cells[cell].store(value &+ amount, ordering: .relaxed)
    }

    /// Moves a gauge up or down. Writer's thread only; a cell may hold a negative number in two's complement, the sum
    /// over the loops is what counts.
    @inlinable @inline(__always)
    package func adjust(_ cell: Int, by delta: Int) {
        add(cell, UInt64(bitPattern: Int64(delta)))
    }

    /// Reads a cell. Any thread.
    @inlinable @inline(__always)
    package func value(_ cell: Int) -> UInt64 { cells[cell].load(ordering: .relaxed) }

    /// Counts an observation in one of the histograms of `Cells`. Writer's thread only.
    @inlinable
    package func observe(_ histogram: Int, nanoseconds: UInt64) {
        let base = Cells.histograms &+ histogram &* Cells.histogramStride
        add(base &+ histogramIndex.cell(nanoseconds))
        add(base &+ Cells.histogramSum, nanoseconds)
    }
}

/// The last minutes of the cumulative numbers, so that their growth over the plan's window can be told.
///
/// Owned by the control plane's thread, which pushes a snapshot every second. Bounded by `slotLimit`: with a longer
/// window the slots lie further apart (window ÷ 120), and so much older than the window its oldest sample may be. Time
/// is nanoseconds of a monotonic clock, as argument.
package struct SlidingWindow: Sendable {
    /// Slots within a window. At most two more are held, its beginning and its end: about 1.8 MB together.
    package static let slotLimit = 120

    /// The span that the figures cover once the window is full, in ns.
    package let window: UInt64
    /// The least distance between two slots, in ns.
    package let resolution: UInt64

    private struct Slot: Sendable {
        let time: UInt64
        let counts: FigureCounts
    }
    /// Oldest first, never empty. The first is the baseline of the figures once it is older than the window.
    private var slots: [Slot]

    /// A window that begins now.
    ///
    /// - Parameters:
    ///   - window: span in ns, at least 1.
    ///   - now: the present, ns.
    ///   - cumulative: what has been counted so far.
    package init(window: UInt64, now: UInt64, cumulative: MetricsSnapshot) {
        self.window = max(1, window)
        resolution = max(1, self.window / UInt64(Self.slotLimit))
        slots = [Slot(time: now, counts: FigureCounts(cumulative))]
    }

    /// Slots held now.
    package var slotCount: Int { slots.count }

    /// Forgets everything before now: the window is warming up again.
    package mutating func restart(now: UInt64, cumulative: MetricsSnapshot) {
        slots = [Slot(time: now, counts: FigureCounts(cumulative))]
    }

    /// Keeps a snapshot, unless the last one is younger than `resolution`.
    package mutating func push(now: UInt64, cumulative: MetricsSnapshot) {
        guard let last = slots.last, now >= last.time, now - last.time >= resolution else { return }
        slots.append(Slot(time: now, counts: FigureCounts(cumulative)))
        let expired = slots.dropFirst().prefix { now - $0.time >= window }.count
        slots.removeFirst(expired)
    }

    /// The figures from one window ago (or from the start, while it is younger) until now.
    package func figures(now: UInt64, cumulative: MetricsSnapshot) -> FourFigures {
        let old = slots.last { now >= $0.time && now - $0.time >= window }
        guard let baseline = old ?? slots.first else { return FourFigures() }
        var figures = FigureCounts(cumulative).figures(since: baseline.counts)
        figures.coveredSeconds = now >= baseline.time ? Double(now - baseline.time) / 1e9 : 0
        figures.windowFull = old != nil
        return figures
    }
}

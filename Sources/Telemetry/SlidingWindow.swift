/// The last minutes of the cumulative numbers, so that their growth over the plan's window can be told.
///
/// Owned by the control plane's thread, which pushes a snapshot every second. Bounded by `slotLimit`: with a longer
/// window the slots lie further apart (window ÷ 120), and so much older than the window its oldest sample may be. Time
/// is nanoseconds of a monotonic clock, as argument.
package struct SlidingWindow: Sendable {
    /// Slots within a window. At most two more are held, its beginning and its end: about 3.6 MB together.
    package static let slotLimit = 120

    /// The span that the figures cover once the window is full, in ns.
    package let window: UInt64
    /// The least distance between two slots, in ns; marks may lie closer, but not on average.
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
        append(Slot(time: now, counts: FigureCounts(cumulative)))
    }

    /// Keeps a snapshot whatever the resolution, so that figures since now begin exactly here.
    ///
    /// It takes the place of the slot before it where slots would else lie closer than `resolution` on average: figures since
    /// that one then begin here, too.
    package mutating func mark(now: UInt64, cumulative: MetricsSnapshot) {
        guard let last = slots.last, now > last.time else { return }
        let slot = Slot(time: now, counts: FigureCounts(cumulative))
        if slots.count > 1, now - slots[slots.count - 2].time < 2 * resolution {
            slots[slots.count - 1] = slot
        } else {
            append(slot)
        }
    }

    private mutating func append(_ slot: Slot) {
        slots.append(slot)
        let expired = slots.dropFirst().prefix { slot.time - $0.time >= window }.count
        slots.removeFirst(expired)
    }

    /// The figures from one window ago (or from the start, while it is younger) until now; see `evidence`.
    package func figures(now: UInt64, cumulative: MetricsSnapshot, since: UInt64? = nil) -> FourFigures {
        evidence(now: now, cumulative: cumulative, since: since).figures
    }

    /// What was counted from one window ago (or from the start, while it is younger) until now.
    ///
    /// - Parameters:
    ///   - now: the present, ns.
    ///   - cumulative: what has been counted so far.
    ///   - since: nothing from before this instant counts, such as the begin of a stage. The span begins with the first slot
    ///     that is not older: exactly there where `mark` was called, at most a `resolution` later where it was not. Without
    ///     such a slot nothing is covered yet.
    package func evidence(now: UInt64, cumulative: MetricsSnapshot, since: UInt64? = nil) -> FigureEvidence {
        let old = slots.last { now >= $0.time && now - $0.time >= window }
        var baseline = old ?? slots.first
        if let since, let found = baseline, found.time < since { baseline = slots.first { $0.time >= since } }
        guard let baseline else { return FigureEvidence() }
        var evidence = FigureEvidence()
        evidence.counts = FigureCounts(cumulative).subtracting(baseline.counts)
        evidence.coveredSeconds = now >= baseline.time ? Double(now - baseline.time) / 1e9 : 0
        evidence.windowFull = old.map { $0.time >= baseline.time } ?? false
        return evidence
    }
}

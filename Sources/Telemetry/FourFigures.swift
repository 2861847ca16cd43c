/// One figure over the window.
package struct Figure: Sendable, Equatable {
    /// The ratio (0…1) or duration (s); nil with no sample, printed as NaN.
    package var value: Double?
    /// How many events it rests on: the denominator of a ratio, the observations of a quantile.
    package var samples: UInt64

    /// A figure as given.
    package init(value: Double?, samples: UInt64) {
        self.value = value
        self.samples = samples
    }

    /// No event, so no value.
    package static let none = Figure(value: nil, samples: 0)

    /// A ratio; no denominator, no value.
    ///
    /// Never above 1: an event whose denominator was counted just before the window began counts as one within it.
    package static func ratio(_ part: UInt64, of whole: UInt64) -> Figure {
        guard whole > 0 else { return .none }
        return Figure(value: min(1, Double(part) / Double(whole)), samples: whole)
    }

    /// The 95th percentile of durations, in seconds; no observation, no value.
    package static func p95(_ durations: Histogram) -> Figure {
        Figure(value: durations.quantile(0.95), samples: durations.count)
    }
}

/// The figures by which an operator decides the next step (contract §10), over one window.
package struct FourFigures: Sendable, Equatable {
    /// Reads that failed at a backend ÷ reads sent there.
    package var readErrorRatio = ByBackend(legacy: Figure.none, new: .none)
    /// Reads whose client finally saw a 5xx or an answer that broke off ÷ reads, by the side that they were meant for.
    package var clientReadErrorRatio = ByBackend(legacy: Figure.none, new: .none)
    /// The same of both sides together.
    package var allClientReadErrorRatio = Figure.none
    /// Writes whose client finally saw a 5xx or an answer that broke off ÷ writes, by the side that they were meant for.
    package var clientWriteErrorRatio = ByBackend(legacy: Figure.none, new: .none)
    /// 95th percentile of what clients waited for writes, by the side that they were meant for, in seconds.
    package var writeP95Seconds = ByBackend(legacy: Figure.none, new: .none)
    /// The same of both sides together.
    package var allWritesP95Seconds = Figure.none
    /// 95th percentile of single authoritative legs, by backend, in seconds: without the journal, the queue and the client.
    package var legP95Seconds = ByBackend(legacy: Figure.none, new: .none)
    /// Writes with a conflict ÷ writes received.
    package var conflictRatio = Figure.none
    /// Conflicts by who noticed them; one write may be in several. Every source is there.
    package var conflictsBySource: [ConflictSource: UInt64] = zeros()
    /// Fallbacks ÷ requests of users on new.
    package var fallbackRatio = Figure.none
    /// Fallbacks by what new did wrong. Every reason is there.
    package var fallbacksByReason: [FallbackReason: UInt64] = zeros()
    /// Fallbacks by kind of request. Every kind is there.
    package var fallbacksByKind: [ClientKind: UInt64] = zeros()
    /// Lasting mismatches ÷ shadow reads compared: the fifth gate's figure.
    package var mismatchRatio = Figure.none
    /// The span that these figures cover, in seconds.
    package var coveredSeconds: Double = 0
    /// False while the span is shorter than the window, after a start or a restart of the window.
    package var windowFull = false

    /// No sample anywhere.
    package init() {}

    /// What a gate on a figure by backend looks at: new once new has `minSamples`, else legacy (contract §10).
    package static func watched(
        _ figure: ByBackend<Figure>, minSamples: UInt64
    ) -> (backend: Backend, figure: Figure) {
        figure.new.samples >= max(1, minSamples) ? (.new, figure.new) : (.legacy, figure.legacy)
    }
}

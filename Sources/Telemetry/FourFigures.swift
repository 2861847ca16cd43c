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
}

/// The figures by which an operator decides the next step (contract §10), over one window.
package struct FourFigures: Sendable, Equatable {
    /// Reads that failed at a backend ÷ reads sent there.
    package var readErrorRatio = ByBackend(legacy: Figure.none, new: .none)
    /// 95th percentile of what clients waited for writes, by authoritative backend, in seconds.
    package var writeP95Seconds = ByBackend(legacy: Figure.none, new: .none)
    /// Writes with a conflict ÷ writes received.
    package var conflictRatio = Figure.none
    /// Fallbacks ÷ requests of users on new.
    package var fallbackRatio = Figure.none
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

/// The cumulative numbers under the four figures: what a slot of the window keeps of a snapshot (about 15 KB of 125
/// KB).
package struct FigureCounts: Sendable {
    package var reads: ByBackend<UInt64>
    package var readErrors: ByBackend<UInt64>
    package var clientWrites: ByBackend<Histogram>
    package var writesReceived: UInt64
    package var conflictedWrites: UInt64
    package var requestsOfNewUsers: UInt64
    package var fallbacks: UInt64
    package var compared: UInt64
    package var mismatched: UInt64

    /// Takes what the figures need.
    package init(_ snapshot: MetricsSnapshot) {
        func reads(_ backend: Backend) -> UInt64 {
            snapshot.reads(backend, failed: false) &+ snapshot.reads(backend, failed: true)
        }
        self.reads = ByBackend(legacy: reads(.legacy), new: reads(.new))
        readErrors = ByBackend(
            legacy: snapshot.reads(.legacy, failed: true), new: snapshot.reads(.new, failed: true))
        clientWrites = ByBackend(
            legacy: snapshot.histogram(Cells.clientWriteDuration + Backend.legacy.index),
            new: snapshot.histogram(Cells.clientWriteDuration + Backend.new.index))
        writesReceived = snapshot.writesReceived
        conflictedWrites = snapshot.conflictedWrites
        requestsOfNewUsers = snapshot.requestsOfNewUsers
        fallbacks = snapshot.fallbacks
        compared = snapshot.compared
        mismatched = snapshot.shadow(.mismatch)
    }

    /// The figures of what was counted since `earlier`.
    package func figures(since earlier: FigureCounts) -> FourFigures {
        func since(_ path: KeyPath<FigureCounts, UInt64>) -> UInt64 {
            let (now, then) = (self[keyPath: path], earlier[keyPath: path])
            return now >= then ? now - then : 0
        }
        func writes(_ backend: Backend) -> Figure {
            let histogram = clientWrites[backend].subtracting(earlier.clientWrites[backend])
            return Figure(value: histogram.quantile(0.95), samples: histogram.count)
        }
        var figures = FourFigures()
        figures.readErrorRatio.legacy = .ratio(since(\.readErrors.legacy), of: since(\.reads.legacy))
        figures.readErrorRatio.new = .ratio(since(\.readErrors.new), of: since(\.reads.new))
        figures.writeP95Seconds = ByBackend(legacy: writes(.legacy), new: writes(.new))
        figures.conflictRatio = .ratio(since(\.conflictedWrites), of: since(\.writesReceived))
        figures.fallbackRatio = .ratio(since(\.fallbacks), of: since(\.requestsOfNewUsers))
        figures.mismatchRatio = .ratio(since(\.mismatched), of: since(\.compared))
        return figures
    }
}

/// What a judge of the rollout goes by: the raw counts of one span, and what span that is.
package struct FigureEvidence: Sendable, Equatable {
    /// What was counted within the span.
    package var counts = FigureCounts()
    /// The length of the span, in seconds.
    package var coveredSeconds: Double = 0
    /// False while the span is shorter than the window: after a start, a restart of the window, or `since`.
    package var windowFull = false

    /// Nothing seen yet.
    package init() {}

    /// The figures that these counts come to.
    package var figures: FourFigures {
        var figures = FourFigures()
        for backend in Backend.allCases {
            figures.readErrorRatio[backend] = counts.reads[backend].figure
            figures.clientReadErrorRatio[backend] = counts.clientReads[backend].figure
            figures.clientWriteErrorRatio[backend] = counts.clientWrites[backend].figure
            figures.writeP95Seconds[backend] = .p95(counts.clientWriteDurations[backend])
            figures.legP95Seconds[backend] = .p95(counts.authoritativeLegDurations[backend])
        }
        figures.allClientReadErrorRatio = counts.clientReads.legacy.adding(counts.clientReads.new).figure
        figures.allWritesP95Seconds = .p95(
            counts.clientWriteDurations.legacy.adding(counts.clientWriteDurations.new))
        figures.conflictRatio = counts.conflicted.figure
        figures.conflictsBySource = counts.conflictsBySource
        figures.fallbackRatio = counts.fallbacks.figure
        figures.fallbacksByReason = counts.fallbacksByReason
        figures.fallbacksByKind = counts.fallbacksByKind
        figures.mismatchRatio = counts.mismatched.figure
        figures.coveredSeconds = coveredSeconds
        figures.windowFull = windowFull
        return figures
    }
}

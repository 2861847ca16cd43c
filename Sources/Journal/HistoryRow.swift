/// What happened at one gateway in one span of time: sums, the last reading of what goes up and down, and the worst p95.
///
/// Rates are not kept: a rate is numerator ÷ denominator of whatever rows are looked at together, and where nothing was
/// counted there is none.
package struct HistoryRow: Sendable, Equatable {
    /// A number by backend.
    package struct Pair: Sendable, Equatable {
        package var legacy: Int64
        package var new: Int64

        package init(legacy: Int64 = 0, new: Int64 = 0) {
            self.legacy = legacy
            self.new = new
        }
    }

    package var resolution: HistoryResolution
    /// When the span begins, in milliseconds since 1970.
    package var atMilliseconds: Int64
    /// The gateway that counted, by the name that its data directory gives it.
    package var instance: String

    /// How much of the span the gateway saw. Less than all of it next to a gap; more where the clock went back.
    package var coveredMilliseconds: Int64 = 0
    /// How much of that was under load: seconds in which at least one client got an answer.
    package var loadMilliseconds: Int64 = 0
    /// Reads sent to a backend as the serving side, and those of them that failed there, before any fallback.
    package var reads = Pair()
    package var readErrors = Pair()
    /// Reads for which the client got a 5xx after all.
    package var clientErrors: Int64 = 0
    /// Writes answered, by authoritative side.
    package var writes = Pair()
    package var writesReceived: Int64 = 0
    /// Writes with a conflict; a write counts once.
    package var conflicts: Int64 = 0
    /// Requests of users on new, and those of them that legacy answered after all.
    package var newRequests: Int64 = 0
    package var fallbacks: Int64 = 0
    /// Shadow reads that were compared, and lasting differences among them.
    package var compared: Int64 = 0
    package var mismatched: Int64 = 0

    package var percentHundredths: Int64 = 0
    package var generation: Int64 = 0
    /// Outstanding legs.
    package var pending = Pair()
    package var parked: Int64 = 0
    /// Empty without a plan.
    package var stage = ""
    package var state = ""

    /// 95th percentile of what clients waited for writes, by authoritative side, in microseconds; nil without a write.
    package var writeP95Legacy: Int64?
    package var writeP95New: Int64?

    package init(_ resolution: HistoryResolution, atMilliseconds: Int64, instance: String) {
        self.resolution = resolution
        self.atMilliseconds = atMilliseconds
        self.instance = instance
    }

    /// This row and one that came after it, as one: sums add, what goes up and down is as it was last, the p95 is the largest.
    package func merged(with later: HistoryRow) -> HistoryRow {
        var result = self
        for figure in HistoryFigure.all {
            let (mine, other) = (figure.value(self), figure.value(later))
            switch figure.merging {
            case .sum: figure.set(&result, (mine ?? 0) + (other ?? 0))
            case .last: figure.set(&result, other)
            case .largest: figure.set(&result, [mine, other].compactMap { $0 }.max())
            }
        }
        for text in HistoryFigure.texts { result[keyPath: text.path] = later[keyPath: text.path] }
        return result
    }

    /// Whether both are about the same span of the same gateway.
    package func isOfSameSpan(as other: HistoryRow) -> Bool {
        resolution == other.resolution && atMilliseconds == other.atMilliseconds && instance == other.instance
    }

    /// Where a page goes on after this row.
    package var cursor: HistoryCursor { HistoryCursor(atMilliseconds: atMilliseconds, instance: instance) }
}

/// A place in the history, newest first; rows of the same span come in the reverse order of their gateways' names.
package struct HistoryCursor: Sendable, Equatable {
    package var atMilliseconds: Int64
    package var instance: String

    package init(atMilliseconds: Int64, instance: String) {
        self.atMilliseconds = atMilliseconds
        self.instance = instance
    }

    /// Whether a row comes after this place. Names compare by their bytes, as in the stores.
    package func isBefore(_ row: HistoryRow) -> Bool {
        guard row.atMilliseconds == atMilliseconds else { return row.atMilliseconds < atMilliseconds }
        return row.instance.utf8.lexicographicallyPrecedes(instance.utf8)
    }
}

/// How long a span of the history is. Spans are aligned to the clock: those of a minute begin at full minutes.
package enum HistoryResolution: Int64, Sendable, CaseIterable {
    case tenSeconds = 10
    case minute = 60
    case tenMinutes = 600

    /// The length of a span, in seconds.
    package var seconds: Int64 { rawValue }
    /// The length of a span, in milliseconds.
    package var milliseconds: Int64 { rawValue * 1000 }

    /// How long rows are kept, in milliseconds.
    package var keptMilliseconds: Int64 {
        switch self {
        case .tenSeconds: 3 * 3_600_000
        case .minute: 3 * 86_400_000
        case .tenMinutes: 90 * 86_400_000
        }
    }

    /// Where the span begins that holds this moment; both in milliseconds since 1970.
    package func begin(of milliseconds: Int64) -> Int64 {
        let into = milliseconds % self.milliseconds
        return milliseconds - (into < 0 ? into + self.milliseconds : into)
    }

    /// The finest one whose rows go back so far; nil when none does.
    package static func reaching(back milliseconds: Int64) -> HistoryResolution? {
        allCases.first { $0.keptMilliseconds >= milliseconds }
    }
}

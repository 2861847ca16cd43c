/// One number of a `HistoryRow`, the column in which a store keeps it, and how two rows of the same span become one.
///
/// Rows, statements and moves from store to store are all made from this list, so that none of them can forget a figure.
package struct HistoryFigure: Sendable {
    package enum Merging: Sendable { case sum, last, largest }

    package let column: String
    package let merging: Merging
    package let value: @Sendable (HistoryRow) -> Int64?
    package let set: @Sendable (inout HistoryRow, Int64?) -> Void

    private init(_ column: String, _ merging: Merging, _ path: any WritableKeyPath<HistoryRow, Int64> & Sendable) {
        self.column = column
        self.merging = merging
        value = { $0[keyPath: path] }
        set = { $0[keyPath: path] = $1 ?? 0 }
    }

    private init(_ column: String, largest path: any WritableKeyPath<HistoryRow, Int64?> & Sendable) {
        self.column = column
        merging = .largest
        value = { $0[keyPath: path] }
        set = { $0[keyPath: path] = $1 }
    }

    package static let all: [HistoryFigure] = [
        HistoryFigure("covered_milliseconds", .sum, \.coveredMilliseconds),
        HistoryFigure("load_milliseconds", .sum, \.loadMilliseconds),
        HistoryFigure("reads_legacy", .sum, \.reads.legacy), HistoryFigure("reads_new", .sum, \.reads.new),
        HistoryFigure("read_errors_legacy", .sum, \.readErrors.legacy),
        HistoryFigure("read_errors_new", .sum, \.readErrors.new),
        HistoryFigure("client_errors", .sum, \.clientErrors),
        HistoryFigure("writes_legacy", .sum, \.writes.legacy), HistoryFigure("writes_new", .sum, \.writes.new),
        HistoryFigure("writes_received", .sum, \.writesReceived), HistoryFigure("conflicts", .sum, \.conflicts),
        HistoryFigure("new_requests", .sum, \.newRequests), HistoryFigure("fallbacks", .sum, \.fallbacks),
        HistoryFigure("compared", .sum, \.compared), HistoryFigure("mismatched", .sum, \.mismatched),
        HistoryFigure("percent_hundredths", .last, \.percentHundredths),
        HistoryFigure("generation", .last, \.generation),
        HistoryFigure("pending_legacy", .last, \.pending.legacy), HistoryFigure("pending_new", .last, \.pending.new),
        HistoryFigure("parked", .last, \.parked),
        HistoryFigure("write_p95_legacy_microseconds", largest: \.writeP95Legacy),
        HistoryFigure("write_p95_new_microseconds", largest: \.writeP95New),
    ]

    /// What goes up and down and is no number; the last one counts.
    package static let texts: [(column: String, path: any WritableKeyPath<HistoryRow, String> & Sendable)] = [
        ("stage", \.stage), ("state", \.state),
    ]

    /// The columns that tell a row from every other.
    package static let keys = ["resolution", "at", "instance"]

    /// Every column, keys first: the order of all statements.
    package static let columns = keys + all.map(\.column) + texts.map(\.column)

    /// What an SQL statement says about a row whose span is stored already (`ON CONFLICT … DO UPDATE SET`): what
    /// `HistoryRow.merged(with:)` says.
    /// - Parameter largest: the function that gives the larger of two values that are not null.
    package static func assignments(largest function: String) -> String {
        let numbers = all.map { figure in
            let (old, new) = ("history.\(figure.column)", "excluded.\(figure.column)")
            return switch figure.merging {
            case .sum: "\(figure.column) = \(old) + \(new)"
            case .last: "\(figure.column) = \(new)"
            case .largest: "\(figure.column) = \(function)(coalesce(\(old), \(new)), coalesce(\(new), \(old)))"
            }
        }
        return (numbers + texts.map { "\($0.column) = excluded.\($0.column)" }).joined(separator: ", ")
    }
}

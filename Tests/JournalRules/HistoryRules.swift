import Journal
import Testing

/// What holds for the history of the figures.
package enum HistoryRules {
    package static let all = [
        JournalRule("rowsOfTheSameSpanBecomeOneOverRestarts", rowsOfTheSameSpanBecomeOneOverRestarts),
        JournalRule("pagesGoBackThroughSpansAndGateways", pagesGoBackThroughSpansAndGateways),
        JournalRule("whatIsOldGoesAFewRowsAtATime", whatIsOldGoesAFewRowsAtATime),
        JournalRule("aFreshStoreHasNoHistory", aFreshStoreHasNoHistory),
    ]

    private static let now: Int64 = 1_764_500_000_000

    /// Every row of a resolution, by pages of an odd size.
    private static func everything(
        _ store: any JournalStore, _ resolution: HistoryResolution, page: Int = 37
    ) throws -> [HistoryRow] {
        var rows: [HistoryRow] = []
        while true {
            let found = try store.history(resolution, from: .min, before: rows.last?.cursor, limit: page)
            rows += found
            if found.count < page { return rows }
        }
    }

    static func rowsOfTheSameSpanBecomeOneOverRestarts(_ open: JournalOpener) throws {
        for seed in 1...4 as ClosedRange<UInt64> {
            // Names of its own for each seed: rows of one must not meet those of another.
            var history = RandomHistory(seed: seed, start: now, instances: ["a\(seed)", "b\(seed)"])
            var plain = HistoryResolution.allCases.map { HistoryWindow($0, capacity: .max) }
            for _ in 0..<12 {
                let store = try open()
                for _ in 0..<4 {
                    let rows = (0..<history.number(0...6)).flatMap { _ in HistoryRollup.rows(from: history.next()) }
                    // Not later than the rows: nothing is removed.
                    try store.appendHistory(rows, now: now - 20_000_000)
                    for row in rows { for index in plain.indices { plain[index].add(row) } }
                }
            }
            let store = try open()
            for window in plain {
                let found = try everything(store, window.resolution).filter { $0.instance.hasSuffix("\(seed)") }
                #expect(found == window.rows.reversed(), "seed \(seed), \(window.resolution)")
            }
        }
    }

    static func pagesGoBackThroughSpansAndGateways(_ open: JournalOpener) throws {
        let store = try open()
        var rows: [HistoryRow] = []
        for span in 0..<7 as Range<Int64> {
            for name in ["", "Z", "a", "é"] {
                var row = HistoryRow(.minute, atMilliseconds: now + span * 60_000, instance: name)
                row.writesReceived = span
                rows.append(row)
            }
        }
        try store.appendHistory(rows.shuffled(), now: now)
        try store.appendHistory([HistoryRow(.tenMinutes, atMilliseconds: now, instance: "a")], now: now)
        let newestFirst = Array(rows.reversed())
        for page in [1, 3, 4, 5, 28, 100] { #expect(try everything(store, .minute, page: page) == newestFirst) }
        #expect(
            try store.history(.minute, from: now + 3 * 60_000, before: nil, limit: 100)
                == Array(newestFirst.prefix(16)))
        let after = HistoryCursor(atMilliseconds: now + 2 * 60_000, instance: "a")
        #expect(try store.history(.minute, from: now, before: after, limit: 2).map(\.instance) == ["Z", ""])
        #expect(try store.history(.tenSeconds, from: .min, before: nil, limit: 9) == [])
    }

    static func whatIsOldGoesAFewRowsAtATime(_ open: JournalOpener) throws {
        let store = try open()
        for resolution in HistoryResolution.allCases {
            let oldest = resolution.begin(of: now - resolution.keptMilliseconds)
            let rows = (-70...1).map { span in
                HistoryRow(
                    resolution, atMilliseconds: oldest + Int64(span) * resolution.milliseconds, instance: "a")
            }
            try store.appendHistory(rows, now: 0)
        }
        func counts() throws -> [Int] { try HistoryResolution.allCases.map { try everything(store, $0).count } }
        #expect(try counts() == [72, 72, 72])
        try store.appendHistory([], now: now)
        #expect(try counts() == Array(repeating: 72 - historyPruneRows, count: 3))
        try store.appendHistory([], now: now)
        // What is left has begun within the time, or just when it began.
        for resolution in HistoryResolution.allCases {
            let oldest = now - resolution.keptMilliseconds
            let left = try everything(store, resolution)
            #expect(left.allSatisfy { $0.atMilliseconds >= oldest } && (1...2).contains(left.count))
        }
    }

    static func aFreshStoreHasNoHistory(_ open: JournalOpener) throws {
        let store = try open()
        try store.appendHistory([], now: now)
        for resolution in HistoryResolution.allCases { #expect(try everything(store, resolution) == []) }
    }
}

import TestSupport
import Testing

@testable import Journal

private func random(_ generator: inout SeededGenerator, at: Int64, instance: String) -> HistoryRow {
    var row = HistoryRow(.tenSeconds, atMilliseconds: at, instance: instance)
    for figure in HistoryFigure.all {
        let isThere = figure.merging != .largest || Bool.random(using: &generator)
        figure.set(&row, isThere ? .random(in: 0...1_000, using: &generator) : nil)
    }
    row.stage = Bool.random(using: &generator) ? "canary" : "half"
    return row
}

@Suite struct HistoryRows {
    @Test func spansAreAlignedToTheClockBeforeAndAfter1970() {
        for resolution in HistoryResolution.allCases {
            let span = resolution.milliseconds
            for moment in [0, 1, span - 1, span, -1, -span, -span - 1, 1_764_500_123_456] as [Int64] {
                let begin = resolution.begin(of: moment)
                #expect(begin % span == 0 && begin <= moment && moment < begin + span, "\(moment)")
            }
        }
    }

    @Test func theFinestThatGoesBackFarEnoughIsChosen() {
        let hour: Int64 = 3_600_000
        #expect(HistoryResolution.reaching(back: 1) == .tenSeconds)
        #expect(HistoryResolution.reaching(back: 3 * hour) == .tenSeconds)
        #expect(HistoryResolution.reaching(back: 3 * hour + 1) == .minute)
        #expect(HistoryResolution.reaching(back: 72 * hour) == .minute)
        #expect(HistoryResolution.reaching(back: 90 * 24 * hour) == .tenMinutes)
        #expect(HistoryResolution.reaching(back: 90 * 24 * hour + 1) == nil)
    }

    @Test func sumsAddReadingsAreTheLastAndTheP95IsTheWorst() {
        var first = HistoryRow(.tenSeconds, atMilliseconds: 10_000, instance: "a")
        var second = first
        (first.reads, second.reads) = (.init(legacy: 3, new: 1), .init(legacy: 4, new: 0))
        (first.pending.new, second.pending.new) = (9, 2)
        (first.stage, second.stage) = ("canary", "half")
        (first.writeP95Legacy, second.writeP95Legacy) = (700, nil)
        (first.writeP95New, second.writeP95New) = (5, 6)
        let merged = first.merged(with: second)
        #expect(merged.reads == .init(legacy: 7, new: 1) && merged.pending.new == 2 && merged.stage == "half")
        #expect(merged.writeP95Legacy == 700 && merged.writeP95New == 6)
        let none = HistoryRow(.tenSeconds, atMilliseconds: 10_000, instance: "a")
        #expect(none.merged(with: none).writeP95New == nil, "no write, no value")
    }

    @Test func mergingGroupsAsOneLikes() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<100 {
            let (a, b, c) = (
                random(&generator, at: 0, instance: "a"), random(&generator, at: 0, instance: "a"),
                random(&generator, at: 0, instance: "a")
            )
            #expect(a.merged(with: b).merged(with: c) == a.merged(with: b.merged(with: c)))
        }
    }

    @Test func everyFigureHasAColumnOfItsOwnAndAPlaceInTheRow() {
        #expect(Set(HistoryFigure.columns).count == HistoryFigure.columns.count)
        var row = HistoryRow(.minute, atMilliseconds: 0, instance: "a")
        for (number, figure) in HistoryFigure.all.enumerated() { figure.set(&row, Int64(number + 1)) }
        #expect(HistoryFigure.all.map { $0.value(row) } == HistoryFigure.all.indices.map { Int64($0 + 1) })
        #expect(JournalTable.history.columns.map(\.name) == HistoryFigure.columns)
        #expect(JournalTable.history.keys.map(\.name) == HistoryFigure.keys)
    }
}

@Suite struct TheRollup {
    /// Rows with gaps, late ones and a clock that jumps both ways; what each span should come to is added up apart.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func sumsOfCoarserRowsAreTheSumsOfWhatWentIn(seed: UInt64) {
        struct Key: Hashable {
            var resolution: HistoryResolution
            var at: Int64
            var instance: String
            var column: String
        }
        var generator = SeededGenerator(seed: seed)
        var windows = HistoryResolution.allCases.map { HistoryWindow($0, capacity: .max) }
        var expected: [Key: Int64] = [:]
        var at: Int64 = 1_764_499_990_000
        for _ in 0..<300 {
            let steps = [1, 1, 1, 1, 1, 1, 1, 0, Int64.random(in: -200...200, using: &generator)]
            at += (steps.randomElement(using: &generator) ?? 1) * 10_000
            let row = random(&generator, at: at, instance: Bool.random(using: &generator) ? "a" : "b")
            for part in HistoryRollup.rows(from: row) { for index in windows.indices { windows[index].add(part) } }
            for resolution in HistoryResolution.allCases {
                for figure in HistoryFigure.all {
                    guard let value = figure.value(row) else { continue }
                    let key = Key(
                        resolution: resolution, at: at / resolution.milliseconds * resolution.milliseconds,
                        instance: row.instance, column: figure.column)
                    switch figure.merging {
                    case .sum: expected[key, default: 0] += value
                    case .last: expected[key] = value
                    case .largest: expected[key] = max(expected[key] ?? 0, value)
                    }
                }
            }
        }
        var found: [Key: Int64] = [:]
        for row in windows.flatMap(\.rows) {
            for figure in HistoryFigure.all {
                guard let value = figure.value(row) else { continue }
                let key = Key(
                    resolution: row.resolution, at: row.atMilliseconds, instance: row.instance, column: figure.column)
                #expect(found.updateValue(value, forKey: key) == nil, "a span twice")
            }
        }
        #expect(found == expected, "seed \(seed)")
    }

    @Test func aSpanInWhichNothingWasSeenIsAGap() {
        var window = HistoryWindow(.minute, capacity: 100)
        for at in [0, 10_000, 600_000] as [Int64] {
            let row = HistoryRow(.tenSeconds, atMilliseconds: at, instance: "a")
            for part in HistoryRollup.rows(from: row) { window.add(part) }
        }
        #expect(window.rows.map(\.atMilliseconds) == [0, 600_000])
    }

    @Test func theWindowKeepsTheNewestAndGivesThemInPages() {
        var window = HistoryWindow(.tenSeconds, capacity: 5)
        var generator = SeededGenerator(seed: 3)
        for span in (0..<8 as Range<Int64>).shuffled(using: &generator) {
            window.add(HistoryRow(.tenSeconds, atMilliseconds: span * 10_000, instance: "a"))
        }
        #expect(window.rows.map(\.atMilliseconds) == [30_000, 40_000, 50_000, 60_000, 70_000])
        let first = window.page(from: 40_000, before: nil, limit: 3)
        #expect(first.map(\.atMilliseconds) == [70_000, 60_000, 50_000])
        #expect(window.page(from: 40_000, before: first.last?.cursor, limit: 3).map(\.atMilliseconds) == [40_000])
    }
}

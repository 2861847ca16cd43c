package import Journal
import TestSupport

/// Rows as a gateway makes them on a bad day: spans are missing, some come late, the clock jumps back and ahead.
package struct RandomHistory {
    private var random: SeededGenerator
    private var at: Int64
    private let instances: [String]

    /// - Parameter start: about when it begins, in milliseconds since 1970.
    package init(seed: UInt64, start: Int64 = 1_764_500_000_000, instances: [String] = ["a", "b"]) {
        random = SeededGenerator(seed: seed)
        at = HistoryResolution.tenSeconds.begin(of: start)
        self.instances = instances
    }

    package mutating func next() -> HistoryRow {
        let step: Int64 =
            switch Int.random(in: 0..<40, using: &random) {
            case 0: .random(in: -900...(-1), using: &random)
            case 1: .random(in: 2...900, using: &random)
            case 2...3: 0
            default: 1
            }
        at += step * HistoryResolution.tenSeconds.milliseconds
        var row = HistoryRow(
            .tenSeconds, atMilliseconds: at, instance: instances.randomElement(using: &random) ?? "a")
        for figure in HistoryFigure.all {
            let isThere = figure.merging != .largest || Bool.random(using: &random)
            figure.set(&row, isThere ? .random(in: 0...1_000_000, using: &random) : nil)
        }
        row.stage = ["", "canary", "ha\u{0}lf"].randomElement(using: &random) ?? ""
        row.state = ["running", "paused"].randomElement(using: &random) ?? ""
        return row
    }

    package mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
}

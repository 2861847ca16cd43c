import Telemetry
import TestSupport
import Testing

@Test func theTableFindsTheCellThatComparingFinds() {
    let index = HistogramIndex()
    defer { index.deallocate() }
    var values: [UInt64] = [0, 1, 31, 32, 1023, 1024, .max, HistogramLayout.maximum, HistogramLayout.maximum + 1]
    for edge in HistogramLayout.bounds + HistogramLayout.lowerEdges { values += [edge - min(edge, 1), edge, edge + 1] }
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<20_000 { values.append(generator.duration()) }
    for value in values where index.cell(value) != HistogramLayout.cell(value) {
        Issue.record("\(value) ns lies in \(HistogramLayout.cell(value)), the table says \(index.cell(value))")
    }
}

@Test func cellsAreInOrderAndNarrow() {
    let edges = HistogramLayout.lowerEdges
    #expect(edges.first == 0)
    #expect(edges.count == HistogramLayout.count + 1)
    for cell in 0..<HistogramLayout.count {
        let (lower, next) = (edges[cell], edges[cell + 1])
        #expect(lower <= next)
        guard lower < next else { continue }
        #expect(HistogramLayout.cell(lower) == cell)
        #expect(HistogramLayout.cell(next - 1) == cell)
        #expect(next - lower <= max(1024, lower / 32))
    }
}

@Test(arguments: [1, 2, 3, 4, 5])
func quantilesLieWithinOneThirtySecondOfTheExactOnes(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var histogram = Histogram()
    var values: [UInt64] = []
    for _ in 0..<(1 + Int(seed) * 777) {
        let value = seed % 2 == 0 ? generator.duration() : UInt64.random(in: 0...(second / 2), using: &generator)
        values.append(value)
        histogram.record(nanoseconds: value)
    }
    values.sort()
    for quantile in [0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1] {
        let rank = max(1, Int((quantile * Double(values.count)).rounded(.up)))
        let exact = Double(values[rank - 1])
        let told = try #require(histogram.quantile(quantile)) * 1e9
        #expect(abs(told - exact) <= max(1024, exact / 32) + 1, "quantile \(quantile), seed \(seed)")
    }
}

@Test(arguments: [11, 12, 13])
func classicBucketsAreExact(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let block = LoopMetrics()
    var values = HistogramLayout.bounds + HistogramLayout.bounds.map { $0 + 1 } + HistogramLayout.bounds.map { $0 - 1 }
    for _ in 0..<3000 { values.append(generator.duration()) }
    for value in values { block.request(kind: .split, status: 200, nanoseconds: value) }
    let histogram = snapshot(block).histogram(Cells.requestDuration + RequestKind.split.index)
    let exact = HistogramLayout.bounds.map { bound in UInt64(values.count { $0 <= bound }) }
    #expect(histogram.cumulative == exact)
    #expect(histogram.count == UInt64(values.count))
    #expect(histogram.sumNanoseconds == values.reduce(0, +))
}

@Test func anEmptyHistogramHasNoQuantile() {
    #expect(Histogram().quantile(0.95) == nil)
    #expect(Histogram().cumulative.allSatisfy { $0 == 0 })
}

@Test func aSingleObservationIsEveryQuantileAndNotUnderstated() throws {
    var histogram = Histogram()
    histogram.record(nanoseconds: 300_000_000)
    for quantile in [0.0, 0.5, 1.0] {
        #expect(try #require(histogram.quantile(quantile)) == 0.3)
    }
}

@Test func whatIsLongerThanTheLastCellCountsAsThat() throws {
    var histogram = Histogram()
    histogram.record(nanoseconds: 3 * 3600 * second)
    #expect(try #require(histogram.quantile(0.5)) == Double(HistogramLayout.maximum) / 1e9)
    #expect(histogram.sumSeconds == 10_800)
}

@Test func boundsAndTheirLabelsAgree() {
    #expect(HistogramLayout.boundLabels.count == HistogramLayout.bounds.count)
    for (label, bound) in zip(HistogramLayout.boundLabels, HistogramLayout.bounds) {
        #expect(Double(label).map { UInt64(($0 * 1e9).rounded()) } == bound)
    }
    let cells = HistogramLayout.bounds.map(HistogramLayout.logLinear)
    #expect(Set(cells).count == cells.count)
}

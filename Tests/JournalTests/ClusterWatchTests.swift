import Journal
import TestSupport
import Testing

@Suite struct ClusterWatches {
    private let millisecond: UInt64 = 1_000_000

    private func flat(_ news: [(sequence: Sequence64, sides: SideSet)]) -> [Sequence64: SideSet] {
        Dictionary(uniqueKeysWithValues: news.map { ($0.sequence, $0.sides) })
    }

    @Test func eachSideIsToldOnceAndASettledChangeIsNoLongerWatched() {
        var watch = ClusterWatch()
        watch.add([3, 1], now: 0)
        #expect(watch.dueAt == 0)
        #expect(watch.next() == [1, 3])
        #expect(flat(watch.answered([1, 3], outstanding: [1: .both, 3: .new], now: 0)) == [3: .legacy])
        #expect(watch.next() == [1, 3])
        #expect(flat(watch.answered([1, 3], outstanding: [1: .both, 3: .new], now: 0)) == [:])
        #expect(watch.next() == [1, 3])
        #expect(flat(watch.answered([1, 3], outstanding: [1: .legacy], now: 0)) == [1: .new, 3: .new])
        #expect(watch.count == 1)
    }

    @Test func aChangeThatIsGoneHasSettled() {
        var watch = ClusterWatch()
        watch.add([1], now: 0)
        #expect(flat(watch.answered(watch.next(), outstanding: [:], now: 0)) == [1: .both])
        #expect(watch.count == 0 && watch.dueAt == nil)
    }

    @Test func looksBecomeRareWhileNothingMoves() {
        var watch = ClusterWatch()
        watch.add([1], now: 0)
        var pauses: [UInt64] = []
        var now: UInt64 = 0
        for _ in 0..<6 {
            _ = watch.answered(watch.next(), outstanding: [1: .both], now: now)
            pauses.append((watch.dueAt! - now) / millisecond)
            now = watch.dueAt!
        }
        #expect(pauses == [20, 40, 80, 160, 200, 200])
        watch.add([2], now: now)
        #expect(watch.dueAt == now)
        _ = watch.answered(watch.next(), outstanding: [1: .both], now: now)
        #expect(watch.dueAt == now + 20 * millisecond)
    }

    @Test func everyOneHasItsTurnHoweverManyThereAre() {
        var watch = ClusterWatch()
        watch.add(1...2_500, now: 0)
        var asked: [Sequence64] = []
        for _ in 0..<3 {
            let batch = watch.next()
            #expect(batch.count <= ClusterLimits.page)
            asked += batch
            // In the middle of the round the next batch is due at once.
            if asked.count < 2_500 { #expect(watch.dueAt == 0) }
            _ = watch.answered(batch, outstanding: Dictionary(uniqueKeysWithValues: batch.map { ($0, .both) }), now: 0)
        }
        #expect(Set(asked) == Set(1...2_500) && asked.count == 2_500)
        #expect(watch.dueAt == 20 * millisecond)
    }

    @Test func whatCouldNotBeAskedIsAskedAgain() {
        var watch = ClusterWatch()
        watch.add([1, 2], now: 0)
        let asked = watch.next()
        watch.failed(asked, retryAt: 500)
        #expect(watch.dueAt == 500)
        #expect(watch.next() == asked)
    }

    /// Against a plain list, from seeds: whatever is watched is told settled, each side once, and never before it was.
    @Test(arguments: 0..<100 as Range<UInt64>) func allThatSettlesIsToldOnce(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var watch = ClusterWatch()
        var store: [Sequence64: SideSet] = [:]
        var told: [Sequence64: SideSet] = [:]
        var watched: Set<Sequence64> = []
        for step in 0..<300 as Range<Sequence64> {
            store[step] = .both
            if Bool.random(using: &random) {
                watch.add([step], now: 0)
                watched.insert(step)
            }
            for sequence in Array(store.keys) where Int.random(in: 0..<8, using: &random) == 0 {
                store[sequence]?.subtract(Bool.random(using: &random) ? .legacy : .new)
            }
            guard watch.dueAt != nil else { continue }
            for (sequence, sides) in watch.answered(watch.next(), outstanding: store, now: 0) {
                #expect(told[sequence, default: []].isDisjoint(with: sides))
                #expect(store[sequence]!.isDisjoint(with: sides))
                told[sequence, default: []].formUnion(sides)
            }
        }
        for sequence in store.keys { store[sequence] = [] }
        while watch.dueAt != nil {
            for (sequence, sides) in watch.answered(watch.next(), outstanding: store, now: 0) {
                told[sequence, default: []].formUnion(sides)
            }
        }
        #expect(told == Dictionary(uniqueKeysWithValues: watched.map { ($0, .both) }))
    }
}

import Journal
import JournalRules
import JournalThreads
import Rollout
import Synchronization
import TestSupport
import Testing

@testable import StorePostgres

/// Three gateways write to the same few records at once.
@Suite struct OrderOverGateways {
    private struct Kept {
        var sequence: Sequence64
        var owner: Int64
        var records: Set<String>
        var foreign: Set<Sequence64>
        /// When the commit was begun and had returned, on a clock that all threads share.
        var begun: Int
        var committed: Int
        /// When its owner began to settle it; never: the maximum.
        var settled = Int.max
    }

    private final class Log: Sendable {
        private let state = Mutex((tick: 0, kept: [Sequence64: Kept]()))

        func tick() -> Int {
            state.withLock { state in
                state.tick += 1
                return state.tick
            }
        }

        func add(_ kept: [Kept]) { state.withLock { state in for one in kept { state.kept[one.sequence] = one } } }
        func settle(_ sequences: [Sequence64], at tick: Int) {
            state.withLock { state in for sequence in sequences { state.kept[sequence]?.settled = tick } }
        }

        var all: [Kept] { state.withLock { $0.kept.values.sorted { $0.sequence < $1.sequence } } }
    }

    private static func write(_ store: PostgresStore, _ log: Log, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var open: [Sequence64] = []
        for _ in 0..<60 {
            let writes = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                submission(
                    (0..<Int.random(in: 1...2, using: &random)).map { _ in
                        ("r\(Int.random(in: 0..<5, using: &random))", nil)
                    })
            }
            open.shuffle(using: &random)
            let settling = Array(open.prefix(Int.random(in: 0...3, using: &random)))
            open.removeFirst(settling.count)
            let begun = log.tick()
            log.settle(settling, at: begun)
            let group = try store.commit(writes, updates: settling.map { .accepted($0, new: .applied) }, now: 1_000)
            let committed = log.tick()
            let foreign = Set(group.foreign.map(\.sequence))
            let kept = zip(group.admissions, writes).compactMap { admission, write -> Kept? in
                guard case .accepted(let sequence) = admission else { return nil }
                return Kept(
                    sequence: sequence, owner: store.membership.owner ?? 0, records: Set(write.records.map(\.record)),
                    foreign: foreign, begun: begun, committed: committed)
            }
            log.add(kept)
            open += kept.map(\.sequence)
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func everyLaterChangeOfALaneHasSeenTheEarlierOnes(seed: UInt64) throws {
        let database = try SharedDatabase()
        let log = Log()
        let failures = Collector<String>()
        let threads = try (0..<3).map { index in
            let (address, membership) = (database.address, try database.join())
            return Thread(name: "gateway \(index)") {
                do {
                    try Self.write(
                        try PostgresStore(address, membership: membership), log, seed: 3 * seed + UInt64(index))
                } catch {
                    failures.add("\(error)")
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.all == [])
        let all = log.all
        #expect(all.count > 300)
        var pairs = 0
        for (place, later) in all.enumerated() {
            for earlier in all[..<place] where !earlier.records.isDisjoint(with: later.records) {
                #expect(earlier.begun < later.committed, "\(earlier.sequence) began after \(later.sequence) had ended")
                guard earlier.owner != later.owner, earlier.settled > later.committed else { continue }
                pairs += 1
                #expect(later.foreign.contains(earlier.sequence), "\(later.sequence) does not know \(earlier.sequence)")
            }
        }
        #expect(pairs > 100)
    }
}

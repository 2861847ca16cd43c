import Journal
import JournalRules
import JournalThreads
import Rollout
import Synchronization
import TestSupport
import Testing

@testable import StoreSQLite

@Suite struct Writing {
    private let directory = TemporaryDirectory()

    private func writer(
        limits: JournalLimits = JournalLimits(), onGroup: @escaping @Sendable (GroupReport) -> Void = { _ in }
    ) throws -> JournalWriter {
        JournalWriter(
            store: try SQLiteStore(directory: directory.path), limits: limits, now: { 1_000 }, onGroup: onGroup)
    }

    @Test func writesThatArriveTogetherShareOneFsync() throws {
        let writer = try writer()
        let said = Collector<String>()
        for index in 0..<500 {
            writer.submit(submission([("n\(index)", nil)], key: "k\(index)")) { said.add($0.summary) }
        }
        writer.start { _ in }
        let all = said.wait(for: 500)
        #expect(all == (1...500).map { "accepted \($0)" }, "completions come in the order of acceptance")
        writer.close()
        let figures = writer.figures
        #expect(figures.submissions == 500 && figures.groups <= 2 && figures.largestGroup >= 250)
    }

    /// The pace is a minute here, and the journal is not closed before: only what the name says can end the wait.
    @Test func aCommitThatIsPutOffBeginsAsSoonAsEnoughWritesHaveArrived() throws {
        var limits = JournalLimits()
        limits.paceMicroseconds = 60_000_000
        let reports = Collector<GroupReport>()
        let writer = try writer(limits: limits) { reports.add($0) }
        let said = Collector<String>()
        for index in 0..<8 { writer.submit(submission([("n\(index)", nil)])) { said.add($0.summary) } }
        writer.start { _ in }
        _ = said.wait(for: 8)
        for index in 8..<20 { writer.submit(submission([("n\(index)", nil)])) { said.add($0.summary) } }
        _ = said.wait(for: 20)
        #expect(reports.all.map(\.submissions) == [8, 12])
        writer.submit(submission([("last", nil)])) { said.add($0.summary) }
        writer.close()
        #expect(said.all.last == "accepted 21", "a journal that is closed does not wait")
    }

    @Test func aLimitedGroupLeavesTheRestForTheNext() throws {
        var limits = JournalLimits()
        limits.groupWrites = 10
        let reports = Collector<GroupReport>()
        let writer = try writer(limits: limits) { reports.add($0) }
        let said = Collector<String>()
        for index in 0..<35 { writer.submit(submission([("n\(index)", nil)])) { said.add($0.summary) } }
        writer.start { _ in }
        _ = said.wait(for: 35)
        writer.close()
        #expect(reports.all.map(\.submissions) == [10, 10, 10, 5])
        #expect(reports.all.map(\.queueDepth) == [25, 15, 5, 0])
        #expect(reports.all.allSatisfy { $0.failure == nil && $0.commitNanoseconds > 0 })
    }

    @Test func admittedWritesAreHandedOverInOrderBeforeAnybodyIsAnswered() throws {
        let writer = try writer()
        let log = Collector<String>()
        for index in 0..<4 {
            writer.submit(submission([("n", nil)], key: "k\(index % 3)")) { log.add($0.summary) }
        }
        writer.start { group in log.add("admitted " + group.changes.map { "\($0.sequence)" }.joined(separator: " ")) }
        #expect(log.wait(for: 5) == ["admitted 1 2 3", "accepted 1", "accepted 2", "accepted 3", "running"])
        writer.close()
    }

    @Test func aFullQueueTurnsWritesAway() throws {
        var limits = JournalLimits()
        limits.queuedWrites = 2
        let writer = try writer(limits: limits)
        let said = Collector<String>()
        for _ in 0..<3 { writer.submit(submission()) { said.add($0.summary) } }
        #expect(said.all == ["unavailable"])
        #expect(writer.figures.rejected == 1 && writer.figures.queueDepth == 2)
        writer.start { _ in }
        #expect(said.wait(for: 3) == ["unavailable", "accepted 1", "accepted 2"])
        writer.close()
    }

    @Test func tooManyBytesInTheQueueTurnWritesAwayButOneAlwaysFits() throws {
        var limits = JournalLimits()
        limits.queuedBytes = 1_000
        let writer = try writer(limits: limits)
        let said = Collector<String>()
        for _ in 0..<2 {
            writer.submit(submission(body: String(repeating: "x", count: 5_000))) { said.add($0.summary) }
        }
        writer.start { _ in }
        #expect(said.wait(for: 2) == ["unavailable", "accepted 1"])
        writer.close()
    }

    @Test func aFullDiskIsUnavailableAndUpdatesAreKeptForLater() async throws {
        let journal = try ThreadedJournal(sqlite: directory.path)
        let said = Collector<String>()
        journal.start { _ in }
        journal.submit(submission(key: "a")) { said.add($0.summary) }
        #expect(said.wait(for: 1) == ["accepted 1"])
        try await journal.limit(toBytes: 4_096)
        journal.post(.accepted(1))
        let large = submission(key: "b", body: String(repeating: "x", count: 100_000))
        journal.submit(large) { said.add($0.summary) }
        #expect(said.wait(for: 2).last == "unavailable")
        #expect(journal.writer.figures.failedGroups >= 1)
        #expect(try await journal.read { reader throws(JournalError) in try reader.pins() }.isEmpty, "reads go on")
        try await journal.limit(toBytes: nil)
        #expect(journal.flush(timeoutMilliseconds: 20_000))
        #expect(journal.writer.figures.retainedUpdates == 0)
        journal.submit(submission(key: "a")) { said.add($0.summary) }
        journal.submit(large) { said.add($0.summary) }
        #expect(said.wait(for: 4).suffix(2) == ["replay 201", "accepted 2"])
        #expect(journal.close())
    }

    @Test func updatesAloneBecomeDurableByThemselvesAndCloseKeepsTheLast() throws {
        let journal = try ThreadedJournal(sqlite: directory.path)
        let said = Collector<String>()
        journal.start { _ in }
        for index in 1...3 { journal.submit(submission([("n\(index)", nil)])) { said.add($0.summary) } }
        _ = said.wait(for: 3)
        journal.post(.accepted(1, new: .applied))
        #expect(journal.flush(timeoutMilliseconds: 20_000))
        journal.post(.accepted(2, new: .applied))
        #expect(journal.close())
        journal.submit(submission()) { said.add($0.summary) }
        #expect(said.all.last == "unavailable")
    }

    @Test func aJournalThatIsClosedBeforeItStartedAnswersEverybody() throws {
        let writer = try writer()
        let said = Collector<String>()
        writer.submit(submission()) { said.add($0.summary) }
        writer.perform { said.add($0 == nil ? "no store" : "store") }
        #expect(writer.close())
        #expect(said.all == ["unavailable", "no store"])
        #expect(try SQLiteStore(directory: directory.path).counts().lastSequence == 0)
    }

    @Test func aPageOfOutstandingLegsShowsWhatWasPostedBefore() throws {
        let journal = try ThreadedJournal(sqlite: directory.path)
        journal.start { _ in }
        let said = Collector<String>()
        for _ in 1...20 { journal.submit(submission()) { said.add($0.summary) } }
        #expect(said.wait(for: 20).count == 20)
        for sequence in Sequence64(1)...20 {
            journal.post(.leg(sequence, .new, LegStatus(.applied)))
            let found = Collector<[Sequence64]>()
            journal.outstanding(OutstandingQuery(side: .new, limit: 30)) {
                found.add((try? $0.get().map(\.sequence)) ?? [-1])
            }
            #expect(found.wait(for: 1) == [Array((sequence + 1)..<21)])
        }
        journal.close()
    }

    @Test func afterAReopenOnlyWhatIsOutstandingComesBack() async throws {
        try updatesAloneBecomeDurableByThemselvesAndCloseKeepsTheLast()
        let journal = try ThreadedJournal(sqlite: directory.path)
        journal.start { _ in }
        let found = Collector<[Sequence64]>()
        journal.outstanding(OutstandingQuery(side: .new, limit: 10)) {
            found.add((try? $0.get().map(\.sequence)) ?? [-1])
        }
        #expect(found.wait(for: 1) == [[3]])
        let loaded = Collector<String>()
        journal.load(3) { loaded.add((try? $0.get()?.submission.records.first?.record) ?? "nothing") }
        journal.load(9) { loaded.add((try? $0.get()?.submission.records.first?.record) ?? "nothing") }
        #expect(loaded.wait(for: 2) == ["n3", "nothing"])
        let event = RolloutEvent(atMilliseconds: 1, actor: "a", action: "start", before: "", after: "", reason: "")
        try await journal.write { store throws(JournalError) in try store.appendEvent(event) }
        #expect(
            try await journal.read { reader throws(JournalError) in try reader.events(before: nil, limit: 5) }.count
                == 1)
        journal.close()
        await #expect(throws: JournalError.self) {
            try await journal.write { store throws(JournalError) in try store.appendEvent(event) }
        }
        await #expect(throws: JournalError.self) {
            try await journal.read { reader throws(JournalError) in try reader.pins() }
        }
    }

    @Test func manyThreadsAtOnceLoseNothing() throws {
        let journal = try ThreadedJournal(sqlite: directory.path)
        let said = Collector<Sequence64>()
        let entered = Collector<Sequence64>()
        journal.start { group in for (sequence, _) in group.changes { entered.add(sequence) } }
        let threads = (0..<8).map { thread in
            Thread(name: "client") {
                for index in 0..<100 {
                    journal.submit(submission(user: "u\(thread)", [("n", Int64(index))], body: "\(index)")) {
                        admission in
                        guard case .accepted(let sequence) = admission else { return said.add(-1) }
                        journal.post(.accepted(sequence, new: .applied))
                        said.add(sequence)
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(Set(said.wait(for: 800)) == Set(1...800))
        #expect(entered.all == Array(1...800))
        #expect(journal.close())
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.counts().outstandingNew == 0)
        #expect(try store.counts().lastSequence == 800)
    }

    @Test func settledRowsArePrunedWhileItRuns() throws {
        do {
            let store = try SQLiteStore(directory: directory.path)
            _ = try store.said(submission(), submission(), now: 0)
            try store.apply([.accepted(1, new: .applied)], now: 0)
        }
        let journal = try ThreadedJournal(
            sqlite: directory.path,
            retention: Retention(rollbackWindowMilliseconds: 1, idempotencyMilliseconds: 1))
        let said = Collector<String>()
        journal.start { _ in }
        journal.submit(submission()) { said.add($0.summary) }
        #expect(said.wait(for: 1) == ["accepted 3"])
        journal.close()
        let store = try SQLiteStore(directory: directory.path)
        #expect(try store.rows(parkedOnly: false, before: nil, limit: 9).map(\.sequence) == [3, 2])
    }

    @Test func updatesThatWaitAreFoldedWithoutLosingTheLastWord() {
        let applied = LegStatus(.applied, attempts: 3)
        let folded = fold([
            .leg(1, .new, LegStatus(.pending, attempts: 1)), .accepted(1),
            .leg(1, .new, LegStatus(.pending, attempts: 2)),
            .leg(2, .legacy, LegStatus(.pending, attempts: 1)), .leg(1, .new, applied), .leg(2, .legacy, applied),
            .leg(2, .new, applied),
        ])
        let words = folded.map { update in
            switch update {
            case .leg(let sequence, let side, let status): "leg \(sequence) \(side.name) \(status.attempts)"
            case .answered(let sequence, _, let legs, _, _):
                "answered \(sequence) \(legs.legacy.attempts) \(legs.new.attempts)"
            }
        }
        #expect(words == ["leg 1 new 1", "answered 1 1 3", "leg 2 legacy 3", "leg 2 new 3"])
    }
}

extension ThreadedJournal {
    /// Plays a full disk.
    func limit(toBytes bytes: Int64?) async throws(JournalError) {
        try await write { store throws(JournalError) in
            guard let store = store as? SQLiteStore else { throw JournalError(.other, "not the embedded store") }
            try store.limitSize(toBytes: bytes)
        }
    }
}

import Journal
import JournalRules
import TestSupport
import Testing

@testable import StoreSQLite

@Suite struct StoredChanges {
    private let directory = TemporaryDirectory()

    @Test func aPrunedChangeLeavesNoBody() throws {
        let store = try SQLiteStore(directory: directory.path)
        for index in 1...3 { _ = try store.said(submission([("n\(index)", nil), ("m\(index)", nil)])) }
        try store.apply([.accepted(1, new: .applied), .accepted(2, new: .applied)], now: 0)
        let short = Retention(rollbackWindowMilliseconds: 100, idempotencyMilliseconds: 100)
        #expect(try store.prune(short, now: 5_000).deletedChanges == 2)
        for table in ["change", "change_body", "batch_record"] {
            #expect(try store.connection.integer("SELECT count(*) FROM \(table)") == 1)
        }
    }

    /// Short ones are bound where they lie, long ones are copied by SQLite; none may show what the write before it had.
    @Test func textsOfEveryLengthComeBackAsTheyWere() throws {
        let store = try SQLiteStore(directory: directory.path)
        let lengths = [5_000, 3, 1_900, 0, 200, 2_047, 2_048, 2_049, 15, 16]
        let writes = lengths.map { length in
            submission(
                user: length == 0 ? nil : "u\(length)", length == 0 ? [] : [("r\(length)", nil)],
                key: length == 200 ? nil : "k\(length)", target: "/" + String(repeating: "é", count: length / 2))
        }
        let half = writes.count / 2
        _ = try store.accept(Array(writes[..<half]), now: 1)
        _ = try store.accept(Array(writes[half...]), now: 2)
        for (index, written) in writes.enumerated() {
            let kept = try #require(try store.load(Sequence64(index + 1))).submission
            #expect(kept.target == written.target && kept.user == written.user && kept.method == written.method)
            #expect(kept.idempotencyKey == written.idempotencyKey && kept.records == written.records)
            #expect(kept.fingerprint == written.fingerprint && kept.outgoingKey == written.outgoingKey)
        }
    }

    @Test func whatWasWrittenSinceIsFoundThroughIndexes() throws {
        let store = try SQLiteStore(directory: directory.path)
        let plan = try Statement(store.connection, "EXPLAIN QUERY PLAN " + SQLiteQueries.behind("new_state"))
        var lines: [String] = []
        while try plan.step() { lines.append(plan.text(3)) }
        let text = lines.joined(separator: "\n")
        #expect(text.contains("change_record (user=? AND record=? AND sequence>?)"), "\(text)")
        #expect(text.contains("batch_record_record (record=? AND sequence>?)"), "\(text)")
        #expect(!text.contains("SCAN c") && !text.contains("SCAN b") && !text.contains("SCAN r"), "\(text)")
    }

    @Test func listingsUseTheirIndexes() throws {
        let store = try SQLiteStore(directory: directory.path)
        let indexes = [
            (Schema.outstanding, "change_outstanding"), (Schema.parked, "change_parked"),
            (Schema.unshared, "change_unshared"), (Schema.skipped, "change_skipped"),
        ]
        for (condition, index) in indexes {
            let plan = try Statement(
                store.connection,
                """
                EXPLAIN QUERY PLAN SELECT * FROM change INDEXED BY \(index)
                WHERE \(condition) AND sequence > 1 ORDER BY sequence LIMIT 5
                """)
            var lines: [String] = []
            while try plan.step() { lines.append(plan.text(3)) }
            #expect(lines.count == 1 && lines[0].contains("SEARCH change USING INDEX \(index)"), "\(lines)")
        }
    }
}

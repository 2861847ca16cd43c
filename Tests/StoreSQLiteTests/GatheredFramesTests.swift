import Journal
import JournalRules
import TestSupport
import Testing

@testable import StoreSQLite

/// The write-ahead log is written in as few pieces as can be: whatever the pieces are, what was committed is in the file.
@Suite struct GatheredFrames {
    private let directory = TemporaryDirectory()

    private func expectWhole(_ bodies: [Int], afterACrashOf directory: TemporaryDirectory) throws {
        let copy = directory.copied()
        let store = try SQLiteStore(directory: copy.path)
        #expect(
            try store.connection.integer("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
                == 0)
        #expect(try store.counts().lastSequence == Sequence64(bodies.count))
        for (index, size) in bodies.enumerated() {
            let kept = try #require(try store.load(Sequence64(index + 1)))
            #expect(kept.submission.body == self.body(index, size), "\(index)")
        }
    }

    private func body(_ index: Int, _ size: Int) -> [UInt8] { [UInt8](repeating: UInt8(index % 251), count: size) }

    private func accept(_ sizes: [Int], after first: Int, _ store: SQLiteStore) throws {
        let writes = sizes.enumerated().map { index, size in
            var write = submission([("r\(first + index)", nil)])
            write.body = body(first + index, size)
            return write
        }
        _ = try store.accept(writes, now: 1)
    }

    @Test func aGroupOfAnySizeIsThereAfterACrash() throws {
        let store = try SQLiteStore(directory: directory.path)
        // One page, about as much as is gathered and more, what no single write may have, and more than the cache holds.
        let groups = [
            [10], [60_000, 58_000, 900], [131_072], [300_000, 1], Array(repeating: 1_000_000, count: 36), [5],
        ]
        var all: [Int] = []
        for group in groups {
            try accept(group, after: all.count, store)
            all += group
            if group.count < 10 { try expectWhole(all, afterACrashOf: directory) }
        }
        try expectWhole(all, afterACrashOf: directory)
    }

    @Test func whatWasRolledBackIsNeverHandedOn() throws {
        let store = try SQLiteStore(directory: directory.path)
        try accept([10, 20], after: 0, store)
        try store.limitSize(toBytes: 36_000_000)
        let tooMuch = Array(repeating: 1_000_000, count: 40)
        #expect(throws: JournalError.self) { try accept(tooMuch, after: 2, store) }
        try store.limitSize(toBytes: nil)
        try accept([30], after: 2, store)
        try expectWhole([10, 20, 30], afterACrashOf: directory)
        store.makeRoom()
        try accept([40], after: 3, store)
        try expectWhole([10, 20, 30, 40], afterACrashOf: directory)
    }
}

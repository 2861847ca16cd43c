import CSQLite
import Journal
import SyncModel
import SyncStore
import Synchronization
import Testing

struct SQLiteTests {
    @Test func whatWasCommittedIsThereAfterReopening() throws {
        let place = try Place(.sqlite)
        try place.put(change("r", 3, #"{"a":1}"#))
        let again = try SQLiteSyncStore(path: place.path)
        #expect(try again.apply([[change("r", 2)]], now: now)[0].verdicts == [.stale])
        #expect(try again.apply([[change("s", 1)]], now: now)[0].verdicts == [.applied])
        #expect(try place.reader.changes(of: "u1", after: 0, limit: 9).map(\.sequence) == [1, 2])
    }

    @Test func duplicatesCannotBeWrittenPastTheService() throws {
        let place = try Place(.sqlite)
        try place.put(change("r", 1, key: "k"), change("s", 1, key: "l"))
        var database: OpaquePointer?
        try #require(sqlite3_open(place.path, &database) == SQLITE_OK)
        defer { sqlite3_close(database) }
        for assignment in ["idempotency_key = 'k'", "record_id = 'r'"] {
            let code = sqlite3_exec(
                database, "UPDATE changes SET \(assignment) WHERE record_id = 's'", nil, nil, nil)
            #expect(code == SQLITE_CONSTRAINT, "\(assignment)")
        }
    }

    @Test func aFileOfAnotherProgramIsLeftAlone() throws {
        let place = try Place(.sqlite)
        var database: OpaquePointer?
        try #require(sqlite3_open(place.path, &database) == SQLITE_OK)
        sqlite3_exec(database, "PRAGMA application_id = 7", nil, nil, nil)
        sqlite3_close(database)
        #expect(throws: JournalError.self) { _ = try SQLiteSyncStore(path: place.path) }
    }

    @Test func theWriterAnswersEachRequestOnceAndGroupsThem() async throws {
        let place = try Place(.sqlite)
        let writer = SyncWriter(store: try SQLiteSyncStore(path: place.path), now: { now })
        let requests = 200
        // All wait when the thread starts, so that they are one group.
        let answers = Mutex<[ChangeVerdict]>([])
        for number in 0..<requests {
            writer.submit([change("r\(number % 50)", Int64(number / 50 + 1))]) { result in
                if case .success(let outcome) = result { answers.withLock { $0 += outcome.verdicts } }
            }
        }
        writer.start()
        writer.close()
        #expect(answers.withLock { $0 } == Array(repeating: .applied, count: requests))
        #expect(writer.figures.groups == 1 && writer.figures.applied == Int64(requests))
        await withCheckedContinuation { continuation in
            writer.submit([change("late", 1)]) { result in
                if case .success = result { Issue.record("a closed writer took a change") }
                continuation.resume()
            }
        }
    }

    @Test func theQueueOfTheWriterIsBounded() throws {
        let place = try Place(.sqlite)
        let writer = SyncWriter(store: try SQLiteSyncStore(path: place.path), now: { now })
        let batch = (0..<1000).map { change("r\($0)", 1) }
        let refused = Mutex(0)
        for _ in 0..<(SyncWriter.waitingChanges / 1000 + 3) {
            writer.submit(batch) { result in
                if case .failure(let error) = result, error.kind == .busy { refused.withLock { $0 += 1 } }
            }
        }
        #expect(refused.withLock { $0 } == 3 && writer.figures.turnedAway == 3)
        #expect(writer.figures.waitingChanges == SyncWriter.waitingChanges)
        writer.start()
        writer.close()
    }
}

import SyncModel
import SyncStore
import Testing

/// What every store has to do, whatever it is made of.
struct RulesTests {
    @Test(arguments: StoreKind.allCases) func aRecordIsReadAsItWasWritten(kind: StoreKind) throws {
        let place = try Place(kind)
        var sent = change("r", 3, #"{"title":"é 漢 \u0000"}"#)
        (sent.recordName, sent.container) = ("CK-\u{1}", "iCloud.app")
        try place.put(sent)
        let record = try #require(try place.reader.record("r", of: "u1"))
        #expect(record.payload == sent.payload && record.revision == 3 && record.type == .document)
        #expect(record.createdAt == sent.createdAt && record.updatedAt == sent.updatedAt && record.device == "d1")
        #expect(record.recordName == "CK-\u{1}" && record.container == "iCloud.app" && !record.deleted)
        #expect(try place.reader.record("r", of: "u2") == nil)
    }

    @Test(arguments: StoreKind.allCases) func revisionsAndKeysAreKnownInLaterGroups(kind: StoreKind) throws {
        let place = try Place(kind)
        try place.put(change("r", 3, #"{"a":1}"#, key: "k"))
        #expect(try place.put(change("r", 3, #"{"a":1}"#, key: "k")) == [.retry])
        #expect(try place.put(change("r", 3, #"{"a":1.0}"#, key: "l")) == [.retry])
        #expect(try place.put(change("r", 3, #"{"a":2}"#, key: "m")) == [.stale])
        #expect(try place.put(change("r", 2)) == [.stale])
        #expect(try place.put(change("r", 4, key: "k")) == [.keyReused])
        #expect(try place.put(change("r", 4, user: "u2")) == [.foreign])
        #expect(try place.put(change("r", 4, type: .note)) == [.typeChanged])
        #expect(try place.put(change("r", 4, #"{"a":4}"#)) == [.applied])
        #expect(try place.put(change("r", 3, #"{"a":1}"#, key: "k")) == [.retry])
        #expect(try place.reader.record("r", of: "u1")?.payload == #"{"a":4}"#)
    }

    @Test(arguments: StoreKind.allCases) func aDeletedRecordLeavesNothingOfItsPayload(kind: StoreKind) throws {
        let place = try Place(kind)
        try place.put(change("r", 1, #"{"secret":1}"#))
        try place.put(change("r", 2, #"{"secret":2}"#), change("r", 3, nil))
        let record = try #require(try place.reader.record("r", of: "u1"))
        #expect(record.deleted && record.payload == "" && record.revision == 3)
        let feed = try place.reader.changes(of: "u1", after: 0, limit: 10)
        #expect(feed.map(\.revision) == [1, 2, 3] && feed.allSatisfy { $0.payload.isEmpty })
        #expect(feed.map(\.deleted) == [false, false, true])
        // History that comes late does not bring it back; a newer change does.
        #expect(try place.put(change("r", 2, #"{"secret":2}"#, key: "backfill")) == [.retry])
        #expect(try place.put(change("r", 0, #"{"secret":0}"#)) == [.stale])
        #expect(try place.reader.record("r", of: "u1")?.deleted == true)
        #expect(try place.put(change("r", 4, #"{"a":1}"#)) == [.applied])
        #expect(try place.reader.record("r", of: "u1")?.payload == #"{"a":1}"#)
    }

    @Test(arguments: StoreKind.allCases) func aHighlightMergesWithWhatIsStored(kind: StoreKind) throws {
        let place = try Place(kind)
        try place.put(change("h", 1, #"{"text":"a","color":"red"}"#, type: .highlight))
        try place.put(change("h", 3, #"{"color":"blue"}"#, type: .highlight))
        try place.put(change("h", 5, #"{"note":"n"}"#, type: .highlight))
        let record = try #require(try place.reader.record("h", of: "u1"))
        #expect(record.payload == #"{"text":"a","color":"blue","note":"n"}"#)
        #expect(record.fieldRevisions == #"{"text":1,"color":3,"note":5}"#)
    }

    @Test(arguments: StoreKind.allCases) func theLaterProgressWins(kind: StoreKind) throws {
        let place = try Place(kind)
        var late = change("p", 2, #"{"progress":0.9,"progressAt":"2026-06-01T00:00:00Z"}"#, type: .progress)
        late.progressAt = 1_780_272_000_000
        var early = change("p", 5, #"{"progress":0.2,"progressAt":"2026-01-01T00:00:00Z"}"#, type: .progress)
        early.progressAt = 1_767_225_600_000
        #expect(try place.put(late) == [.applied])
        #expect(try place.put(early) == [.applied])
        let record = try #require(try place.reader.record("p", of: "u1"))
        #expect(record.progressAt == late.progressAt && record.revision == 5 && record.payload == late.payload)
    }

    @Test(arguments: StoreKind.allCases) func oneRefusedRequestOfAGroupTakesNoOtherWithIt(kind: StoreKind) throws {
        let place = try Place(kind)
        try place.put(change("r", 5))
        let outcomes = try place.store.apply(
            [[change("a", 1)], [change("b", 1), change("r", 4)], [change("c", 1), change("r", 6)], [change("a", 1)]],
            now: now)
        #expect(outcomes.map(\.isRefused) == [false, true, false, false])
        #expect(outcomes[1].records[1]?.revision == 5 && outcomes[3].verdicts == [.retry])
        #expect(try place.reader.record("b", of: "u1") == nil)
        #expect(try place.reader.record("r", of: "u1")?.revision == 6)
        #expect(try place.reader.changes(of: "u1", after: 0, limit: 10).map(\.record) == ["r", "a", "c", "r"])
    }

    @Test(arguments: StoreKind.allCases) func theFeedIsAUsersOwnAndGoesOnBehindEveryPlace(kind: StoreKind) throws {
        let place = try Place(kind)
        for number in 1...5 as ClosedRange<Int64> {
            try place.put(change("r\(number)", number), change("x\(number)", number, user: "u2"))
        }
        let all = try place.reader.changes(of: "u1", after: 0, limit: 100)
        #expect(all.map(\.record) == ["r1", "r2", "r3", "r4", "r5"] && all.map(\.id).first == "c-r1-1")
        #expect(all.map(\.sequence) == all.map(\.sequence).sorted())
        var seen: [String] = []
        var after: Int64 = 0
        while let page = try? place.reader.changes(of: "u1", after: after, limit: 2), let last = page.last {
            seen += page.map(\.record)
            after = last.sequence
        }
        #expect(seen == all.map(\.record))
        try place.put(change("r1", 9))
        #expect(try place.reader.changes(of: "u1", after: after, limit: 2).map(\.revision) == [9])
    }

    @Test(arguments: StoreKind.allCases) func aUsersRecordsComeWholeInPages(kind: StoreKind) throws {
        let place = try Place(kind)
        for number in 1...7 as ClosedRange<Int64> {
            try place.put(
                change("d\(number)", 1), change("h\(number)", 1, type: .highlight),
                change("n\(number)", 1, type: .note),
                change("z\(number)", 1, user: "u2"))
        }
        try place.put(change("d3", 2, nil))
        for limit in [1, 2, 7, 21, 50] {
            var seen: [String] = []
            var cursor: RecordCursor? = .start
            while let from = cursor {
                let page = try place.reader.page(of: "u1", from: from, limit: limit)
                #expect(page.records.count <= limit)
                seen += page.records.map(\.record)
                cursor = page.next
                if let next = page.next { #expect(RecordCursor(next.text) == next) }
            }
            #expect(seen == (1...7).map { "d\($0)" } + (1...7).map { "h\($0)" } + (1...7).map { "n\($0)" })
        }
        let documents = try place.reader.records(of: "u1", from: .start, type: .document, limit: 100)
        #expect(documents.map(\.record) == ["d1", "d2", "d4", "d5", "d6", "d7"])
        #expect(try place.reader.users(after: "", limit: 10) == ["u1", "u2"])
        #expect(try place.reader.users(after: "u1", limit: 10) == ["u2"])
    }

    @Test(arguments: StoreKind.allCases) func highlightsAreCountedByMonth(kind: StoreKind) throws {
        let place = try Place(kind)
        let moments: [Int64] = [1_577_836_799_999, 1_577_836_800_000, 1_583_020_799_000, 1_583_020_800_000]
        for (number, moment) in moments.enumerated() {
            var made = change("h\(number)", 1, type: .highlight)
            made.createdAt = moment
            var note = change("n\(number)", 1, type: .note)
            note.createdAt = moment
            try place.put(made, note)
        }
        #expect(
            try place.reader.highlights(since: 0).map { "\($0.month) \($0.highlights)" }
                == ["2019-12 1", "2020-01 1", "2020-02 1", "2020-03 1"])
        try place.put(change("h3", 2, nil, type: .highlight))
        #expect(try place.reader.highlights(since: 1_577_836_800_000).map(\.month) == ["2020-01", "2020-02"])
    }
}

import Testing

@testable import Demo

/// One line of the table: what is stored, what comes, what becomes of it.
struct RevisionCase: Sendable, CustomTestStringConvertible {
    var name: String
    var current: StoredRecord?
    var use: KeyUse?
    var change: Change
    var verdict: RevisionVerdict

    var testDescription: String { name }
}

private func change(
    _ revision: Int64, key: String, payload: String = "{\"text\":\"a\"}", deleted: Bool = false, type: String = "note",
    record: String = "r"
) -> Change {
    Change(
        id: "c", user: "u", record: record, device: "phone", revision: revision, type: type, payload: payload,
        content: contentHash(of: payload), deleted: deleted, key: key)
}

private func use(_ change: Change) -> KeyUse {
    KeyUse(record: change.record, revision: change.revision, content: change.content)
}

private let eight = change(8, key: "k8")
private let tombstone = change(8, key: "k8", payload: "{}", deleted: true)

private let cases: [RevisionCase] = [
    .init(
        name: "the first revision of a record is accepted", current: nil, use: nil, change: eight, verdict: .accepted),
    .init(
        name: "a higher revision is accepted", current: StoredRecord(eight), use: nil, change: change(9, key: "k9"),
        verdict: .accepted),
    .init(
        name: "a gap is no matter", current: StoredRecord(eight), use: nil, change: change(80, key: "k80"),
        verdict: .accepted),
    .init(
        name: "a lower revision is stale", current: StoredRecord(eight), use: nil, change: change(7, key: "k7"),
        verdict: .stale(current: 8)),
    .init(
        name: "the same revision with other content is stale", current: StoredRecord(eight), use: nil,
        change: change(8, key: "other", payload: "{\"text\":\"b\"}"), verdict: .stale(current: 8)),
    .init(
        name: "the same revision with the same key is a retry", current: StoredRecord(eight), use: use(eight),
        change: eight, verdict: .retry),
    .init(
        name: "the same revision with the same content is a retry", current: StoredRecord(eight), use: nil,
        change: change(8, key: "other"), verdict: .retry),
    .init(
        name: "content is what it means, not how it is spelled",
        current: StoredRecord(change(8, key: "k8", payload: "{\"n\":1}")),
        use: nil, change: change(8, key: "other", payload: "{ \"n\": 1.0 }"), verdict: .retry),
    .init(
        name: "a late retry of an older change is still a retry", current: StoredRecord(change(9, key: "k9")),
        use: use(eight), change: eight, verdict: .retry),
    .init(
        name: "a key of another revision is refused", current: StoredRecord(eight), use: use(eight),
        change: change(9, key: "k8"), verdict: .keyReused),
    .init(
        name: "a key of another record is refused", current: nil, use: use(eight),
        change: change(8, key: "k8", record: "other"), verdict: .keyReused),
    .init(
        name: "a key of other content is refused", current: StoredRecord(eight), use: use(eight),
        change: change(8, key: "k8", payload: "{\"text\":\"b\"}"), verdict: .keyReused),
    .init(
        name: "a delete needs a higher revision, too", current: StoredRecord(eight), use: nil,
        change: change(8, key: "d", payload: "{}", deleted: true), verdict: .stale(current: 8)),
    .init(
        name: "a tombstone keeps its revision taken", current: StoredRecord(tombstone), use: nil,
        change: change(8, key: "again"), verdict: .stale(current: 8)),
    .init(
        name: "a higher revision brings a deleted record back", current: StoredRecord(tombstone), use: nil,
        change: change(9, key: "back"), verdict: .accepted),
    .init(
        name: "the same content under another type is stale", current: StoredRecord(eight), use: nil,
        change: change(8, key: "other", type: "highlight"), verdict: .stale(current: 8)),
]

@Test(arguments: cases)
func aRecordOnlyMovesForwardAndAskingTwiceChangesNothing(line: RevisionCase) {
    #expect(judge(line.change, current: line.current, keyUse: line.use) == line.verdict)
}

@Test func theStoreKeepsWhatTheRuleAccepts() throws {
    let store = try RecordStore(path: ":memory:")
    #expect(try store.apply(eight).verdict == .accepted)
    #expect(try store.apply(change(7, key: "k7")).verdict == .stale(current: 8))
    #expect(try store.apply(eight).verdict == .retry)
    // A refused key is free again.
    #expect(try store.apply(change(9, key: "k7")).verdict == .accepted)
    #expect(try store.apply(change(10, key: "k10", payload: "{}", deleted: true)).verdict == .accepted)
    let record = try #require(try store.record("r", of: "u"))
    #expect(record.revision == 10)
    #expect(record.deleted)
    #expect(try store.record("r", of: "someone else") == nil)
    #expect(try store.count() == 1)
}

@Test func pagesFollowTheirCursorAndHoldTombstones() throws {
    let store = try RecordStore(path: ":memory:")
    for index in 1...5 { _ = try store.apply(change(1, key: "k\(index)", deleted: index == 3, record: "r\(index)")) }
    let first = try store.records(of: "u", after: "", limit: 3)
    let second = try store.records(of: "u", after: "r3", limit: 3)
    #expect(first.map(\.record) == ["r1", "r2", "r3"])
    #expect(second.map(\.record) == ["r4", "r5"])
    #expect(first.map(\.deleted) == [false, false, true])
}

import Testing

@testable import Demo

/// Both backends with the same history, over real HTTP.
private final class Pair {
    let legacy: SampleBackend
    let new: SampleBackend

    init(_ history: [StoredRecord]) throws {
        legacy = try SampleBackend(path: ":memory:", dialect: .ornate, latencyMilliseconds: 0)
        new = try SampleBackend(path: ":memory:", dialect: .compact, latencyMilliseconds: 1)
        for backend in [legacy, new] {
            try backend.seed(history)
            try backend.start()
        }
    }

    deinit {
        legacy.stop()
        new.stop()
    }

    func compare(_ users: [String], known: [KnownRecord] = []) throws -> ComparisonReport {
        var comparison = try RecordComparison(legacy: legacy.url, new: new.url)
        for user in users { try comparison.compare(user, known: known) }
        return comparison.report
    }
}

private func history(_ count: Int) -> [StoredRecord] {
    var random = SeededGenerator(seed: 9)
    return (0..<count).map { SampleData.record("note-\($0)", of: "u", type: "note", revision: 3, &random) }
}

private func change(_ revision: Int64, record: String = "note-0", deleted: Bool = false, key: String? = nil) -> Change {
    Change(
        id: "c", user: "u", record: record, device: "phone", revision: revision, type: "note",
        payload: "{\"text\":\"r\(revision)\"}", content: contentHash(of: "{\"text\":\"r\(revision)\"}"),
        deleted: deleted,
        key: key ?? "\(record)-\(revision)")
}

@Test func aBackendAnswersAsItsTableSays() throws {
    let pair = try Pair(history(1))
    for backend in [pair.legacy, pair.new] {
        let client = try SyncClient(url: backend.url)
        #expect(try client.write(change(4)).status == 200)
        #expect(try client.write(change(4)).status == 200)
        let stale = try client.write(change(2))
        #expect(stale.status == 409)
        #expect(stale.withFields { $0.integer("current_revision") } == 4)
        #expect(stale.withFields { $0.integer("current/revision") } == 4)
        #expect(try client.write(change(9, key: "note-0-4")).status == 422)
        #expect(try client.read("note-0", of: "u").status == 200)
        #expect(try client.read("note-0", of: "someone").status == 404)
        #expect(try client.write(change(5, deleted: true)).status == 200)
        let gone = try client.read("note-0", of: "u")
        #expect(gone.status == 410)
        #expect(gone.withFields { $0.isTrue("deleted") } == true)
        let connection = try HTTPConnection()
        #expect(try connection.exchange(Request(url: "\(backend.url)/healthz")).status == 200)
        #expect(try connection.exchange(Request(url: "\(backend.url)/elsewhere")).status == 404)
        #expect(try connection.exchange(Request(url: "\(backend.url)/changes")).headers["allow"] == "POST")
        #expect(try connection.exchange(Request(url: "\(backend.url)/records/note-0")).status == 400)
        #expect(
            try connection.exchange(Request(method: "POST", url: "\(backend.url)/changes", body: "{}")).status == 400)
    }
}

@Test func aStoppedBackendRefusesConnectionsAndComesBackOnItsPortWithItsRecords() throws {
    let pair = try Pair(history(1))
    let client = try SyncClient(url: pair.new.url)
    #expect(try client.write(change(4)).status == 200)
    pair.new.stop()
    #expect(throws: ExchangeFailure.self) { try client.read("note-0", of: "u") }
    try pair.new.start()
    #expect(SeenRecord(try client.read("note-0", of: "u"))?.revision == 4)
}

@Test func equalRecordsCompareEqualAcrossDialectsAndPages() throws {
    let count = 2 * SampleBackend.pageSize + 1
    let pair = try Pair(history(count))
    let report = try pair.compare(["u"])
    #expect(report.records == count)
    #expect(report.different == 0)
    #expect(report.isAsPromised)
}

@Test func aDifferenceAMissingRecordAndALostWriteAreFound() throws {
    let pair = try Pair(history(3))
    let client = try SyncClient(url: pair.legacy.url)
    _ = try client.write(change(4))
    _ = try client.write(change(1, record: "only-legacy"))
    var acknowledged = KnownRecord(id: "note-0", type: "note")
    acknowledged.revision = 4
    let report = try pair.compare(["u"], known: [acknowledged])
    #expect(report.records == 4)
    #expect(report.different == 2)
    #expect(report.lost == 1)
    #expect(!report.isAsPromised)
    #expect(report.examples.contains { $0.contains("only legacy has it") })
}

@Test func nothingComparedIsNotAsPromised() throws {
    #expect(try !Pair([]).compare(["u"]).isAsPromised)
}

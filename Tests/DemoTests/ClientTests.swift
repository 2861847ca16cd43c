import Testing

@testable import Demo

private func answer(_ status: Int, _ body: String, headers: [String: String] = [:]) -> Answer {
    Answer(status: status, headers: headers, body: Array(body.utf8))
}

private func known(revision: Int64 = 8, payload: String = "{\"text\":\"a\"}", deleted: Bool = false) -> KnownRecord {
    var record = KnownRecord(id: "note-1", type: "note")
    record.revision = revision
    record.content = contentHash(of: payload)
    record.deleted = deleted
    return record
}

@Test func aReadThatShowsTheAcknowledgedRevisionIsFine() {
    let ornate = "{ \"payload\": { \"text\": \"a\" }, \"revision\": 8.0 }"
    #expect(known().problem(with: answer(200, ornate)) == nil)
    #expect(known(deleted: true).problem(with: answer(410, ornate)) == nil)
}

@Test func aReadOlderThanAcknowledgedIsStale() throws {
    let problem = try #require(known().problem(with: answer(200, "{\"revision\":7,\"payload\":{\"text\":\"a\"}}")))
    #expect(problem.isStale)
}

@Test(arguments: [
    (200, "{\"revision\":8,\"payload\":{\"text\":\"b\"}}"), (200, "{\"revision\":9,\"payload\":{\"text\":\"a\"}}"),
    (410, "{\"revision\":8,\"payload\":{\"text\":\"a\"}}"), (404, "{}"), (200, "{}"), (200, "not JSON"), (500, ""),
])
func aReadOfAnythingElseIsAnErrorButNotStale(status: Int, body: String) throws {
    let problem = try #require(known().problem(with: answer(status, body)))
    #expect(!problem.isStale)
}

@Test func afterAFailedWriteEitherRevisionMayBeRead() {
    var record = known()
    record.isUncertain = true
    for revision in [8, 9] {
        #expect(record.problem(with: answer(200, "{\"revision\":\(revision),\"payload\":{\"text\":\"b\"}}")) == nil)
    }
}

@Test func theTallyCountsWhatClientsSee() {
    let tally = Tally()
    let byNew = ["cutover-backend": "new", "cutover-reason": "in-percent"]
    tally.answered(answer(200, "", headers: byNew), user: "a", isWrite: false)
    let first = tally.counts
    tally.answered(answer(200, "", headers: byNew), user: "a", isWrite: true)
    tally.answered(answer(200, "", headers: ["cutover-reason": "fallback-connect"]), user: "b", isWrite: false)
    tally.answered(answer(200, "", headers: ["idempotent-replayed": "true"]), user: "b", isWrite: true)
    for _ in 0..<9 { tally.complain("why", isStaleRead: true) }
    let seen = tally.counts.since(first)
    #expect(tally.usersOnNew == 1)
    #expect(seen.requests == 3)
    #expect(seen.writes == 2)
    #expect(seen.byNew == 1)
    #expect(seen.fallbacks == 1)
    #expect(seen.replays == 1)
    #expect(seen.errors == 9)
    #expect(seen.staleReads == 9)
    #expect(tally.complaints.count == 5)
}

@Test func aChangeSurvivesTheWire() throws {
    var random = SeededGenerator(seed: 3)
    for type in Change.types {
        var user = SampleUser(id: "reader-001", history: [])
        let payload = SampleData.payload(type, &random)
        let change = user.change(KnownRecord(id: "r", type: type), payload: payload, deleted: false, run: "run")
        #expect(try Change(body: Array(change.json.utf8)) == change)
    }
}

@Test func noTwoUsersAndNoTwoChangesShareAName() {
    #expect(Set(SampleData.users(2000)).count == 2000)
    var user = SampleUser(id: "reader-001", history: [])
    let record = KnownRecord(id: "r", type: "note")
    let keys = (0..<10).map { _ in user.change(record, payload: "{}", deleted: false, run: "run").key }
    #expect(Set(keys).count == 10)
}

import Testing

@testable import Demo

private let whole = """
    {"id":"c1","userId":"u1","recordId":"r1","deviceId":"phone","revision":8.0,"type":"note",
     "payload":{"text":"a"},"idempotencyKey":"k1"}
    """

@Test func aChangeIsReadWhole() throws {
    let change = try Change(body: Array(whole.utf8))
    #expect(change.revision == 8)
    #expect(change.payload == "{\"text\":\"a\"}")
    #expect(!change.deleted)
}

@Test func aDeleteNeedsNoPayload() throws {
    let text = whole.replacing("\"payload\":{\"text\":\"a\"}", with: "\"deleted\":true")
    let change = try Change(body: Array(text.utf8))
    #expect(change.deleted)
    #expect(change.payload == "{}")
}

@Test(arguments: [
    ("\"userId\":\"u1\"", "\"userId\":\"\"", "userId"), ("\"recordId\":\"r1\",", "", "recordId"),
    ("8.0", "0", "revision"), ("8.0", "\"8\"", "revision"), ("8.0", "8.5", "revision"),
    ("\"note\"", "\"poem\"", "type"), ("{\"text\":\"a\"}", "[]", "payload"), ("{\"id\"", "[\"id\"", "JSON"),
])
func aBadChangeIsNamed(part: String, instead: String, named: String) {
    let text = whole.replacing(part, with: instead)
    let error = #expect(throws: ChangeProblem.self) { try Change(body: Array(text.utf8)) }
    #expect(error?.message.contains(named) == true)
}

@Test func theTwoDialectsDifferAsBytesAndAreEqualAsContent() throws {
    var change = try Change(body: Array(whole.utf8))
    change.payload = #"{"text":"a \"b\", c: 12","page":12,"share":0.25,"tags":["x","y"],"none":null,"minus":-3e2}"#
    let record = StoredRecord(change)
    let compact = Dialect.compact.text(record, serverTime: 1)
    let ornate = Dialect.ornate.text(record, serverTime: 1)
    #expect(compact != ornate)
    #expect(contentHash(of: compact) == contentHash(of: ornate))
    #expect(ornate.contains(#""a \"b\", c: 12""#))
    #expect(ornate.contains("\"page\": 12.0"))
}

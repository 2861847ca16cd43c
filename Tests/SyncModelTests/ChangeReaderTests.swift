import Testing

@testable import SyncModel

struct ChangeReaderTests {
    private func read(_ body: String, key: String? = nil) throws(ChangeProblem) -> ChangeRequest {
        try ChangeReader().read(Array(body.utf8), key: key)
    }

    private let whole = #"{"userId":"u","recordId":"r","revision":1,"payload":{},"idempotencyKey":"k"}"#

    @Test func aChangeIsReadWithEverythingThatItSays() throws {
        let request = try read(
            #"""
            {"id":"c1","userId":42,"recordId":"r\u0031","deviceId":"phone","revision":8,"type":"note","payload":{"a": [1,
            2]},"idempotencyKey":"k","createdAt":"2019-01-02T03:04:05.006Z","updatedAt":1546398245006,"recordName":"N",
            "container":"C","other":true}
            """#)
        let change = request.changes[0]
        #expect(!request.isList && request.changes.count == 1)
        #expect(change.user == "42" && change.record == "r1" && change.revision == 8 && change.type == .note)
        #expect(change.payload == #"{"a": [1, 2]}"#, "on one line, else as it was")
        #expect(change.createdAt == 1_546_398_245_006 && change.updatedAt == 1_546_398_245_006)
        #expect(change.recordName == "N" && change.container == "C" && change.device == "phone")
    }

    @Test func aListIsAList() throws {
        let request = try read(#"{"changes":[\#(whole),\#(whole)]}"#)
        #expect(request.isList && request.changes.count == 2)
    }

    @Test func theKeyOfTheRequestServesAChangeWithoutOne() throws {
        let body = #"{"userId":"u","recordId":"r","revision":1,"payload":{}}"#
        #expect(try read(body, key: "header").changes[0].key == "header")
        #expect(throws: ChangeProblem.self) { try read(body) }
    }

    @Test(
        arguments: [
            ("[]", "the body is not a JSON object"),
            (#"{"userId":"u"}"#, "revision must be an integer, 0 or more"),
            (#"{"userId":"","recordId":"r","revision":1}"#, "userId must be a text of 1 to 512 bytes"),
            (#"{"userId":"u","userId":"v","recordId":"r","revision":1}"#, "userId is given twice"),
            (
                #"{"userId":"u","recordId":"r","revision":1.5,"payload":{},"idempotencyKey":"k"}"#,
                "revision must be an integer, 0 or more"
            ),
            (
                #"{"userId":"u","recordId":"r","revision":1,"payload":[],"idempotencyKey":"k"}"#,
                "payload must be an object"
            ),
            (
                #"{"userId":"u","recordId":"r","revision":1,"type":"x","payload":{},"idempotencyKey":"k"}"#,
                "type must be one of document, highlight, note, progress"
            ),
            (
                #"{"userId":"u","recordId":"r","revision":1,"deleted":"yes","idempotencyKey":"k"}"#,
                "deleted must be true or false"
            ),
            (
                #"{"userId":"u","recordId":"r","revision":1,"type":"highlight","payload":{"a":1,"a":2},"idempotencyKey":"k"}"#,
                "payload must have at most 64 members, each once"
            ),
            (#"{"changes":[]}"#, "changes must be 1 to 1000 objects"),
            (#"{"changes":{}}"#, "changes must be an array"),
        ])
    func whatIsWrongIsNamed(body: String, text: String) {
        do throws(ChangeProblem) {
            _ = try read(body)
            Issue.record("it was read")
        } catch {
            #expect(error == ChangeProblem(text: text))
        }
    }

    @Test func theChangeOfAListThatIsWrongIsNamed() {
        do throws(ChangeProblem) {
            _ = try read(#"{"changes":[\#(whole),{"userId":"u"}]}"#)
            Issue.record("it was read")
        } catch {
            #expect(error.index == 1)
        }
    }
}

import FoundationEssentials
import HTTPWire
import Journal
import Testing

@testable import Gateway

private struct Problem: Decodable {
    struct Item: Decodable, Equatable {
        var record: String
        var current_revision: Int64
        var received_revision: Int64
    }
    var type: String
    var title: String
    var status: Int
    var detail: String
    var request_id: String
    var current_revision: Int64?
    var received_revision: Int64?
    var action: String?
    var items: [Item]?
}

private let nasty =
    "quote \" backslash \\ tab \t line \r\n bell \u{7} nul \u{0} line separator \u{2028} 漢 🙂 / </script>"

private func problem(_ answer: OwnAnswer, requestID: String = "00ff") throws -> Problem {
    let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body(requestID: requestID).utf8))
    #expect(problem.status == answer.status && problem.request_id == requestID && !problem.detail.isEmpty)
    #expect(problem.type.hasPrefix("urn:cutover:problem/") && !problem.title.isEmpty)
    return problem
}

/// Every answer but the refusals of a head, with what the contract (§6, §8) wants it to be.
private let answers: [(OwnAnswer, status: Int, kind: String, retryAfter: Int?)] = [
    (.malformedBody, 400, "malformed-body", nil),
    (.badWrite(nasty), 400, "unusable-write", nil),
    (.requestTimeout, 408, "request-timeout", nil),
    (
        .staleRevision([StaleRevision(record: nasty, current: 8, received: 7)], isBatch: false), 409, "stale-revision",
        nil
    ),
    (.keyRunning, 409, "idempotency-key-running", 1),
    (.bodyTooLarge(limit: 8 << 20), 413, "body-too-large", nil),
    (.keyReused, 422, "idempotency-key-reused", nil),
    (.upstream(.connect), 502, "backend-unreachable", nil),
    (.upstream(.broken), 502, "backend-broke-off", nil),
    (.upstream(.malformed), 502, "backend-malformed-answer", nil),
    (.upstream(.clientGone), 502, "backend-broke-off", nil),
    (.upstream(.exhausted), 503, "backend-busy", 1),
    (.journalUnavailable, 503, "journal-unavailable", 1),
    (.laneBusy, 503, "earlier-write-outstanding", 1),
    (.upstream(.timeout), 504, "backend-timeout", nil),
]

@Test func everyAnswerOfTheGatewayHasItsStatusAndIsAProblemDocument() throws {
    for (answer, status, kind, retryAfter) in answers {
        #expect(answer.status == status && "\(answer.kind)" == kind && answer.retryAfter == retryAfter, "\(kind)")
        let problem = try problem(answer, requestID: nasty)
        #expect(problem.type == "urn:cutover:problem/\(kind)")
        #expect(StatusText.reason(status).utf8CodeUnitCount > 0 && problem.title == "\(StatusText.reason(status))")
    }
}

@Test(arguments: HeadFault.allCases)
func everyRefusalOfAHeadIsAProblemDocument(fault: HeadFault) throws {
    let problem = try problem(.malformed(fault))
    #expect([400, 414, 431, 501, 505].contains(problem.status))
    #expect(problem.detail == "\(fault.text)" && problem.type == "urn:cutover:problem/malformed-request")
}

@Test func whatAClientWroteComesBackAsItWas() throws {
    #expect(try problem(.badWrite(nasty)).detail == nasty)
}

@Test func aStaleWriteNamesItsRevisionsAndABatchAllOfThem() throws {
    let stale = [
        StaleRevision(record: nasty, current: 8, received: 7), StaleRevision(record: "b", current: 3, received: -1),
    ]
    let single = try problem(.staleRevision([stale[0]], isBatch: false))
    #expect(single.current_revision == 8 && single.received_revision == 7 && single.action == "refresh")
    #expect(single.items == nil)
    let batch = try problem(.staleRevision(stale, isBatch: true))
    #expect(batch.action == "refresh" && batch.current_revision == 8)
    #expect(
        batch.items == [
            .init(record: nasty, current_revision: 8, received_revision: 7),
            .init(record: "b", current_revision: 3, received_revision: -1),
        ])
}

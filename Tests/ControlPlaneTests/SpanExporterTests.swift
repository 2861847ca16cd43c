import HTTPClient
import HTTPWire
import Rollout
import Testing

@testable import ControlPlane
@testable import Gateway
import Values

@Suite struct SpanExporterTests {
    private func span(_ kind: Span.Kind = .server, status: Int = 200) -> Span {
        Span(
            kind: kind, trace: TraceParent(high: 1, low: 2, parent: 3, flags: 1), id: 4, parent: 3, method: .get,
            route: "/notes/{record}", role: "read", side: .legacy, reason: .inPercent, status: status, start: 10,
            end: 20)
    }

    @Test func aSpanIsWrittenAsOTLPHasIt() {
        let text = SpanMessage.body([span()], instance: "here").text
        // One part a line: together they are more than the compiler takes as one expression.
        let parts: [String] = [
            #""spans":[{"traceId":"00000000000000010000000000000002","spanId":"0000000000000004""#,
            #""parentSpanId":"0000000000000003","name":"GET /notes/{record}","kind":2,"startTimeUnixNano":"10""#,
            #""endTimeUnixNano":"20","flags":1,"attributes":[{"key":"http.request.method","value":{"stringValue":"GET"}}"#,
            #"{"key":"http.response.status_code","value":{"intValue":"200"}}"#,
            #"{"key":"http.route","value":{"stringValue":"/notes/{record}"}}"#,
            #"{"key":"cutover.kind","value":{"stringValue":"read"}}"#,
            #"{"key":"cutover.backend","value":{"stringValue":"legacy"}}"#,
            #"{"key":"cutover.reason","value":{"stringValue":"in-percent"}}]}]}]}]}"#,
        ]
        let expected = parts.joined(separator: ",")
        #expect(text.hasSuffix(expected))
    }

    @Test(arguments: [
        (Span.Kind.server, 200, false), (.server, 404, false), (.server, 500, true), (.client, 302, false),
        (.client, 404, true), (.client, 503, true),
    ])
    func whatIsAnErrorDependsOnWhoAsks(_ kind: Span.Kind, _ status: Int, _ isError: Bool) {
        let text = SpanMessage.body([span(kind, status: status)], instance: "here").text
        #expect(text.contains(#""status":{"code":2}"#) == isError)
        #expect(text.contains(#""key":"error.type","value":{"stringValue":"\#(status)"}"#) == isError)
    }

    @Test func aMethodThatNobodyKnowsIsNotTold() {
        var span = span()
        span.method = Method(name: "SECRET")
        let text = SpanMessage.body([span], instance: "here").text
        #expect(text.contains(#""name":"HTTP /notes/{record}""#) && text.contains("_OTHER") && !text.contains("SECRET"))
    }

    @Test func methodsHaveTheirNames() {
        for name in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "PROPFIND", "PROPPATCH", "OPTIONS", "SEARCH"] {
            #expect("\(Method(name: name).name)" == name)
        }
    }

    @Test(arguments: [
        (200, SpanExporter.Outcome.taken), (202, .taken), (400, .refused), (401, .refused), (404, .refused),
        (500, .refused), (429, .later(after: nil)), (502, .later(after: nil)), (503, .later(after: nil)),
        (504, .later(after: nil)),
    ])
    func whatAnAnswerMeans(_ status: Int, _ outcome: SpanExporter.Outcome) {
        #expect(SpanExporter.judge(.success(HTTPAnswer(status: status))).outcome == outcome)
    }

    @Test func theCollectorSaysWhenAndNotForEver() {
        func wait(_ text: String) -> SpanExporter.Outcome {
            SpanExporter.judge(.success(HTTPAnswer(status: 429, headers: [(name: "Retry-After", value: text)]))).outcome
        }
        #expect(wait("7") == .later(after: 7_000) && wait("99999") == .later(after: 60_000))
        #expect(wait("-1") == .later(after: 0) && wait("soon") == .later(after: nil))
        let failure = HTTPFailure(kind: .refused, detail: "refused")
        #expect(SpanExporter.judge(.failure(failure)).outcome == .later(after: nil))
    }

    @Test func whatFindsNoRoomIsDroppedAndCounted() {
        let queue = SpanQueue()
        for _ in 0..<(SpanQueue.limit + 5) { queue.push(span()) }
        #expect(queue.figures.dropped == 5)
        #expect(queue.take(atMost: 512).count == 512)
        queue.push(span())
        #expect(queue.figures.dropped == 5)
        #expect(queue.take(atMost: SpanQueue.limit).count == SpanQueue.limit - 511)
        #expect(queue.take(atMost: 1).isEmpty)
    }
}

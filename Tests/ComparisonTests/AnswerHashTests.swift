import Comparison
import Testing

@Suite struct AnswerHashTests {
    private let body = ContentHash(high: 1, low: 2)

    private func answer(_ status: Int, _ headers: [(name: String, value: String)]) -> ContentHash {
        answerHash(status: status, headers: headers, body: body)
    }

    @Test func statusHeadersAndBodyCount() {
        let plain = answer(200, [("content-type", "text/plain")])
        #expect(plain == answer(200, [("content-type", "text/plain")]))
        #expect(plain != answer(201, [("content-type", "text/plain")]))
        #expect(plain != answer(200, [("content-type", "text/html")]))
        #expect(plain != answer(200, [("content-typ", "etext/plain")]))
        #expect(plain != answer(200, []))
        #expect(
            plain
                != answerHash(
                    status: 200, headers: [("content-type", "text/plain")], body: ContentHash(high: 2, low: 1)))
        #expect(answer(200, []) != body)
    }

    @Test func caseOfNamesWhiteSpaceAroundValuesAndOrderOfNamesDoNotCount() {
        #expect(answer(200, [("Content-Type", " text/plain\t")]) == answer(200, [("content-type", "text/plain")]))
        #expect(answer(200, [("a", "1"), ("b", "2")]) == answer(200, [("B", "2"), ("A", "1")]))
        #expect(answer(200, [("a", "X")]) != answer(200, [("a", "x")]))
    }

    @Test func linesOfOneNameKeepTheirOrderAndNumber() {
        let cookies = answer(200, [("Set-Cookie", "a=1"), ("x", "y"), ("Set-Cookie", "b=2")])
        #expect(cookies == answer(200, [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("X", "y")]))
        #expect(cookies != answer(200, [("set-cookie", "b=2"), ("set-cookie", "a=1"), ("x", "y")]))
        #expect(cookies != answer(200, [("set-cookie", "a=1"), ("x", "y")]))
        #expect(answer(200, [("a", "1"), ("a", "2")]) != answer(200, [("a", "1, 2")]))
        #expect(answer(200, [("a", "")]) != answer(200, []))
    }

    @Test func addingBytesInSortedOrderIsTheSame() {
        var answer = AnswerHash(status: 404)
        for (name, value) in [("Content-Type", "a/b"), ("ETag", "\"1\"")] {
            Array(name.utf8).withUnsafeBufferPointer { name in
                Array(value.utf8).withUnsafeBufferPointer { answer.add(name: name, value: $0) }
            }
        }
        #expect(
            answer.finish(body: body)
                == answerHash(status: 404, headers: [("etag", "\"1\""), ("content-type", "a/b")], body: body))
    }

    @Test(arguments: [
        ("application/json", true), ("application/json; charset=utf-8", true), (" Application/JSON ;x", true),
        ("text/json", true), ("application/problem+json", true), ("application/vnd.api+JSON;a=b", true),
        ("application/jsonp", false), ("text/plain", false), ("application/x-ndjson", false), ("", false),
        ("+json", false),
        ("application/xml; a=application/json", false), ("json", false), ("application/json+xml", false),
    ])
    func jsonMediaTypesAreTold(_ value: String, _ expected: Bool) {
        #expect(isJSONMediaType(value) == expected)
    }
}

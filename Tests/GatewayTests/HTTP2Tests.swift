import Testing

@testable import Gateway

/// What an HTTP/2 request becomes before anything else of the gateway sees it.
@Suite struct HTTP2Requests {
    private let pool = BlockPool()

    private func text(
        _ fields: [(String, String)], hasBody: Bool = false, limit: Int = 64 * 1024
    ) -> String? {
        var text = HTTP2RequestText(fields: Buffer(pool: pool), limit: limit)
        for (name, value) in fields {
            let name = Array(name.utf8)
            let value = Array(value.utf8)
            let isRight = name.withUnsafeBufferPointer { name in
                value.withUnsafeBufferPointer { text.add(name, $0) }
            }
            guard isRight else { return nil }
        }
        let out = Buffer(pool: pool)
        text.write(to: out, hasBody: hasBody)
        return String(decoding: out.bytes, as: UTF8.self)
    }

    private let get = [(":method", "GET"), (":scheme", "https"), (":path", "/a?b"), (":authority", "h:1")]

    @Test func aRequestBecomesTheHeadThatItMeans() {
        #expect(
            text(get + [("x-user-id", "42"), ("accept", "*/*")])
                == "GET /a?b HTTP/1.1\r\nHost: h:1\r\nx-user-id: 42\r\naccept: */*\r\n\r\n")
    }

    @Test func crumbsOfACookieBecomeOneLine() {
        #expect(
            text(get + [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")])
                == "GET /a?b HTTP/1.1\r\nHost: h:1\r\nx: y\r\ncookie: a=1; b=2\r\n\r\n")
    }

    @Test func aBodyWithoutLengthIsChunkedAndOneWithALengthIsNot() {
        #expect(text(get, hasBody: true)?.hasSuffix("Transfer-Encoding: chunked\r\n\r\n") == true)
        #expect(
            text(get + [("content-length", "5")], hasBody: true)
                == "GET /a?b HTTP/1.1\r\nHost: h:1\r\ncontent-length: 5\r\n\r\n")
    }

    @Test(arguments: [
        ("x", "a\r\nb: c"), ("x", "a\nb"), ("x", "a\0"), ("x", "\u{7f}"), ("X", "upper"), ("a b", "x"), ("a:b", "x"),
        ("", "x"), ("a\r\nb", "x"), ("connection", "close"), ("keep-alive", "x"), ("proxy-connection", "x"),
        ("transfer-encoding", "chunked"), ("upgrade", "x"), ("host", "other"), (":path", "/a b"), (":path", "/\r\n"),
        (":method", "GET /x"), (":authority", "a\nb"), (":unknown", "x"), (":status", "200"),
    ])
    func nothingThatHTTP1WouldReadOtherwisePasses(name: String, value: String) {
        #expect(text(get + [(name, value)]) == nil)
    }

    @Test func hostCountsWhereThereIsNoAuthorityAndHasToAgreeWithOne() {
        let without = get.filter { $0.0 != ":authority" }
        #expect(text(without + [("host", "h")]) == "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(text(get + [("host", "h:1")]) == "GET /a?b HTTP/1.1\r\nHost: h:1\r\n\r\n")
        #expect(text(without + [("host", "h"), ("host", "i")]) == nil)
    }

    @Test func whatIsOfTheHopStaysBehind() {
        #expect(text(get + [("te", "trailers")]) == "GET /a?b HTTP/1.1\r\nHost: h:1\r\n\r\n")
    }

    @Test func fieldsBeyondTheLimitTakeNoMemory() {
        let long = (0..<1000).map { ("x-\($0)", String(repeating: "v", count: 100)) }
        let count = text(get + long, limit: 10_000)?.utf8.count ?? 0
        #expect(count > 10_000 && count < 10_300, "the parser says 431 to what is over the limit")
    }
}

@Suite struct HTTP2Budgets {
    @Test func soManyAtOnceAndSoManyASecond() {
        var budget = HTTP2Budget(burst: 3, perSecond: 10, now: 1_000)
        func spend(_ count: Int, at now: UInt64) -> [Bool] { (0..<count).map { _ in budget.spend(now: now) } }
        #expect(spend(4, at: 1_000) == [true, true, true, false])
        #expect(spend(1, at: 1_099) == [false])
        #expect(spend(2, at: 1_100) == [true, false])
        #expect(spend(4, at: 9_000) == [true, true, true, false], "no more is saved up than the burst")
    }

    @Test func aSteadyRateNeverRunsOut() {
        var budget = HTTP2Budget(burst: 2, perSecond: 10, now: 0)
        let spent = (0..<1000).map { turn in budget.spend(now: UInt64(turn) * 100) }
        #expect(!spent.contains(false))
    }
}

@Suite struct HTTP2Prefaces {
    @Test func thePrefaceIsKnownByItsBytesHoweverManyHaveCome() {
        let whole = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        let buffer = Buffer(pool: BlockPool())
        for byte in whole.dropLast() {
            buffer.append(byte: byte)
            #expect(HTTP2Preface.judge(buffer) == .undecided)
        }
        buffer.append(byte: whole[whole.count - 1])
        #expect(HTTP2Preface.judge(buffer) == .http2)
        buffer.append(byte: 0)
        #expect(HTTP2Preface.judge(buffer) == .http2)
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n", "PRI * HTTP/1.1", "P ", "\u{16}\u{3}\u{1}"])
    func anythingElseIsKnownAtItsFirstOtherByte(said: String) {
        let buffer = Buffer(pool: BlockPool())
        buffer.append(text: said)
        #expect(HTTP2Preface.judge(buffer) == .other)
    }
}

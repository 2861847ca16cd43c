import HTTPWire
import Testing

@Suite struct LimitTests {
    private let limits = WireLimits(targetBytes: 20, headerLineBytes: 40, headerBytes: 120, headerLines: 5)

    private func padded(_ prefix: String, to count: Int) -> String {
        prefix + String(repeating: "x", count: count - prefix.utf8.count)
    }

    @Test func aTargetAtTheLimitPassesAndOneByteMoreIs414() {
        for (count, fault) in [(20, nil), (21, HeadFault.targetTooLong), (500, .targetTooLong)] {
            let head = request("GET \(padded("/", to: count)) HTTP/1.1\r\nHost: a\r\n\r\n", limits: limits)
            #expect(head.fault == fault)
        }
        let standard = WireLimits()
        #expect(request("GET \(padded("/", to: 8192)) HTTP/1.1\r\nHost: a\r\n\r\n", limits: standard).fault == nil)
        #expect(
            request("GET \(padded("/", to: 8193)) HTTP/1.1\r\nHost: a\r\n\r\n", limits: standard).fault
                == .targetTooLong)
    }

    @Test func aTargetThatNeverEndsIsRefusedWithoutItsEnd() {
        #expect(request("GET \(padded("/", to: 29))", limits: limits).outcome == .incomplete)
        #expect(request("GET \(padded("/", to: 30))", limits: limits).fault == .targetTooLong)
    }

    @Test func aMethodIsBounded() {
        #expect(request("\(padded("", to: 32)) / HTTP/1.1\r\nHost: a\r\n\r\n").outcome == .complete)
        #expect(request("\(padded("", to: 33)) / HTTP/1.1\r\nHost: a\r\n\r\n").fault == .methodTooLong)
        #expect(request(padded("", to: 32)).outcome == .incomplete)
        #expect(request(padded("", to: 33)).fault == .methodTooLong)
    }

    @Test func aLineAtTheLimitPassesAndOneByteMoreIs431() {
        for (count, fault) in [(40, nil), (41, HeadFault.headerLineTooLong)] {
            let line = padded("X: ", to: count)
            #expect(request("GET / HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n", limits: limits).fault == fault)
            #expect(response("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n", limits: limits).fault == fault)
            #expect(response("\(padded("HTTP/1.1 200 ", to: count))\r\n\r\n", limits: limits).fault == fault)
        }
        #expect(request("GET / HTTP/1.1\r\n\(padded("X: ", to: 40))", limits: limits).outcome == .incomplete)
        #expect(request("GET / HTTP/1.1\r\n\(padded("X: ", to: 41))", limits: limits).fault == .headerLineTooLong)
        #expect(response("\(padded("HTTP/1.1 200 ", to: 41))", limits: limits).fault == .headerLineTooLong)
    }

    @Test func allLinesTogetherAtTheLimitPassAndOneByteMoreIs431() {
        // 9 bytes of Host, two lines of 40 + 2, one of `rest` + 2, the empty line of 2: 120 where rest is 23.
        for (rest, fault) in [
            (23, nil), (24, HeadFault.headersTooLarge), (25, .headersTooLarge), (40, .headersTooLarge),
        ] {
            let lines = [40, 40, rest].map { padded("X: ", to: $0) + "\r\n" }.joined()
            #expect(request("GET /\(rest) HTTP/1.1\r\nHost: a\r\n\(lines)\r\n", limits: limits).fault == fault)
            #expect(response("HTTP/1.1 200 OK\r\nHost: a\r\n\(lines)\r\n", limits: limits).fault == fault)
        }
    }

    @Test func theNumberOfLinesAtTheLimitPassesAndOneMoreIs431() {
        for (count, fault) in [(4, nil), (5, HeadFault.tooManyHeaderLines)] {
            let lines = String(repeating: "X: 1\r\n", count: count)
            #expect(request("GET / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n", limits: limits).fault == fault)
        }
        for (count, fault) in [(199, nil), (200, HeadFault.tooManyHeaderLines)] {
            let lines = (0..<count).map { "X-\($0): \($0)\r\n" }.joined()
            let head = request("GET / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n")
            #expect(head.fault == fault)
            if fault == nil {
                #expect(head.fields.count == 200)
                for k in 0..<count {
                    #expect(head.name(k + 1) == "X-\(k)")
                    #expect(head.value(k + 1) == "\(k)")
                }
            }
        }
    }

    @Test func aTableOfFieldsThatGrewServesTheNextMessage() {
        let many = Array(("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: 1\r\n", count: 150) + "\r\n").utf8)
        let few = Array("HEAD /b HTTP/1.0\r\nY: 2\r\n\r\n".utf8)
        let head = MessageHead(limits: WireLimits())
        let buffer = GuardedBytes(capacity: many.count)
        for _ in 0..<3 {
            #expect(head.parseRequest(buffer.place(many, filler: 0), many.count) == .complete)
            #expect(head.fieldCount == 151)
            #expect(head.parseRequest(buffer.place(few, filler: 0), few.count) == .complete)
            #expect(HeadSnapshot(.complete, head, few) == parse(few, asRequest: true))
        }
    }

    @Test func limitsOfOneAndZeroAreKept() {
        let tiny = WireLimits(targetBytes: 1, headerLineBytes: 7, headerBytes: 11, headerLines: 1)
        #expect(request("GET / HTTP/1.1\r\nHost: a\r\n\r\n", limits: tiny).outcome == .complete)
        #expect(request("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", limits: tiny).fault == .targetTooLong)
        let none = WireLimits(targetBytes: 1, headerLineBytes: 16, headerBytes: 2, headerLines: 0)
        #expect(request("GET / HTTP/1.0\r\n\r\n", limits: none).outcome == .complete)
        #expect(request("GET / HTTP/1.0\r\nA:\r\n\r\n", limits: none).fault == .headersTooLarge)
        let noLines = WireLimits(headerLines: 0)
        #expect(request("GET / HTTP/1.0\r\nA:\r\n\r\n", limits: noLines).fault == .tooManyHeaderLines)
    }
}

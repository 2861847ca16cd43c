import HTTPWire
import Testing

/// However a head is cut on its way, it is read as in one piece.
@Suite struct ResumingTests {
    static let requests = [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\r\nPOST /a/b?c=d HTTP/1.1\r\nHost: a:80\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\nrest of it",
        "PROPPATCH http://h/x?y HTTP/1.1\r\nHost: h\r\nConnection: close, X-A\r\nX-A: \t 1 \t\r\nCutover-A:\r\n\r\n",
        "GET / HTTP/1.0\r\nA-Long-Name-That-Is-Longer-Than-24-Bytes: v\r\nProxy-Authentication-Info: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\n\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", "GET /\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\rX", "\rGET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n",
    ]
    static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204\r\n\r\n",
        "HTTP/1.0 301 Moved\r\nLocation: /a\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nConnection: keep-alive\r\n\r\nbody",
        "HTTP/1.1 999 x\r\n\r\n", "HTTP/1.1 200 OK\nA: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA\r\n\r\n",
    ]

    /// Parses a prefix, then all of it from another address with other slack; both must not show.
    private func parse(
        _ bytes: [UInt8], cutAt cuts: some Sequence<Int>, asRequest: Bool, limits: WireLimits = WireLimits()
    ) -> HeadSnapshot {
        let head = MessageHead(limits: limits)
        let buffers = [GuardedBytes(capacity: bytes.count), GuardedBytes(capacity: bytes.count)]
        var turn = 0
        for count in Array(cuts) + [bytes.count] {
            let p = buffers[turn & 1].place(bytes[..<count], filler: [0, 10, 13, 58, 32, 255][turn % 6])
            turn += 1
            let outcome = asRequest ? head.parseRequest(p, count) : head.parseResponse(p, count)
            if outcome == .complete { return HeadSnapshot(outcome, head, bytes) }
            if case .refused = outcome {
                // Sticky, whatever comes then.
                let again = asRequest ? head.parseRequest(p, count) : head.parseResponse(p, count)
                #expect(again == outcome)
                return HeadSnapshot(outcome, head, bytes)
            }
        }
        return HeadSnapshot(.incomplete, head, bytes)
    }

    @Test(arguments: requests + responses.map { "<" + $0 })
    func everyCutGivesTheSameAsOnePiece(text: String) {
        let asRequest = !text.hasPrefix("<")
        let bytes = Array(text.utf8.dropFirst(asRequest ? 0 : 1))
        let whole = HTTPWireTests.parse(bytes, asRequest: asRequest)
        for cut in 0...bytes.count {
            #expect(parse(bytes, cutAt: [cut], asRequest: asRequest) == whole, "cut at \(cut)")
        }
        #expect(parse(bytes, cutAt: 0...bytes.count, asRequest: asRequest) == whole)
    }

    @Test func everyCutOfOverlongHeadsGivesTheSameAsOnePiece() {
        let limits = WireLimits(targetBytes: 6, headerLineBytes: 10, headerBytes: 30, headerLines: 2)
        let heads = [
            "GET /12345 HTTP/1.1\r\nHost: a\r\nX: 4567890\r\n\r\n", "GET /123456 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /1234567890\u{0} HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: 45678901\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nY: 2\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: 456789\u{0}1234\n\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: 6789a\r\nX: 4567890\r\nY: 4567890\r\n\r\n",
        ]
        for text in heads {
            let bytes = Array(text.utf8)
            let whole = HTTPWireTests.parse(bytes, asRequest: true, limits: limits)
            for cut in 0...bytes.count {
                let parts = parse(bytes, cutAt: [cut], asRequest: true, limits: limits)
                #expect(parts == whole, "\(text.debugDescription) cut at \(cut)")
            }
            #expect(parse(bytes, cutAt: 0...bytes.count, asRequest: true, limits: limits) == whole)
        }
    }

    @Test func bytesThatWereScannedAreNotScannedAgain() {
        // A control character written behind the parser's back into the value it has already seen goes unnoticed:
        // only so is a head that comes byte by byte read in linear time.
        var bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX: abcdefghijklmnopqrstuvwxyz\r\n\r\n".utf8)
        let whole = HTTPWireTests.parse(bytes, asRequest: true)
        let head = MessageHead(limits: WireLimits())
        let buffer = GuardedBytes(capacity: bytes.count)
        #expect(head.parseRequest(buffer.place(bytes, filler: 0), 40) == .incomplete)
        bytes[7] = 0
        bytes[20] = 0
        bytes[32] = 0
        #expect(head.parseRequest(buffer.place(bytes, filler: 0), bytes.count) == .complete)
        #expect((0..<head.fieldCount).map { head.field($0) } == whole.fields)
    }

    @Test func afterResetAnotherMessageIsReadAfresh() {
        let head = MessageHead(limits: WireLimits())
        let buffer = GuardedBytes(capacity: 200)
        let wanted = Array("GET /b HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
        for text in Self.requests + ["POST /half HTTP/1.1\r\nHost: a\r\nContent-Len", "P"] {
            let bytes = Array(text.utf8)
            _ = head.parseRequest(buffer.place(bytes, filler: 0), bytes.count)
            head.reset()
            let outcome = head.parseRequest(buffer.place(wanted, filler: 0), wanted.count)
            #expect(HeadSnapshot(outcome, head, wanted) == HTTPWireTests.parse(wanted, asRequest: true))
        }
    }
}

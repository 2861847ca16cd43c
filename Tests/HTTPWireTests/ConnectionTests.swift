import HTTPWire
import Testing

@Suite struct ConnectionTests {
    private func head(_ version: String, _ fields: [String]) -> HeadSnapshot {
        request("GET / HTTP/\(version)\r\nHost: a\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    @Test(arguments: [
        ("1.1", [], true), ("1.1", ["Connection: close"], false), ("1.1", ["Connection: CLOSE"], false),
        ("1.1", ["Connection: keep-alive"], true), ("1.1", ["Connection: keep-alive, close"], false),
        ("1.1", ["Connection: close", "Connection: keep-alive"], false), ("1.1", ["Connection: x ,\tclose ,"], false),
        ("1.1", ["Connection: closed"], true), ("1.1", ["Connection:"], true), ("1.1", ["Connection: , ,"], true),
        ("1.0", [], false), ("1.0", ["Connection: keep-alive"], true), ("1.0", ["Connection: Keep-Alive"], true),
        ("1.0", ["Connection: keep-alive", "Connection: close"], false), ("1.0", ["Connection: x"], false),
        ("1.0", ["Keep-Alive: timeout=5"], false),
    ])
    func theConnectionLivesOnAsVersionAndOptionsSay(version: String, fields: [String], keepAlive: Bool) {
        #expect(head(version, fields)["keepAlive"] == (keepAlive ? 1 : 0))
        let answer = response("HTTP/\(version) 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
        #expect(answer["keepAlive"] == (keepAlive ? 1 : 0))
    }

    @Test(arguments: [
        ("1.1", ["Connection: Upgrade", "Upgrade: websocket"], true),
        ("1.1", ["Upgrade: websocket", "Connection: keep-alive, upgrade"], true),
        ("1.1", ["Upgrade: websocket"], false), ("1.1", ["Connection: upgrade"], false),
        ("1.0", ["Connection: Upgrade", "Upgrade: websocket"], false),
    ])
    func anUpgradeNeedsBothFields(version: String, fields: [String], wants: Bool) {
        #expect(head(version, fields)["wantsUpgrade"] == (wants ? 1 : 0))
    }

    @Test(arguments: [
        ("1.1", "100-continue", true), ("1.1", "100-Continue", true), ("1.0", "100-continue", false),
        ("1.1", "200-ok", false), ("1.1", "", false), ("1.1", "100-continue2", false),
    ])
    func onlyHTTP11ExpectsContinue(version: String, value: String, expects: Bool) {
        #expect(head(version, ["Expect: \(value)"])["expectsContinue"] == (expects ? 1 : 0))
    }

    @Test func fieldsThatConnectionNamesAreMarkedWhereverTheyStand() {
        let head = head("1.1", ["X-Hop: 1", "Connection: close, x-HOP", "x-hop: 2", "X-Hop-2: 3", "Trailer: X"])
        #expect(head.kinds == [.host, .namedByConnection, .connection, .namedByConnection, .other, .trailer])
        let two = self.head("1.1", ["Connection: trailer", "A: 1", "Trailer: X", "Connection: a"])
        #expect(two.kinds == [.host, .connection, .namedByConnection, .namedByConnection, .connection])
    }

    @Test func fieldsThatAreKnownAsEndToEndCannotBeNominated() {
        let named = [
            "Host", "Content-Length", "Authorization", "Cookie", "If-Match", "If-None-Match", "Range", "Content-Type",
            "Content-Encoding", "Idempotency-Key", "X-Forwarded-For", "X-Request-Id", "Via", "Expect", "Connection",
            "Cutover-Reason", "Set-Cookie", "Date",
        ]
        let lines = named.dropFirst().filter { $0 != "Connection" }.map { "\($0): 1" }
        let plain = head("1.1", lines)
        let nominated = head("1.1", lines + ["Connection: " + named.joined(separator: ", ")])
        #expect(nominated.outcome == .complete)
        #expect(nominated.kinds == plain.kinds + [.connection])
        #expect(nominated["contentLength"] == 1)
        let chunked = head("1.1", ["Connection: transfer-encoding", "Transfer-Encoding: chunked"])
        #expect(chunked["isChunked"] == 1)
        #expect(chunked.kinds == [.host, .connection, .transferEncoding])
    }

    @Test func hopByHopFieldsStayThatWhenNamed() {
        let head = head("1.1", ["Connection: te, keep-alive, upgrade", "TE: trailers", "Upgrade: x", "Keep-Alive: 1"])
        #expect(head.kinds == [.host, .connection, .hopByHop, .upgrade, .hopByHop])
    }

    @Test func aFieldThatWasNamedIsNoLongerFoundAsWhatItWas() {
        let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nTrailer: x\r\nConnection: trailer\r\n\r\n".utf8)
        let head = MessageHead(limits: WireLimits())
        let buffer = GuardedBytes(capacity: 100)
        #expect(head.parseRequest(buffer.place(bytes, filler: 0), bytes.count) == .complete)
        #expect(!head.has(.trailer))
        #expect(head.firstField(kind: .trailer) == nil)
        #expect(head.firstField(kind: .namedByConnection) == head.field(1))
    }

    @Test func nominationsAreBounded() {
        func names(_ count: Int) -> String { (0..<count).map { "n\($0)" }.joined(separator: ",") }
        #expect(head("1.1", ["Connection: \(names(64))"]).outcome == .complete)
        #expect(head("1.1", ["Connection: \(names(65))"]).fault == .tooManyConnectionOptions)
        #expect(
            head("1.1", ["Connection: \(names(40))", "Connection: \(names(25))"]).fault == .tooManyConnectionOptions)
    }
}

import HTTPWire
import Testing

@Suite struct RequestLineTests {
    @Test func aPlainRequestIsTakenApart() {
        let head = request("GET /notes/42?full=1&x=y HTTP/1.1\r\nHost: example.com\r\nX-User-Id:  7 \r\n\r\nBODY")
        #expect(head.outcome == .complete)
        #expect(head.method == .get)
        #expect(head.text("leading", "methodEnd") == "GET")
        #expect(head.target == "/notes/42?full=1&x=y")
        #expect(head.path == "/notes/42")
        #expect(head.query == "full=1&x=y")
        #expect(head.authority == "")
        #expect(head["minorVersion"] == 1)
        #expect(head["leading"] == 0)
        #expect(head["keepAlive"] == 1)
        #expect(head["contentLength"] == -1)
        #expect(head["isChunked"] == 0)
        #expect(head["hasHost"] == 1)
        #expect(head["firstLineEnd"] == 35)
        #expect(head["length"] == 35 + 19 + 16 + 2)
        #expect(head.kinds == [.host, .other])
        #expect(head.name(1) == "X-User-Id")
        #expect(head.value(1) == "7")
        #expect(head.fields[0].lineStart == 35)
        #expect(head.fields[0].lineEnd == head.fields[1].lineStart)
        #expect(Int(head.fields[1].lineEnd) == head["length"] - 2)
    }

    @Test(arguments: [
        ("GET", Method.get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("DELETE", .delete),
        ("OPTIONS", .options), ("PATCH", .patch), ("TRACE", .trace), ("PROPFIND", .propfind),
        ("PROPPATCH", .proppatch), ("MKCOL", .mkcol), ("COPY", .copy), ("MOVE", .move), ("LOCK", .lock),
        ("UNLOCK", .unlock), ("REPORT", .report), ("SEARCH", .search), ("get", .other), ("Get", .other),
        ("PROPPATCX", .other), ("GETX", .other), ("P", .other), ("M-SEARCH", .other), ("VERSION-CONTROL", .other),
        ("!#$%&'*+-.^_`|~09az", .other),
    ])
    func methodsAreToldApartAndCaseSensitive(token: String, method: Method) {
        let head = request("\(token) / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.outcome == .complete)
        #expect(head.method == method)
        #expect(head.text("leading", "methodEnd") == token)
    }

    @Test func safeAndIdempotentMethodsAreThoseOfTheRegistry() {
        let all = (0...Method.other.rawValue).compactMap(Method.init(rawValue:))
        #expect(all.filter(\.isSafe) == [.get, .head, .options, .trace, .propfind, .report, .search])
        #expect(all.filter { !$0.isIdempotent } == [.post, .patch, .connect, .lock, .other])
        for method in all where method.isSafe { #expect(method.isIdempotent) }
    }

    @Test(arguments: [
        (" / HTTP/1.1", HeadFault.badMethod), ("G ET / HTTP/1.1", .badTarget), ("G(T / HTTP/1.1", .badMethod),
        ("GET\t/ HTTP/1.1", .badMethod), ("GET", .badMethod), ("G\u{e9}T / HTTP/1.1", .badMethod),
        ("GET ", .badRequestLine), ("GET /", .badRequestLine), ("GET HTTP/1.1", .badRequestLine),
        ("GET  HTTP/1.1", .badRequestLine), ("GET  / HTTP/1.1", .badTarget), ("GET /  HTTP/1.1", .badTarget),
        ("GET / HTTP/1.1 ", .badRequestLine), ("GET /a b HTTP/1.1", .badTarget), ("GET /a\tb HTTP/1.1", .badTarget),
        ("GET /a#b HTTP/1.1", .badTarget), ("GET /a?b#c HTTP/1.1", .badTarget), ("GET /?a b HTTP/1.1", .badTarget),
        ("GET /a\u{0}b HTTP/1.1", .controlCharacter), ("GET /a\u{7f}b HTTP/1.1", .controlCharacter),
        ("GET /\rb HTTP/1.1", .bareCarriageReturn), ("GET /\nb HTTP/1.1", .bareLineFeed),
        ("GET / http/1.1", .badVersion), ("GET / HTTP/1,1", .badVersion), ("GET / HTTPS1.1", .badVersion),
        ("GET / HTTP/x.1", .badVersion), ("GET / HTTP/1.2", .unsupportedVersion),
        ("GET / HTTP/2.0", .unsupportedVersion), ("PRI * HTTP/2.0", .unsupportedVersion),
        ("GET / HTTP/0.9", .unsupportedVersion), ("GET / HTTP/1.10", .badRequestLine),
        ("GET / HTTP/11", .badRequestLine),
        ("GET * HTTP/1.1", .badTargetForm), ("OPTIONS ** HTTP/1.1", .badTargetForm), ("GET a HTTP/1.1", .badTargetForm),
        ("GET ?a HTTP/1.1", .badTargetForm), ("GET ftp://a/ HTTP/1.1", .badTargetForm),
        ("GET http:/a HTTP/1.1", .badTargetForm), ("GET http: HTTP/1.1", .badTargetForm),
        ("GET http://a b/ HTTP/1.1", .badTarget), ("GET http:// HTTP/1.1", .badAuthority),
        ("GET http:///a HTTP/1.1", .badAuthority), ("GET http://u@a/ HTTP/1.1", .badAuthority),
        ("GET http://:80/ HTTP/1.1", .badAuthority), ("GET http://a:b/ HTTP/1.1", .badAuthority),
        ("GET http://a/#x HTTP/1.1", .badTarget), ("GET http://a#x HTTP/1.1", .badTarget),
        ("CONNECT a:443 HTTP/1.1", .connectUnsupported), ("CONNECT / HTTP/1.1", .connectUnsupported),
    ])
    func aBadRequestLineIsRefusedForItsReason(line: String, fault: HeadFault) {
        let head = request("\(line)\r\nHost: a\r\n\r\n")
        #expect(head.fault == fault, "\(line.debugDescription)")
        #expect(fault.status != 200)
    }

    @Test func aTLSHandshakeOnAPlainPortIsRefusedAtItsFirstByte() {
        #expect(parse([0x16], asRequest: true).fault == .badMethod)
    }

    @Test func rawBytesAbove127InATargetAreLetThrough() {
        let head = request("GET /caf\u{e9}/\u{1f600}?q=\u{fc} HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.outcome == .complete)
        #expect(head.path == "/caf\u{e9}/\u{1f600}")
        #expect(head.query == "q=\u{fc}")
    }

    @Test func aQueryBeginsAtTheFirstQuestionMark() {
        let two = request("GET /a?b?c=/d HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(two.path == "/a")
        #expect(two.query == "b?c=/d")
        let empty = request("GET /a? HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(empty.path == "/a")
        #expect(empty.query == "")
        #expect(empty["hasQuery"] == 1)
        let none = request("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(none.query == "")
        #expect(none["hasQuery"] == 0)
        #expect(none["queryStart"] == none["targetEnd"])
    }

    @Test func theAsteriskIsForOptions() {
        let head = request("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.outcome == .complete)
        #expect(head.path == "*")
        #expect(head.query == "")
    }

    @Test(arguments: [
        ("http://example.com/a/b?c=d", "example.com", "/a/b", "c=d"),
        ("HTTP://Example.com:8080/a", "Example.com:8080", "/a", ""),
        ("https://[::1]:8443/?x", "[::1]:8443", "/", "x"), ("http://a", "a", "", ""), ("http://a?q", "a", "", "q"),
        ("http://a/http://b/?c://d", "a", "/http://b/", "c://d"),
    ])
    func absoluteFormPointsIntoTheURL(target: String, authority: String, path: String, query: String) {
        let head = request("GET \(target) HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
        #expect(head.outcome == .complete)
        #expect(head.target == target)
        #expect(head.authority == authority)
        #expect(head.path == path)
        #expect(head.query == query)
    }

    @Test func hostMustBeTheAuthorityOfAnAbsoluteTarget() {
        #expect(request("GET http://A.b/ HTTP/1.1\r\nHost: a.B\r\n\r\n").outcome == .complete)
        #expect(request("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n").fault == .hostDiffersFromTarget)
        #expect(request("GET http://a/ HTTP/1.1\r\nHost: a:80\r\n\r\n").fault == .hostDiffersFromTarget)
        #expect(request("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n").fault == .hostDiffersFromTarget)
        #expect(request("GET http://a/ HTTP/1.1\r\n\r\n").fault == .missingHost)
        #expect(request("GET http://a/ HTTP/1.0\r\n\r\n").outcome == .complete)
    }

    @Test func upToTwoEmptyLinesBeforeARequestAreSkipped() {
        let plain = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
        for count in 0...2 {
            let head = request(String(repeating: "\r\n", count: count) + plain)
            #expect(head.outcome == .complete)
            #expect(head["leading"] == 2 * count)
            #expect(head.text("leading", "methodEnd") == "GET")
            #expect(head.path == "/a")
            #expect(head["length"] == plain.utf8.count + 2 * count)
        }
        #expect(request("\r\n\r\n\r\n" + plain).fault == .badMethod)
        #expect(request("\n" + plain).fault == .badMethod)
        #expect(request("\r" + plain).fault == .bareCarriageReturn)
        #expect(request("\r\n").outcome == .incomplete)
        #expect(request("\r").outcome == .incomplete)
        #expect(response("\r\nHTTP/1.1 200 OK\r\n\r\n").fault == .badStatusLine)
    }
}

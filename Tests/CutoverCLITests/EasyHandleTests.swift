import ControlPlane
import HTTPClient
import Testing
@testable import CutoverCLI

/// The real libcurl against a real socket.
struct EasyHandleTests {
    private func failure(of request: HTTPRequest) -> HTTPFailure.Kind? {
        do throws(HTTPFailure) {
            _ = try EasyHandle().exchange(request)
            return nil
        } catch {
            return error.kind
        }
    }

    private func request(_ server: CannedServer, _ method: String = "GET", body: String? = nil) -> HTTPRequest {
        var request = HTTPRequest(method: method, url: "http://127.0.0.1:\(server.port)/a/%2E%2E?q=1")
        request.userAgent = "cutover/\(productVersion)"
        request.body = body.map { Array($0.utf8) }
        return request
    }

    @Test func aRequestAndItsAnswerPassAsTheyAre() throws {
        let server = CannedServer("HTTP/1.1 201 Created\r\nContent-Length: 3\r\nX-One:  1 \r\nX-Two: 2\r\n\r\na\0b")
        var request = request(server, "PUT", body: "{\"n\":1}")
        request.headers = [(name: "Content-Type", value: "application/json"), (name: "If-Match", value: "\"3\"")]
        let answer = try EasyHandle().exchange(request)
        #expect(answer.status == 201)
        #expect(answer.body == Array("a\0b".utf8))
        #expect(answer.header("x-one") == "1")
        let sent = server.finish()
        #expect(sent.hasPrefix("PUT /a/%2E%2E?q=1 HTTP/1.1\r\n"))
        #expect(sent.contains("\r\nUser-Agent: cutover/\(productVersion)\r\n"))
        #expect(sent.contains("\r\nIf-Match: \"3\"\r\n"))
        #expect(sent.hasSuffix("\r\n\r\n{\"n\":1}"))
    }

    @Test func anEmptyBodyAndNoBodyAreTwoThings() throws {
        let empty = CannedServer("HTTP/1.1 204 No Content\r\n\r\n")
        #expect(try EasyHandle().exchange(request(empty, "POST", body: "")).status == 204)
        #expect(empty.finish().contains("\r\nContent-Length: 0\r\n"))
        let none = CannedServer("HTTP/1.1 204 No Content\r\n\r\n")
        #expect(try EasyHandle().exchange(request(none, "DELETE")).status == 204)
        #expect(!none.finish().contains("Content-Length"))
    }

    @Test func anInterimAnswerIsNotTheAnswer() throws {
        let server = CannedServer(
            "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let answer = try EasyHandle().exchange(request(server))
        #expect(answer.status == 200)
        #expect(answer.header("X-Early") == nil)
        #expect(answer.body == Array("ok".utf8))
        _ = server.finish()
    }

    @Test func aRedirectIsNotFollowed() throws {
        let server = CannedServer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        #expect(try EasyHandle().exchange(request(server)).status == 302)
        _ = server.finish()
    }

    @Test func anAnswerBeyondTheLimitIsRefused() {
        let server = CannedServer("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world")
        var request = request(server)
        request.maximumBytes = 10
        #expect(failure(of: request) == .tooLarge)
        _ = server.finish()
    }

    /// What a receiver of alerts says is its status; the rest may be long, broken, or never come.
    @Test(arguments: [
        "Content-Length: 999999999\r\n\r\nx", "Content-Length: 11\r\n\r\nhello", "Content-Length: 9\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nnonsense", "\r\nall of it",
    ])
    func whereNoBodyIsWantedTheHeadIsTheAnswer(_ rest: String) throws {
        for staysOpen in [false, true] {
            let server = CannedServer(
                "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 202 Accepted\r\nX-A: 1\r\n" + rest, staysOpen: staysOpen)
            var request = request(server, "POST", body: "{}")
            (request.wantsBody, request.timeoutMilliseconds) = (false, 1_000)
            let answer = try EasyHandle().exchange(request)
            #expect(answer.status == 202 && answer.header("X-A") == "1" && answer.body.isEmpty)
            _ = server.finish()
        }
        let half = CannedServer("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 202 Accepted\r\nX-A: 1\r\n")
        var request = request(half)
        request.wantsBody = false
        #expect(failure(of: request) == .broken)
        _ = half.finish()
    }

    @Test(arguments: ["garbage\r\n\r\n", "220 smtp ready\r\n", "\0\0\0\u{15}"])
    func anAnswerThatIsNotHTTPIsABrokenConnection(_ text: String) {
        let server = CannedServer(text)
        #expect(failure(of: request(server)) == .broken)
        _ = server.finish()
    }

    @Test func anAnswerThatIsCutShortIsAFailure() {
        let server = CannedServer("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello")
        #expect(failure(of: request(server)) == .broken)
        _ = server.finish()
        let silent = CannedServer("")
        #expect(failure(of: request(silent)) == .broken)
        _ = silent.finish()
    }

    @Test func anAnswerThatDoesNotComeIsATimeOut() {
        let server = CannedServer("", staysOpen: true)
        var request = request(server)
        request.timeoutMilliseconds = 100
        #expect(failure(of: request) == .timedOut)
        _ = server.finish()
    }

    @Test func aClosedPortIsARefusal() {
        #expect(failure(of: HTTPRequest(method: "POST", url: "http://127.0.0.1:1/x", body: [])) == .refused)
    }

    @Test func onlyHTTPIsSpoken() {
        #expect(failure(of: HTTPRequest(url: "file:///etc/hostname")) == .badURL)
        #expect(failure(of: HTTPRequest(url: "http://")) == .badURL)
    }
}

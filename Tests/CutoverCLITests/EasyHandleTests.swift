import Testing

@testable import CutoverCLI

/// The real libcurl, as far as it goes without a server.
struct EasyHandleTests {
    private func failure(of request: HTTPRequest) -> HTTPFailure.Kind? {
        do throws(HTTPFailure) {
            _ = try EasyHandle().exchange(request)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test func aClosedPortIsARefusal() {
        var request = HTTPRequest(method: "POST", url: "http://127.0.0.1:1/x")
        request.body = []
        request.headers = [(name: "X-A", value: "b")]
        #expect(failure(of: request) == .refused)
    }

    @Test func onlyHTTPIsSpoken() {
        #expect(failure(of: HTTPRequest(url: "file:///etc/hostname")) == .badURL)
        #expect(failure(of: HTTPRequest(url: "http://")) == .badURL)
    }
}

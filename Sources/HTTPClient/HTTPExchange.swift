/// One HTTP request off the hot path: of the command line, or of the control plane's own checks.
package struct HTTPRequest: Sendable {
    package var method = "GET"
    package var url: String
    package var headers: [(name: String, value: String)] = []
    /// nil sends no body at all.
    package var body: [UInt8]?
    /// Connecting, sending and receiving together.
    package var timeoutMilliseconds = 10_000
    /// A longer answer is a failure.
    package var maximumBytes = 16 << 20
    /// False where only status and headers count: the answer is complete then with its head, whatever becomes of its body.
    package var wantsBody = true
    /// PEM file of the authorities to trust instead of the system's.
    package var authorityFile: String?
    /// False takes whatever certificate is shown.
    package var verifiesPeer = true
    /// Name that the certificate must have instead of the URL's host, and that is asked for.
    package var serverName: String?
    /// PEM files of what is shown of this side.
    package var certificate: (certificateFile: String, keyFile: String)?
    /// `User-Agent`, unless a header line says another.
    package var userAgent = "cutover"

    package init(method: String = "GET", url: String, body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.body = body
    }
}

extension HTTPRequest {
    /// Host and port of an https URL, and what follows; nil for any other.
    var place: (authority: String, rest: Substring)? {
        let scheme = "https://"
        guard url.hasPrefix(scheme) else { return nil }
        let rest = url.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        return (String(rest[..<end]), rest[end...])
    }
}

/// An answer, its body as it came: content codings are not decoded.
package struct HTTPAnswer: Sendable {
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first header line of that name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Why there was no answer.
package struct HTTPFailure: Error, Equatable {
    package enum Kind: Sendable, Equatable { case badURL, unknownHost, refused, timedOut, tls, tooLarge, broken }
    package var kind: Kind
    /// libcurl's words.
    package var detail: String

    package init(kind: Kind, detail: String) {
        self.kind = kind
        self.detail = detail
    }
}

/// One HTTP request of the command line: to the admin API, or for a document to compare.
struct HTTPRequest: Sendable {
    var method = "GET"
    var url: String
    var headers: [(name: String, value: String)] = []
    /// nil sends no body at all.
    var body: [UInt8]?
    /// Connecting, sending and receiving together.
    var timeoutMilliseconds = 10_000
    /// A longer answer is a failure.
    var maximumBytes = 16 << 20
    /// PEM file of the authorities to trust instead of the system's.
    var authorityFile: String?
}

/// An answer, its body as it came: content codings are not decoded.
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []

    /// The first header line of that name.
    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Why there was no answer.
struct HTTPFailure: Error, Equatable {
    enum Kind: Sendable, Equatable { case badURL, unknownHost, refused, timedOut, tls, tooLarge, broken }
    var kind: Kind
    /// libcurl's words.
    var detail: String
}

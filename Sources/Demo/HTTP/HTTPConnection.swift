internal import CCurl

/// One connection of a client: a libcurl easy handle that keeps its connection alive from request to request.
///
/// Belongs to one thread. libcurl repeats a request by itself when a kept connection turns out to be dead; every write of
/// the demo carries an idempotency key, so that a repeat is harmless.
final class HTTPConnection {
    private let handle: UnsafeMutableRawPointer

    /// curl_global_init is not safe to call from two threads at once; a static is initialised once.
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init() throws(DemoFailure) {
        guard Self.isReady, let handle = curl_easy_init() else { throw DemoFailure("libcurl could not be started") }
        self.handle = handle
    }

    deinit { curl_easy_cleanup(handle) }

    /// Sends a request and waits for the whole answer.
    func exchange(_ request: Request) throws(ExchangeFailure) -> Answer {
        // Options go, the connection stays.
        curl_easy_reset(handle)
        var headers: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(headers) }
        for header in request.headers {
            guard let list = curl_slist_append(headers, "\(header.name): \(header.value)") else {
                throw ExchangeFailure(detail: "out of memory")
            }
            headers = list
        }
        try configure(request)
        try check(ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, headers))
        let receiver = Receiver()
        // libcurl calls back only inside curl_easy_perform, during which `receiver` is alive.
        let context = UnsafeRawPointer(Unmanaged.passUnretained(receiver).toOpaque())
        try check(ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        try check(ccurl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        try check(ccurl_set_function(handle, CURLOPT_WRITEFUNCTION, receiveBody))
        try check(ccurl_set_function(handle, CURLOPT_HEADERFUNCTION, receiveHeader))
        try check(withExtendedLifetime(receiver) { curl_easy_perform(handle) })
        var status = 0
        try check(ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status))
        return Answer(status: status, headers: receiver.headers, body: receiver.body)
    }

    private func configure(_ request: Request) throws(ExchangeFailure) {
        try check(ccurl_set_string(handle, CURLOPT_URL, request.url))
        try check(ccurl_set_string(handle, CURLOPT_USERAGENT, "cutover-demo"))
        // Everything is on this machine, whatever proxies the environment knows.
        try check(ccurl_set_string(handle, CURLOPT_NOPROXY, "*"))
        try check(ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1))
        try check(ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, 30_000))
        if let body = request.body {
            // COPYPOSTFIELDS copies now, as many bytes as the size that was set before it.
            try check(ccurl_set_long(handle, CURLOPT_POSTFIELDSIZE, body.utf8.count))
            try check(ccurl_set_string(handle, CURLOPT_COPYPOSTFIELDS, body))
        }
        try check(ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, request.method))
    }

    private func check(_ code: CURLcode) throws(ExchangeFailure) {
        guard code != CURLE_OK else { return }
        // curl_easy_strerror returns a constant text.
        throw ExchangeFailure(detail: curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)")
    }
}

struct Request {
    var method = "GET"
    var url: String
    var headers: [(name: String, value: String)] = []
    /// nil sends no body at all.
    var body: String?
}

struct Answer {
    var status: Int
    /// Names in lower case.
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Reads the body's members; nil when it is no JSON object.
    func withFields<Value>(_ read: (Fields) -> Value?) -> Value? {
        body.withUnsafeBufferPointer { bytes in Fields(bytes).flatMap(read) }
    }
}

/// There was no answer: libcurl's words.
struct ExchangeFailure: Error {
    let detail: String
}

/// What the callbacks gather.
private final class Receiver {
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    func takeHeader(_ bytes: UnsafeRawBufferPointer) {
        let line = String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // A new head: what came before it was an interim answer.
            headers = [:]
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0 == " " }.prefix { !$0.isNewline }
            headers[line[..<colon].lowercased()] = String(value)
        }
    }
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    // `context` is the receiver that exchange(_:) keeps alive; libcurl's bytes are valid during this call.
    guard let context else { return 0 }
    let receiver = Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue()
    receiver.body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    // As in receiveBody.
    guard let context else { return 0 }
    Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue()
        .takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}

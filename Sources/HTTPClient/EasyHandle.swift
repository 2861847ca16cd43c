import CCurl
import Glibc

/// One libcurl easy handle: made for one exchange, used on one thread, closed with the object.
///
/// A fresh handle means a fresh connection, so that libcurl never repeats a request on its own.
package final class EasyHandle {
    private let handle: UnsafeMutableRawPointer
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var connectList: UnsafeMutablePointer<curl_slist>?

    /// curl_global_init is not safe to call from two threads at once; a static is initialised once.
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    package init() throws(HTTPFailure) {
        guard Self.isReady, let handle = curl_easy_init() else {
            throw HTTPFailure(kind: .broken, detail: "libcurl could not be started")
        }
        self.handle = handle
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        curl_slist_free_all(connectList)
    }

    /// Sends the request and waits for the whole answer.
    package func exchange(_ request: HTTPRequest) throws(HTTPFailure) -> HTTPAnswer {
        try configure(request)
        let receiver = Receiver(maximumBytes: request.maximumBytes, wantsBody: request.wantsBody)
        // libcurl calls back only inside curl_easy_perform, during which `receiver` is alive.
        let context = UnsafeRawPointer(Unmanaged.passUnretained(receiver).toOpaque())
        try check(ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        try check(ccurl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        try check(ccurl_set_function(handle, CURLOPT_WRITEFUNCTION, receiveBody))
        try check(ccurl_set_function(handle, CURLOPT_HEADERFUNCTION, receiveHeader))
        let code = withExtendedLifetime(receiver) { curl_easy_perform(handle) }
        if receiver.isTooLarge {
            throw HTTPFailure(kind: .tooLarge, detail: "the answer is longer than \(request.maximumBytes) bytes")
        }
        if code == CURLE_UNSUPPORTED_PROTOCOL, request.url.lowercased().hasPrefix("http") {
            // The URL's own protocol is supported: that of the answer is meant, which libcurl took for HTTP/0.9.
            throw HTTPFailure(kind: .broken, detail: "the answer is not HTTP")
        }
        if request.wantsBody || !receiver.isHeadComplete { try check(code) }
        // libcurl takes an answer that ends within its head for a whole one.
        guard receiver.isHeadComplete else {
            throw HTTPFailure(kind: .broken, detail: "the answer ended within its head")
        }
        var status = 0
        try check(ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status))
        return HTTPAnswer(status: status, headers: receiver.headers, body: receiver.body)
    }

    private func configure(_ request: HTTPRequest) throws(HTTPFailure) {
        try configureTLS(request)
        try check(ccurl_set_string(handle, CURLOPT_PROTOCOLS_STR, "http,https"))
        try check(ccurl_set_string(handle, CURLOPT_USERAGENT, request.userAgent))
        // An operator's word goes to the gateway that was named, whatever proxies the environment knows.
        try check(ccurl_set_string(handle, CURLOPT_NOPROXY, "*"))
        // A redirect is an answer like any other: the token goes nowhere else.
        try check(ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0))
        // `..` in a target is what the user wrote.
        try check(ccurl_set_long(handle, CURLOPT_PATH_AS_IS, 1))
        try check(ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1))
        try check(ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, min(5000, request.timeoutMilliseconds)))
        try check(ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, request.timeoutMilliseconds))
        for header in request.headers {
            guard let list = curl_slist_append(headerList, "\(header.name): \(header.value)") else {
                throw HTTPFailure(kind: .broken, detail: "out of memory")
            }
            headerList = list
        }
        try check(ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, headerList))
        if let body = request.body {
            // COPYPOSTFIELDS copies now, as many bytes as the size that was set before it.
            try check(ccurl_set_long(handle, CURLOPT_POSTFIELDSIZE, body.count))
            let code = body.withUnsafeBytes { bytes in
                withUnsafePointer(to: UInt8(0)) { empty in
                    ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(empty))
                }
            }
            try check(code)
        }
        try check(ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, request.method))
    }

    private func configureTLS(_ request: HTTPRequest) throws(HTTPFailure) {
        if let file = request.authorityFile { try check(ccurl_set_string(handle, CURLOPT_CAINFO, file)) }
        if !request.verifiesPeer {
            try check(ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 0))
            try check(ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 0))
        }
        if let files = request.certificate {
            try check(ccurl_set_string(handle, CURLOPT_SSLCERT, files.certificateFile))
            try check(ccurl_set_string(handle, CURLOPT_SSLKEY, files.keyFile))
        }
        guard let name = request.serverName, let place = request.place else {
            return try check(ccurl_set_string(handle, CURLOPT_URL, request.url))
        }
        // libcurl asks for, and verifies, the URL's host: so that is the name, and the address of the connection another one.
        connectList = curl_slist_append(nil, "::\(place.authority)")
        try check(ccurl_set_pointer(handle, CURLOPT_CONNECT_TO, connectList))
        try check(ccurl_set_string(handle, CURLOPT_URL, "https://\(name)\(place.rest)"))
        if !request.headers.contains(where: { $0.name.lowercased() == "host" }) {
            headerList = curl_slist_append(headerList, "Host: \(place.authority)")
        }
    }

    private func check(_ code: CURLcode) throws(HTTPFailure) {
        guard code != CURLE_OK else { return }
        let kind: HTTPFailure.Kind
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: kind = .badURL
        case CURLE_COULDNT_RESOLVE_HOST: kind = .unknownHost
        case CURLE_COULDNT_CONNECT: kind = .refused
        case CURLE_OPERATION_TIMEDOUT: kind = .timedOut
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM:
            kind = .tls
        default: kind = .broken
        }
        // curl_easy_strerror returns a constant text.
        let text = curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
        throw HTTPFailure(kind: kind, detail: text)
    }
}

/// What the callbacks gather.
private final class Receiver {
    let maximumBytes: Int
    var headers: [(name: String, value: String)] = []
    var headerBytes = 0
    var body: [UInt8] = []
    let wantsBody: Bool
    /// The head of the answer, not of an interim one, has come whole.
    var isHeadComplete = false
    private var isInterim = false
    var isTooLarge = false

    init(maximumBytes: Int, wantsBody: Bool) {
        self.maximumBytes = maximumBytes
        self.wantsBody = wantsBody
    }

    /// A return other than `bytes.count` ends the exchange.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        // Ends the exchange: there is nothing more to wait for.
        guard wantsBody else { return 0 }
        guard body.count + bytes.count <= maximumBytes else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= 1 << 20 else {
            isTooLarge = true
            return 0
        }
        let line = String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // A new head: what came before it was an interim answer.
            headers = []
            isInterim = line.split(separator: " ").dropFirst().first?.hasPrefix("1") ?? false
        } else if line == "\r\n" || line == "\n" {
            if !isInterim { isHeadComplete = true }
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...]
            headers.append((name: String(line[..<colon]), value: trimmed(value)))
        }
        return bytes.count
    }
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    // `context` is the receiver that exchange(_:) keeps alive; libcurl's bytes are valid during this call.
    guard let context else { return 0 }
    let receiver = Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue()
    return receiver.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    // As in receiveBody.
    guard let context else { return 0 }
    let receiver = Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue()
    return receiver.takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
}

/// A header's value without the white space around it.
private func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
}

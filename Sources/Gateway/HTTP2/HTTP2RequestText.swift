import HTTPWire

/// Writes the fields of an HTTP/2 request as the HTTP/1.1 head that they mean (RFC 9113 §8.3), so that one parser, one set of
/// limits and one proxy judge the requests of both versions.
///
/// Nothing that HTTP/1.1 would read as the end of a line or of the head passes: nghttp2 refuses such fields already, and the
/// test here does not rely on it. What is wrong otherwise the parser of heads says with the status that it has for that.
struct HTTP2RequestText {
    private(set) var isHead = false
    private(set) var hasLength = false
    private var method: [UInt8] = []
    private var path: [UInt8] = []
    private var authority: [UInt8]?
    private var cookie: [UInt8] = []
    private let fields: Buffer
    private let limit: Int

    /// - Parameter limit: bytes of a head that are refused; what comes beyond them is left out, because it changes nothing.
    init(fields: Buffer, limit: Int) {
        self.fields = fields
        self.limit = limit
    }

    /// Takes one field in.
    /// - Returns: false when the request is malformed (RFC 9113 §8.1.1).
    mutating func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard HTTP2RequestText.isHarmless(value), let first = name.first else { return false }
        guard fields.count + cookie.count <= limit else { return true }
        if first == UInt8(ascii: ":") { return addPseudo(name, value) }
        guard name.allSatisfy(HTTP2RequestText.mayBeInName) else { return false }
        switch name.count {
        case 2 where name.elementsEqual("te".utf8): return true
        case 4 where name.elementsEqual("host".utf8): return addHost(value)
        case 6 where name.elementsEqual("cookie".utf8):
            // Crumbs of one field (RFC 9113 §8.2.3).
            if !cookie.isEmpty { cookie += [UInt8(ascii: ";"), UInt8(ascii: " ")] }
            cookie += value
            return true
        case 14 where name.elementsEqual("content-length".utf8): hasLength = true
        default: if HTTP2RequestText.isOfConnection(name) { return false }
        }
        append(name, value, to: fields)
        return true
    }

    private mutating func addPseudo(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        // A space would end the element of the first line that it stands in.
        guard !value.contains(0x20) else { return false }
        if name.elementsEqual(":method".utf8) {
            method = Array(value)
            isHead = value.elementsEqual("HEAD".utf8)
        } else if name.elementsEqual(":path".utf8) {
            path = Array(value)
        } else if name.elementsEqual(":authority".utf8) {
            authority = Array(value)
        } else {
            // The client's word on the scheme is not needed: the listener knows.
            return name.elementsEqual(":scheme".utf8)
        }
        return true
    }

    /// `Host` beside `:authority` has to say the same (RFC 9113 §8.3.1).
    private mutating func addHost(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        if let authority { return authority.elementsEqual(value) }
        authority = Array(value)
        return true
    }

    /// Writes the head.
    /// - Parameter hasBody: something follows it.
    func write(to out: Buffer, hasBody: Bool) {
        out.append(method)
        out.append(byte: 0x20)
        // CONNECT has no path; what HTTP/1.1 says of it is the gateway's word.
        out.append(path.isEmpty ? authority ?? [] : path)
        out.append(" HTTP/1.1\r\n")
        if let authority {
            out.append("Host: ")
            out.append(authority)
            out.append("\r\n")
        }
        out.append(fields.readable, fields.count)
        if !cookie.isEmpty {
            out.append("cookie: ")
            out.append(cookie)
            out.append("\r\n")
        }
        if hasBody, !hasLength { out.append("Transfer-Encoding: chunked\r\n") }
        out.append("\r\n")
    }

    /// Writes a trailer field.
    /// - Returns: false when it is none.
    static func appendTrailer(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, to out: Buffer, limit: Int
    ) -> Bool {
        guard isHarmless(value), !name.isEmpty, name.allSatisfy(mayBeInName) else { return false }
        guard out.count + name.count + value.count <= limit else { return false }
        out.append(name)
        out.append(": ")
        out.append(value)
        out.append("\r\n")
        return true
    }

    private func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, to out: Buffer) {
        out.append(name)
        out.append(": ")
        out.append(value)
        out.append("\r\n")
    }

    /// No control character but the tab (RFC 9110 §5.5).
    private static func isHarmless(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        value.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    /// Lower-case token characters (RFC 9113 §8.2.1).
    private static func mayBeInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "!"), UInt8(ascii: "#"),
            UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"),
            UInt8(ascii: "+"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Fields that speak about an HTTP/1.1 connection; a request that has them is malformed (RFC 9113 §8.2.2).
    private static func isOfConnection(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 7: name.elementsEqual("upgrade".utf8)
        case 10: name.elementsEqual("connection".utf8) || name.elementsEqual("keep-alive".utf8)
        case 16: name.elementsEqual("proxy-connection".utf8)
        case 17: name.elementsEqual("transfer-encoding".utf8)
        default: false
        }
    }
}

extension Buffer {
    func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let base = bytes.baseAddress { append(base, bytes.count) }
    }
}

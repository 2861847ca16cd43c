import HTTPWire
import Testing

/// RFC 9112 §6.3 and §11.2: what two recipients could read differently is refused.
@Suite struct FramingTests {
    @Test(arguments: [
        (["Content-Length: 5", "Transfer-Encoding: chunked"], HeadFault.lengthAndTransferEncoding),
        (["Transfer-Encoding: chunked", "Content-Length: 5"], .lengthAndTransferEncoding),
        (["Transfer-Encoding: chunked", "Content-Length: 0"], .lengthAndTransferEncoding),
        (["Content-Length: 5", "Content-Length: 6"], .repeatedContentLength),
        (["Content-Length: 5", "Content-Length: 5"], .repeatedContentLength),
        (["Content-Length: 5", "X: y", "content-length: 5"], .repeatedContentLength),
        (["Content-Length: 5, 5"], .repeatedContentLength), (["Content-Length: 5,6"], .repeatedContentLength),
        (["Content-Length: 5,"], .repeatedContentLength), (["Content-Length: ,5"], .badContentLength),
        (["Content-Length:"], .badContentLength), (["Content-Length:  "], .badContentLength),
        (["Content-Length: +5"], .badContentLength), (["Content-Length: -5"], .badContentLength),
        (["Content-Length: 0x5"], .badContentLength), (["Content-Length: 5 5"], .badContentLength),
        (["Content-Length: 5.0"], .badContentLength), (["Content-Length: \u{665}"], .badContentLength),
        (["Content-Length: 5a"], .badContentLength), (["Content-Length: \"5\""], .badContentLength),
        (["Content-Length: 9223372036854775808"], .badContentLength),
        (["Content-Length: 18446744073709551616"], .badContentLength),
        (["Content-Length: 18446744073709551621"], .badContentLength),
        (["Content-Length: 99999999999999999999999999"], .badContentLength),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], .repeatedTransferEncoding),
        (["Transfer-Encoding: gzip", "Transfer-Encoding: chunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], .repeatedTransferEncoding),
        (["Transfer-Encoding: chunked, chunked"], .badTransferEncoding),
        (["Transfer-Encoding: chunked, identity"], .badTransferEncoding),
        (["Transfer-Encoding: chunked;q=1"], .badTransferEncoding),
        (["Transfer-Encoding: chunked,"], .badTransferEncoding),
        (["Transfer-Encoding: ,chunked"], .badTransferEncoding), (["Transfer-Encoding:"], .badTransferEncoding),
        (["Transfer-Encoding: \"chunked\""], .badTransferEncoding),
        (["Transfer-Encoding: gzip, chunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding: identity"], .unsupportedTransferCoding),
        (["Transfer-Encoding: xchunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding: chunked2"], .unsupportedTransferCoding),
        (["Transfer-Encoding: \u{b}chunked"], .controlCharacter),
        (["Transfer-Encoding: chunked\u{0}"], .controlCharacter),
        (["Transfer-Encoding : chunked"], .spaceBeforeColon), (["Transfer-Encoding\n: chunked"], .bareLineFeed),
        (["X: y\nTransfer-Encoding: chunked"], .bareLineFeed),
        (["X: y\rTransfer-Encoding: chunked"], .bareCarriageReturn),
        ([" Transfer-Encoding: chunked"], .foldedLine), (["X:", " Transfer-Encoding: chunked"], .foldedLine),
        (["Content-Length: 5\r"], .bareCarriageReturn), (["Content-Length\u{0}: 5"], .controlCharacter),
    ])
    func ambiguousFramingIsRefused(fields: [String], fault: HeadFault) {
        let lines = fields.map { $0 + "\r\n" }.joined()
        #expect(request("POST / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n").fault == fault)
        #expect(request("POST / HTTP/1.1\r\n\(lines)Host: a\r\n\r\n").fault == fault)
        #expect(response("HTTP/1.1 200 OK\r\n\(lines)\r\n").fault == fault)
    }

    @Test func transferEncodingInHTTP10IsRefused() {
        #expect(request("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").fault == .transferEncodingInHTTP10)
        #expect(response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").fault == .transferEncodingInHTTP10)
    }

    @Test(arguments: [
        ("0", 0), ("5", 5), ("  5\t", 5), ("0005", 5), ("1234567890", 1_234_567_890), ("9223372036854775807", .max),
    ])
    func contentLengthIsADecimalNumber(value: String, length: Int) {
        #expect(request(fields: "Content-Length:\(value)")["contentLength"] == length)
    }

    @Test(arguments: ["chunked", "Chunked", "CHUNKED", "\tchunked  "])
    func chunkedIsKnownInAnyCase(value: String) {
        #expect(request(fields: "Transfer-Encoding:\(value)")["isChunked"] == 1)
        #expect(response(fields: "Transfer-Encoding:\(value)")["isChunked"] == 1)
    }

    @Test(arguments: [
        "a", "example.com", "example.com:8080", "127.0.0.1:1", "[::1]", "[2001:db8::1]:443", "[v1.a:b]", "a:",
        "a_b-c~d",
        "a%20b", "xn--bcher-kva.example", "", "a!$&'()*+,;=b",
    ])
    func aValidHostIsAccepted(host: String) {
        #expect(request("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").outcome == .complete)
    }

    @Test(arguments: [
        "a b", "a/b", "a\\b", "a@b", "a?b", "a#b", "a:b", "a:80:80", "a:123456", ":80", ":", "[::1", "[]", "[::1]x",
        "[::1]:x", "::1", "[::1%25eth0]", "a\u{e9}", "a<b", "a\"b", "a|b", "{a}", "a, b c", "http://a",
    ])
    func aHostThatNamesNoHostIsRefused(host: String) {
        #expect(request("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").fault == .badHost)
    }

    @Test func hostIsThereOnceInHTTP11() {
        #expect(request("GET / HTTP/1.1\r\n\r\n").fault == .missingHost)
        #expect(request("GET / HTTP/1.1\r\nX-Host: a\r\n\r\n").fault == .missingHost)
        #expect(request("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").fault == .repeatedHost)
        #expect(request("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n").fault == .repeatedHost)
        #expect(request("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n").fault == .repeatedHost)
        let old = request("GET / HTTP/1.0\r\n\r\n")
        #expect(old.outcome == .complete)
        #expect(old["hasHost"] == 0)
    }

    @Test func aCompleteHeadEndsBeforeWhatFollows() {
        let first = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"
        let head = request(first + "abcGET /b HTTP/1.1\r\n\r\n")
        #expect(head.outcome == .complete)
        #expect(head["length"] == first.utf8.count)
    }
}

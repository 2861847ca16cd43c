import HTTPWire
import Testing

/// RFC 9112 §7.1.
@Suite struct ChunkedBodyTests {
    static let valid: [(String, String)] = [
        ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
        ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"), ("a\r\n0123456789\r\n000\r\n\r\n", "0123456789"),
        ("0000000000000003\r\nabc\r\n0\r\n\r\n", "abc"), ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        ("3;a\r\nabc\r\n0;b=c\r\n\r\n", "abc"), ("3 ; a = \"q;\\\"\" ;b\r\nabc\r\n0\r\n\r\n", "abc"),
        ("3\t;a\r\nabc\r\n0\r\n\r\n", "abc"), ("0\r\nX-Sum: 1\r\n\r\n", ""), ("0\r\nA:\r\nB:\t \r\nC: d\r\n\r\n", ""),
        ("1\r\nx\r\n0\r\nHosts: 1\r\nContent-Length-2: 5\r\nX-Host: 1\r\n\r\n", "x"),
        ("0\r\nA-Trailer-Whose-Name-Is-Longer-Than-Twenty-Four: \u{e9}\r\n\r\n", ""),
    ]

    static let malformed = [
        "\r\n", "x\r\n", "\r\n5\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n", "5\nhello\r\n0\r\n\r\n",
        "5\rhello\r\n0\r\n\r\n",
        "5\r\rhello", "5 \r\nhello\r\n0\r\n\r\n", "5\t\r\nhello\r\n0\r\n\r\n", "5 6\r\nhello\r\n", "-5\r\nhello\r\n",
        "+5\r\nhello\r\n",
        "0x5\r\nhello\r\n", "5h\r\nhello\r\n", "5,\r\nhello\r\n", ";a\r\n", "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n", "5\r\nhello!\r\n0\r\n\r\n", "5\r\nhell\r\n0\r\n\r\n",
        "00000000000000003\r\nabc\r\n0\r\n\r\n",
        "8000000000000000\r\n", "ffffffffffffffff\r\n", "FFFFFFFFFFFFFFFFF\r\n", "10000000000000000\r\n",
        "5;a\nhello\r\n0\r\n\r\n", "5;a\r\u{0}hello", "5;\u{0}\r\nhello\r\n", "5;\u{7f}\r\nhello\r\n",
        "5;\"\n\"\r\nhello\r\n", "5;a\rb\r\n",
        "0\r\n\n", "0\r\n\rx", "0\n\n", "0\r\n X: 1\r\n\r\n", "0\r\nX : 1\r\n\r\n", "0\r\n: 1\r\n\r\n",
        "0\r\nX\r\n\r\n", "0\r\nX: 1\n\r\n",
        "0\r\nX: 1\ry\r\n", "0\r\nX: \u{0}\r\n\r\n", "0\r\nX: \u{7f}\r\n\r\n", "0\r\nX\u{e9}: 1\r\n\r\n",
        "0\r\nX: 1\r\n 2\r\n\r\n",
        "0\r\nContent-Length: 5\r\n\r\n", "0\r\ncontent-length:\r\n\r\n", "0\r\nTRANSFER-ENCODING: chunked\r\n\r\n",
        "0\r\nHost: a\r\n\r\n", "0\r\nX: 1\r\nhOST: a\r\n\r\n", "0\r\nConnection: close\r\n\r\n",
    ]

    @Test(arguments: valid)
    func chunksAreDecodedAndEndWhereTheyEnd(text: String, content: String) {
        let next = "GET / HTTP/1.1\r\n"
        let result = scanChunked(text + next)
        #expect(result == BodyResult(payload: Array(content.utf8), taken: text.utf8.count, isDone: true))
    }

    @Test(arguments: valid)
    func everyCutGivesTheSameChunks(text: String, content: String) {
        let count = text.utf8.count
        let wanted = BodyResult(payload: Array(content.utf8), taken: count, isDone: true)
        for first in 0...count {
            for second in first...count { #expect(scanChunked(text + "0\r\n", cuts: [first, second]) == wanted) }
        }
        #expect(scanChunked(text, cuts: Array(0..<count)) == wanted)
        for end in 0..<count {
            let part = scan(BodyScanner(.chunked), Array(text.utf8.prefix(end)))
            #expect(!part.isDone && !part.isMalformed && part.taken == end)
        }
    }

    @Test(arguments: malformed)
    func whatIsNotExactlyAChunkIsRefusedInWhateverPieces(text: String) {
        let count = text.utf8.count
        #expect(scanChunked(text).isMalformed, "\(text.debugDescription)")
        for cut in 0...count { #expect(scanChunked(text, cuts: [cut]).isMalformed, "cut at \(cut)") }
        #expect(scanChunked(text, cuts: Array(0..<count)).isMalformed)
    }

    @Test func theLargestSizeIsWhatAnIntHolds() {
        let result = scanChunked("7fffffffffffffff\r\nabc")
        #expect(!result.isMalformed && !result.isDone)
        #expect(result.text == "abc")
    }

    @Test func everyHexDigitCountsAsWhatItIs() {
        for (value, digit) in "0123456789abcdef".enumerated() {
            for digit in [String(digit), String(digit).uppercased()] {
                let content = String(repeating: "x", count: 16 + value)
                #expect(scanChunked("1\(digit)\r\n\(content)\r\n0\r\n\r\n").text == content)
            }
        }
        for byte in UInt8.min...UInt8.max where !Array("0123456789abcdefABCDEF\r; \t".utf8).contains(byte) {
            #expect(scan(BodyScanner(.chunked), [UInt8(ascii: "1"), byte]).isMalformed)
        }
    }

    @Test func extensionsAreBoundedOverTheWholeBody() {
        let most = String(repeating: "x", count: 4095)
        #expect(scanChunked("1;\(most)\r\na\r\n0\r\n\r\n").isDone)
        #expect(scanChunked("1;\(most)x\r\na\r\n0\r\n\r\n").isMalformed)
        #expect(scanChunked("1;\(most)\r\na\r\n0;\r\n\r\n").isMalformed)
        #expect(scanChunked(String(repeating: "1;xxx\r\na\r\n", count: 1024) + "0\r\n\r\n").isDone)
        #expect(scanChunked(String(repeating: "1;xxx\r\na\r\n", count: 1025) + "0\r\n\r\n").isMalformed)
        #expect(scanChunked("1" + String(repeating: " ", count: 4096) + ";").isMalformed)
    }

    @Test func trailersAreBounded() {
        let limits = WireLimits(headerLineBytes: 10, headerBytes: 25, headerLines: 3)
        #expect(scanChunked("0\r\nX: 4567890\r\n\r\n", limits: limits).isDone)
        #expect(scanChunked("0\r\nX: 45678901\r\n\r\n", limits: limits).isMalformed)
        // 10 + 2, 9 + 2 and the empty line of 2: 25.
        #expect(scanChunked("0\r\nX: 4567890\r\nY: 456789\r\n\r\n", limits: limits).isDone)
        #expect(scanChunked("0\r\nX: 4567890\r\nY: 4567890\r\n\r\n", limits: limits).isMalformed)
        #expect(scanChunked("0\r\nA:\r\nB:\r\nC:\r\n\r\n", limits: limits).isDone)
        #expect(scanChunked("0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n", limits: limits).isMalformed)
    }

    @Test func manyChunksOfRandomSizesInRandomPiecesComeOutWhole() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed of random chunks: \(seed)")
        var random = SeededNumbers(seed: seed)
        for _ in 0..<60 {
            var body: [UInt8] = []
            var content: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                let data = (0..<Int.random(in: 1...70, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                content += data
                body += Array(String(data.count, radix: 16).utf8) + [13, 10] + data + [13, 10]
            }
            body += Array("0\r\n\r\n".utf8)
            let cuts = (0..<20).map { _ in Int.random(in: 0...body.count, using: &random) }.sorted()
            let result = scan(BodyScanner(.chunked), body + [1, 2, 3], cuts: cuts)
            #expect(result == BodyResult(payload: content, taken: body.count, isDone: true), "seed \(seed)")
        }
    }
}

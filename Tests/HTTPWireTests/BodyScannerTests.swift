import HTTPWire
import Testing

/// What a scanner made of a stream of bytes that came in pieces.
struct BodyResult: Equatable {
    var payload: [UInt8] = []
    var taken = 0
    var isDone = false
    var isMalformed = false

    var text: String { String(decoding: payload, as: UTF8.self) }
}

/// Feeds `bytes` cut at `cuts` (offsets, rising) as a connection would: what was not taken is not offered again.
func scan(_ scanner: BodyScanner, _ bytes: [UInt8], cuts: [Int] = []) -> BodyResult {
    var scanner = scanner
    var result = BodyResult()
    let buffer = GuardedBytes(capacity: bytes.count)
    var start = 0
    for end in cuts + [bytes.count] {
        let piece = bytes[start..<end]
        let p = buffer.place(piece, filler: UInt8(ascii: "0"))
        var seen: [UInt8] = []
        let taken = scanner.scan(p, piece.count) { run, count in
            precondition(run >= UnsafePointer(p) && run + count <= UnsafePointer(p) + piece.count && count > 0)
            seen += UnsafeBufferPointer(start: run, count: count)
        }
        guard let taken else {
            result.isMalformed = true
            precondition(scanner.scan(p, piece.count) { _, _ in } == nil, "malformed must stay malformed")
            precondition(scanner.scan(p, 0) { _, _ in } == nil, "malformed must stay malformed")
            return result
        }
        result.payload += seen
        result.taken += taken
        result.isDone = scanner.isDone
        if taken < piece.count { break }
        start = end
    }
    return result
}

func scanChunked(_ text: String, cuts: [Int] = [], limits: WireLimits = WireLimits()) -> BodyResult {
    scan(BodyScanner(.chunked, limits: limits), Array(text.utf8), cuts: cuts)
}

@Suite struct BodyScannerTests {
    private func head(_ text: String, asRequest: Bool) -> MessageHead {
        let head = MessageHead(limits: WireLimits())
        let bytes = Array(text.utf8)
        let buffer = GuardedBytes(capacity: bytes.count)
        let p = buffer.place(bytes, filler: 0)
        #expect((asRequest ? head.parseRequest(p, bytes.count) : head.parseResponse(p, bytes.count)) == .complete)
        return head
    }

    private func ofRequest(_ fields: String) -> BodyScanner {
        BodyScanner.request(head("POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n", asRequest: true))
    }

    private func ofResponse(_ status: Int, _ fields: String, toHead: Bool = false) -> BodyScanner {
        BodyScanner.response(head("HTTP/1.1 \(status) x\r\n\(fields)\r\n", asRequest: false), toHead: toHead)
    }

    private let three = Array("abcdef".utf8)

    @Test func aRequestWithoutLengthHasNoBody() {
        #expect(scan(ofRequest(""), three) == BodyResult(payload: [], taken: 0, isDone: true))
        #expect(scan(ofRequest("Content-Length: 0\r\n"), three) == BodyResult(payload: [], taken: 0, isDone: true))
        #expect(ofRequest("").isDone)
        #expect(!ofRequest("").endsWithConnection)
    }

    @Test func aBodyOfKnownLengthEndsThereInWhateverPieces() {
        for cut in 0...6 {
            let result = scan(ofRequest("Content-Length: 4\r\n"), three, cuts: [cut])
            #expect(result == BodyResult(payload: Array("abcd".utf8), taken: 4, isDone: true))
        }
        let short = scan(ofRequest("Content-Length: 7\r\n"), three)
        #expect(short == BodyResult(payload: three, taken: 6, isDone: false))
        var scanner = BodyScanner(.length(10))
        #expect(scanner.remainingLength == 10)
        three.withUnsafeBufferPointer { buffer in
            if let p = buffer.baseAddress { #expect(scanner.scan(p, 6) { _, _ in } == 6) }
        }
        #expect(scanner.remainingLength == 4)
        #expect(BodyScanner(.length(-1)).isDone)
    }

    @Test func aResponseWithoutLengthEndsWithTheConnection() {
        let scanner = ofResponse(200, "")
        #expect(scanner.endsWithConnection)
        #expect(!scanner.isDone)
        #expect(scanner.remainingLength == nil)
        #expect(scan(scanner, three, cuts: [1, 3]) == BodyResult(payload: three, taken: 6, isDone: false))
        #expect(!ofResponse(200, "Content-Length: 0\r\n").endsWithConnection)
        #expect(ofResponse(200, "Content-Length: 0\r\n").isDone)
    }

    @Test(arguments: [100, 101, 103, 204, 304])
    func someResponsesHaveNoBodyWhateverTheirFieldsSay(status: Int) {
        for fields in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
            let scanner = ofResponse(status, fields)
            #expect(scanner.isDone)
            #expect(!scanner.endsWithConnection)
            #expect(scan(scanner, three).taken == 0)
        }
    }

    @Test func anAnswerToHEADHasNoBody() {
        for fields in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
            #expect(ofResponse(200, fields, toHead: true).isDone)
            #expect(!ofResponse(200, fields, toHead: true).endsWithConnection)
        }
    }

    @Test func chunkedMessagesAreScannedAsChunks() {
        let body = Array("3\r\nabc\r\n0\r\n\r\nNEXT".utf8)
        for scanner in [ofRequest("Transfer-Encoding: chunked\r\n"), ofResponse(200, "Transfer-Encoding: chunked\r\n")]
        {
            #expect(scanner.remainingLength == nil)
            #expect(scan(scanner, body) == BodyResult(payload: Array("abc".utf8), taken: 13, isDone: true))
        }
    }

    @Test func limitsOfTheHeadHoldForTrailersToo() {
        let head = MessageHead(limits: WireLimits(headerLines: 2))
        let bytes = Array("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let buffer = GuardedBytes(capacity: bytes.count)
        #expect(head.parseRequest(buffer.place(bytes, filler: 0), bytes.count) == .complete)
        #expect(scan(BodyScanner.request(head), Array("0\r\nA:\r\nB:\r\n\r\n".utf8)).isDone)
        #expect(scan(BodyScanner.request(head), Array("0\r\nA:\r\nB:\r\nC:\r\n\r\n".utf8)).isMalformed)
    }
}

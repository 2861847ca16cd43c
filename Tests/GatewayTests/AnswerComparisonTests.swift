import Comparison
import Configuration
import HTTPWire
import Rollout
import Testing

@testable import Gateway

/// One answer as a backend gives it.
private struct Played: Sendable, CustomTestStringConvertible {
    var status = 200
    var headers = ["Content-Type: application/json"]
    var body: [UInt8]
    /// The connection broke before the end.
    var isBroken = false

    init(
        _ body: String, status: Int = 200, headers: [String] = ["Content-Type: application/json"],
        isBroken: Bool = false
    ) {
        self.init(bytes: Array(body.utf8), status: status, headers: headers, isBroken: isBroken)
    }

    init(
        bytes: [UInt8], status: Int = 200, headers: [String] = ["Content-Type: application/json"],
        isBroken: Bool = false
    ) {
        (self.status, self.headers, body, self.isBroken) = (status, headers, bytes, isBroken)
    }

    var testDescription: String { "\(status) \(headers) \(String(decoding: body.prefix(30), as: UTF8.self))" }

    func capture(limit: Int) throws -> AnswerCapture {
        let capture = AnswerCapture(pool: BlockPool())
        capture.reset(limit: limit)
        let head = MessageHead(limits: WireLimits())
        let buffer = Buffer(pool: BlockPool())
        buffer.append(text: "HTTP/1.1 \(status) Whatever\r\n" + headers.map { $0 + "\r\n" }.joined() + "\r\n")
        try #require(head.parseResponse(buffer.readable, buffer.count) == .complete)
        capture.begin(buffer.readable, head)
        // In two pieces, as the network likes it.
        for piece in [body[..<(body.count / 2)], body[(body.count / 2)...]] {
            piece.withUnsafeBufferPointer { if let base = $0.baseAddress { capture.add(base, $0.count) } }
        }
        if isBroken { capture.fail() } else { capture.complete() }
        return capture
    }
}

private struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var first: Played
    var second: Played
    var verdict: ComparisonVerdict
    var headers = ["content-type"]

    init(
        _ name: String, _ first: Played, _ second: Played, _ verdict: ComparisonVerdict,
        headers: [String] = ["content-type"]
    ) {
        (self.name, self.first, self.second, self.verdict, self.headers) = (name, first, second, verdict, headers)
    }

    var testDescription: String { name }
}

/// `{"a":1,"b":[2]}` under gzip.
private let zipped: [UInt8] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x4a, 0x54, 0xb2, 0x32, 0xd4, 0x51,
    0x4a, 0x52, 0xb2, 0x8a, 0x36, 0x8a, 0xad, 0x05, 0x00, 0x6d, 0xa5, 0xe2, 0x31, 0x0f, 0x00, 0x00, 0x00,
]
/// 3000 times `x` under gzip.
private let bomb: [UInt8] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xc2,
    0xa0, 0xda, 0x8b, 0x6f, 0x0d, 0x0f, 0xa0, 0x00, 0x00, 0x80, 0x77, 0x03, 0xe7, 0x17, 0xee, 0x98, 0xb8, 0x0b,
    0x00, 0x00,
]
private let text = ["Content-Type: text/plain"]
private let json = ["Content-Type: application/json"]
private let zippedJSON = ["Content-Type: application/json", "Content-Encoding: gzip"]

private let cases: [Case] = [
    Case("the same bytes", Played("{\"a\":1}"), Played("{\"a\":1}"), .equal),
    Case("nothing at all", Played("", headers: []), Played("", headers: []), .equal),
    Case("the same value", Played("{\"a\":1,\"b\":[2]}"), Played("{ \"b\":[2.0], \"a\":1e0 }"), .equal),
    Case("another value", Played("{\"a\":1}"), Played("{\"a\":2}"), .different),
    Case("another order of an array", Played("[1,2]"), Played("[2,1]"), .different),
    Case("an ignored pointer", Played("{\"a\":1,\"at\":1}"), Played("{\"a\":1,\"at\":2}"), .equal),
    Case("an ignored pointer on one side", Played("{\"a\":1,\"at\":1}"), Played("{\"a\":1}"), .equal),
    Case("an unordered array", Played("{\"items\":[1,2]}"), Played("{\"items\":[2,1]}"), .equal),
    Case("white space in text", Played("{ }", headers: text), Played("{}", headers: text), .different),
    Case("another media type", Played("{}", headers: json), Played("{}", headers: text), .different),
    Case("another status", Played("{}"), Played("{}", status: 201), .different),
    Case("both refuse alike", Played("{}", status: 404), Played("{}", status: 404), .equal),
    Case("one does not find it", Played("{}"), Played("{}", status: 404), .different),
    Case("a header that is not listed", Played("{}", headers: json + ["ETag: 1"]), Played("{}", headers: json), .equal),
    Case(
        "a header that is listed", Played("{}", headers: json + ["ETag: 1"]), Played("{}", headers: json + ["etag: 2"]),
        .different, headers: ["content-type", "etag"]),
    Case(
        "a listed header in another place", Played("{}", headers: ["ETag: 1"] + json),
        Played("{}", headers: json + ["etag: 1"]), .equal, headers: ["content-type", "etag"]),
    Case("no header counts", Played("{}", headers: json), Played("{}", headers: text), .equal, headers: []),
    Case("one is coded", Played(bytes: zipped, headers: zippedJSON), Played("{\"b\":[2],\"a\":1}"), .equal),
    Case(
        "both are coded", Played(bytes: zipped, headers: zippedJSON), Played(bytes: zipped, headers: zippedJSON), .equal
    ),
    Case("one is coded and differs", Played(bytes: zipped, headers: zippedJSON), Played("{\"a\":1}"), .different),
    Case(
        "the coding is broken", Played(bytes: Array(zipped.dropLast(9)), headers: zippedJSON), Played("{\"a\":1}"),
        .failed),
    Case("equal bytes of a broken coding", Played("x", headers: zippedJSON), Played("x", headers: zippedJSON), .failed),
    Case(
        "a coding nobody knows", Played("x", headers: text + ["Content-Encoding: zpaq"]),
        Played("x", headers: text + ["Content-Encoding: zpaq"]), .failed),
    Case("too large once decoded", Played(bytes: bomb, headers: zippedJSON), Played("{}"), .tooLarge),
    Case("one is too large", Played("{}"), Played(String(repeating: "x", count: 2000)), .tooLarge),
    Case("one broke off", Played("{}"), Played("{}", isBroken: true), .failed),
    Case("one is an error of the server", Played("{}"), Played("{}", status: 503), .failed),
    Case("both are errors of the server", Played("{}", status: 500), Played("{}", status: 500), .failed),
    Case("not modified", Played("", status: 304), Played("{}"), .incomparable),
    Case("a part", Played("{}", status: 206), Played("{}", status: 206), .incomparable),
    Case("no such part", Played("{}"), Played("{}", status: 416), .incomparable),
]

@Test(arguments: cases)
private func twoAnswersAreWhatTheTableSays(_ played: Case) throws {
    var settings = ShadowSettings()
    settings.headers = played.headers
    settings.bodyMaxBytes = 1000
    settings.comparison = ComparisonRules(
        ignore: [PointerPattern("/at")].compactMap { $0 }, unordered: [PointerPattern("/items")].compactMap { $0 })
    let hasher = ContentHasher()
    let scratch = MessageHead(limits: WireLimits())
    let first = try played.first.capture(limit: 1000)
    let second = try played.second.capture(limit: 1000)
    #expect(compare(first, second, settings: settings, hasher: hasher, scratch: scratch) == played.verdict)
    #expect(compare(second, first, settings: settings, hasher: hasher, scratch: scratch) == played.verdict)
    // A comparison leaves nothing behind.
    #expect(compare(first, second, settings: settings, hasher: hasher, scratch: scratch) == played.verdict)
}

@Test func anAnswerThatIsMissingIsAFailure() throws {
    let waiting = AnswerCapture(pool: BlockPool())
    waiting.reset(limit: 10)
    let other = try Played("{}").capture(limit: 10)
    let verdict = compare(
        waiting, other, settings: ShadowSettings(), hasher: ContentHasher(), scratch: MessageHead(limits: WireLimits()))
    #expect(verdict == .failed)
}

@Test func aCaptureAtItsLimitIsKeptAndOneByteMoreIsNot() throws {
    #expect(try Played("12345").capture(limit: 5).state == .complete)
    let over = try Played("123456").capture(limit: 5)
    #expect(over.state == .tooLarge && over.bytes.capacity == 0)
}

@Test func aMismatchNamesPathsAndHashesAndNoValues() throws {
    let read = ShadowRead(pool: BlockPool())
    read.request.append("GET /notes?x=1 HTTP/1.1\r\n\r\n")
    read.primarySide = .new
    try fill(read.primary, Played("{\"a\":\"secret\"}"))
    try fill(read.other, Played("{\"a\":\"other\"}", status: 201))
    var settings = ShadowSettings()
    let (hasher, scratch) = (ContentHasher(), MessageHead(limits: WireLimits()))
    let found = describe(read, settings: settings, hasher: hasher, scratch: scratch)
    #expect(found.kind == "status" && found.paths == ["/a"] && found.values.isEmpty)
    #expect(found.legacy.status == 201 && found.new.status == 200 && found.legacy.hash != found.new.hash)
    #expect(found.legacy.hash.count == 32 && found.new.hash.allSatisfy { $0.isHexDigit && !$0.isUppercase })
    settings.keepValues = true
    let values = describe(read, settings: settings, hasher: hasher, scratch: scratch).values
    #expect(values.count == 1 && values.first?.legacy == "\"other\"" && values.first?.new == "\"secret\"")
}

private func fill(_ capture: AnswerCapture, _ played: Played) throws {
    let source = try played.capture(limit: 1000)
    capture.reset(limit: 1000)
    let head = MessageHead(limits: WireLimits())
    try #require(head.parseResponse(source.bytes.readable, source.bytes.count) == .complete)
    capture.begin(source.bytes.readable, head)
    if let base = source.body.baseAddress { capture.add(base, source.body.count) }
    capture.complete()
}

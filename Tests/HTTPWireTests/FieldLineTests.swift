import HTTPWire
import Testing

@Suite struct FieldLineTests {
    @Test(arguments: [
        (" X: 1", HeadFault.foldedLine), ("\tX: 1", .foldedLine), ("   ", .foldedLine), ("X : 1", .spaceBeforeColon),
        ("X\t: 1", .spaceBeforeColon), ("Content-Length : 1", .spaceBeforeColon), (": 1", .emptyFieldName),
        (":", .emptyFieldName), ("X", .missingColon), ("X Y", .missingColon), ("X Y: 1", .badFieldName),
        ("X@Y: 1", .badFieldName), ("X(: 1", .badFieldName), ("\"X\": 1", .badFieldName), ("X\u{e9}: 1", .badFieldName),
        ("Cutover-\u{e9}: 1", .badFieldName), ("Cutover- : 1", .spaceBeforeColon),
        ("X: a\u{0}b", .controlCharacter), ("X: a\u{1}b", .controlCharacter), ("X: a\u{7f}b", .controlCharacter),
        ("X\u{0}: a", .controlCharacter), ("X: a\u{b}b", .controlCharacter), ("X: a\rb", .bareCarriageReturn),
        ("X: a\r", .bareCarriageReturn), ("X: a\nb", .bareLineFeed), ("X: a\nY: b", .bareLineFeed),
        ("\n", .bareLineFeed),
    ])
    func aBadLineIsRefusedForItsReason(line: String, fault: HeadFault) {
        #expect(request(fields: line).fault == fault, "\(line.debugDescription)")
        #expect(request(fields: line, "Z: 1").fault == fault)
        #expect(response(fields: line).fault == fault)
        #expect(request("GET / HTTP/1.1\r\n\(line)\r\nHost: a\r\n\r\n").fault == fault)
    }

    @Test func aFoldedLineIsRefusedWhateverItContinues() {
        #expect(request(fields: "X: 1", "  2").fault == .foldedLine)
        #expect(request(fields: "Transfer-Encoding:", " chunked").fault == .badTransferEncoding)
        #expect(request(fields: "X: 1", " Content-Length: 2").fault == .foldedLine)
    }

    @Test func everyTokenCharacterMayStandInANameAndNoOther() {
        let tokens = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: ":") {
            for place in 0..<3 {
                var name = Array("XYZ".utf8)
                name[place] = byte
                let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8) + name + Array(": 1\r\n\r\n".utf8)
                #expect((parse(bytes, asRequest: true).outcome == .complete) == tokens.contains(byte), "\(byte)")
            }
        }
    }

    @Test func everyByteButControlsMayStandInAValue() {
        for byte in UInt8.min...UInt8.max {
            let isRight = byte == 9 || byte >= 0x20 && byte != 0x7f
            for before in 0..<10 {
                var bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8)
                bytes += [UInt8](repeating: UInt8(ascii: "x"), count: before) + [byte] + Array("y\r\n\r\n".utf8)
                #expect((parse(bytes, asRequest: true).outcome == .complete) == isRight, "\(byte) \(before)")
            }
        }
    }

    @Test(arguments: [
        ("X:1", "1"), ("X: 1", "1"), ("X:\t 1 \t", "1"), ("X:", ""), ("X:  ", ""), ("X: a  b ", "a  b"), ("X: :", ":"),
    ])
    func whiteSpaceAroundAValueIsNotPartOfIt(line: String, value: String) {
        let head = request(fields: line)
        #expect(head.outcome == .complete)
        #expect(head.value(1) == value)
        #expect(head.name(1) == "X")
    }

    @Test(arguments: [
        ("Host", FieldKind.host), ("Connection", .connection), ("Keep-Alive", .hopByHop), ("TE", .hopByHop),
        ("Proxy-Connection", .hopByHop), ("Proxy-Authenticate", .hopByHop), ("Proxy-Authorization", .hopByHop),
        ("Proxy-Authentication-Info", .hopByHop), ("Upgrade", .upgrade), ("Trailer", .trailer), ("Expect", .expect),
        ("Cookie", .cookie), ("Authorization", .authorization), ("Via", .via), ("X-Forwarded-For", .forwardedFor),
        ("X-Forwarded-Proto", .forwardedProto), ("X-Forwarded-Host", .forwardedHost), ("X-Request-Id", .requestID),
        ("If", .conditional), ("If-Match", .conditional), ("If-None-Match", .conditional),
        ("If-Modified-Since", .conditional), ("If-Unmodified-Since", .conditional), ("If-Range", .conditional),
        ("Range", .range), ("Idempotency-Key", .idempotencyKey), ("Content-Type", .contentType),
        ("Content-Encoding", .contentEncoding), ("Date", .date), ("Server", .server), ("Retry-After", .retryAfter),
        ("traceparent", .traceParent), ("TraceState", .traceState),
        ("Set-Cookie", .setCookie), ("Cutover-Backend", .cutover), ("Cutover-", .cutover),
        ("Cutover-Reason-And-A-Very-Long-Rest", .cutover), ("Cutover", .other), ("X-Cutover-A", .other),
        ("Accept", .other), ("Content-Lengtx", .other), ("Content-Length-X", .other), ("Content_Length", .other),
        ("Transfer_Encoding", .other), ("Transfer-Encodinh", .other), ("X-Forwarded-Port", .other),
        ("Proxy-Authentication-Infx", .other), ("Proxy-Authorizatiox", .other), ("X-User-Id", .other),
        ("Hosu", .other), ("Hos", .other), ("Host2", .other), ("Vib", .other),
    ])
    func aFieldIsKnownByItsNameInAnyCase(name: String, kind: FieldKind) {
        for name in [name, name.lowercased(), name.uppercased()] {
            let head = response(fields: "\(name): a")
            #expect(head.kinds == [kind], "\(name)")
            #expect(head.name(0) == name)
        }
    }

    @Test func framingFieldsAreKnownInAnyCase() {
        #expect(request(fields: "cOnTeNt-LeNgTh: 7")["contentLength"] == 7)
        #expect(request(fields: "tRANSFER-eNCODING: CHUNKED")["isChunked"] == 1)
        #expect(request(fields: "content-length: 7").kinds == [.host, .contentLength])
        #expect(request(fields: "transfer-encoding: chunked").kinds == [.host, .transferEncoding])
    }

    @Test func everyKindIsItsOwnBit() {
        let bits = FieldKind.allCases.map(\.bit)
        #expect(bits == FieldKind.allCases.map { 1 << UInt64($0.rawValue) })
    }

    @Test func fieldsAreFoundByKindAndByName() {
        let text =
            "GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nX-User-Id: 5\r\ncookie: b=2\r\nx-user-id: 6\r\nx-one: 1\r\n\r\n"
        let bytes = Array(text.utf8) + [UInt8](repeating: 0, count: 8)
        let head = MessageHead(limits: WireLimits())
        bytes.withUnsafeBufferPointer { buffer in
            guard let p = buffer.baseAddress else { return }
            #expect(head.parseRequest(p, bytes.count - 8) == .complete)
            #expect(head.firstField(kind: .cookie) == head.field(1))
            #expect(head.has(.cookie))
            #expect(head.firstField(kind: .authorization) == nil)
            #expect(!head.has(.authorization))
            #expect(head.firstField(named: Array("x-user-id".utf8), in: p) == head.field(2))
            #expect(head.firstField(named: Array("x-user".utf8), in: p) == nil)
            #expect(head.firstField(named: [], in: p) == nil)
            #expect(head.match(named: Array("x-user-id".utf8), in: p) == .several(first: head.field(2)))
            #expect(head.match(named: Array("x-one".utf8), in: p) == .one(head.field(5)))
            #expect(head.match(named: Array("x-two".utf8), in: p) == .none)
            #expect(Array(head.field(5).name(in: p)) == Array("x-one".utf8))
            #expect(Array(head.field(5).value(in: p)) == Array("1".utf8))
        }
    }
}

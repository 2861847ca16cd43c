import HTTPWire
import Testing

@Suite struct StatusLineTests {
    @Test(arguments: [
        ("HTTP/1.1 200 OK", 200, 1), ("HTTP/1.0 404 Not Found", 404, 0), ("HTTP/1.1 204 ", 204, 1),
        ("HTTP/1.1 204", 204, 1), ("HTTP/1.1 100 Continue", 100, 1), ("HTTP/1.1 599 \u{e9}t\u{e9}\t!", 599, 1),
        ("HTTP/1.1 200  two  spaces ", 200, 1),
    ])
    func aStatusLineIsTakenApart(line: String, status: Int, minor: Int) {
        let head = response("\(line)\r\nContent-Length: 0\r\n\r\n")
        #expect(head.outcome == .complete)
        #expect(head["status"] == status)
        #expect(head["minorVersion"] == minor)
        #expect(head["firstLineEnd"] == line.utf8.count + 2)
    }

    @Test(arguments: [
        ("HTTP/1.1 099 x", HeadFault.badStatus), ("HTTP/1.1 600 x", .badStatus), ("HTTP/1.1 2x0 x", .badStatus),
        ("HTTP/1.1 -20 x", .badStatus), ("HTTP/1.1 20 OK", .badStatusLine), ("HTTP/1.1 2000 OK", .badStatusLine),
        ("HTTP/1.1 200OK", .badStatusLine), ("HTTP/1.1  200 OK", .badStatusLine), ("HTTP/1.1\t200 OK", .badStatusLine),
        ("HTTP/1.1 20", .badStatusLine), ("HTTP/1.1", .badStatusLine), ("HTTP", .badStatusLine), ("", .badStatusLine),
        ("ICY 200 OK", .badVersion), ("http/1.1 200 OK", .badVersion), ("HTTP/2.0 200 OK", .unsupportedVersion),
        ("HTTP/1.1 200 O\u{0}K", .controlCharacter), ("HTTP/1.1 200 O\rK", .bareCarriageReturn),
        ("HTTP/1.1 200 O\nK", .bareLineFeed), ("HTTP/1.1 200 O\u{7f}K", .controlCharacter),
    ])
    func aBadStatusLineIsRefusedForItsReason(line: String, fault: HeadFault) {
        #expect(response("\(line)\r\n\r\n").fault == fault, "\(line.debugDescription)")
    }

    @Test func aResponseNeedsNoHostAndMayCarryAny() {
        #expect(response(fields: "Host: a b", "Host:").outcome == .complete)
        #expect(response("HTTP/1.1 200 OK\r\n\r\n").outcome == .complete)
        #expect(response(fields: "Host: ignored", "Expect: 100-continue")["expectsContinue"] == 0)
    }

    @Test func everyFaultHasWordsAndAStatus() {
        for fault in HeadFault.allCases {
            #expect(fault.text.utf8CodeUnitCount > 10)
            #expect([400, 414, 431, 501, 505].contains(fault.status))
        }
        #expect(HeadFault.targetTooLong.status == 414)
        #expect(HeadFault.headersTooLarge.status == 431)
        #expect(HeadFault.connectUnsupported.status == 501)
        #expect(HeadFault.unsupportedVersion.status == 505)
        #expect(HeadFault.lengthAndTransferEncoding.status == 400)
    }

    @Test(arguments: [
        (200, "OK"), (100, "Continue"), (201, "Created"), (207, "Multi-Status"), (304, "Not Modified"),
        (409, "Conflict"), (413, "Content Too Large"), (422, "Unprocessable Content"), (502, "Bad Gateway"),
        (503, "Service Unavailable"), (504, "Gateway Timeout"), (599, "Internal Server Error"), (499, "Bad Request"),
    ])
    func reasonsAreTheRegisteredOnes(status: Int, reason: String) {
        #expect(StatusText.reason(status).description == reason)
    }
}

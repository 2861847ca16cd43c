import HTTPWire
import Testing

/// What a sender says of itself, taken back.
struct WithdrawTests {
    private func kinds(_ lines: [String], _ names: [String]) throws -> (MessageHead, [FieldKind]) {
        let bytes = Array(("GET / HTTP/1.1\r\nHost: h\r\n" + lines.map { $0 + ": v\r\n" }.joined() + "\r\n").utf8)
        let head = MessageHead(limits: WireLimits())
        try (bytes + [UInt8](repeating: 0, count: 8)).withUnsafeBufferPointer { buffer in
            let p = try #require(buffer.baseAddress)
            try #require(head.parseRequest(p, bytes.count) == .complete)
            head.withdraw(names.map { Array($0.utf8) }, in: p)
        }
        return (head, (1..<head.fieldCount).map { head.field($0).kind })
    }

    @Test func forwardingAndNamedFieldsMeanThisHopOnly() throws {
        let gone = [
            "X-Forwarded-For", "x-forwarded-proto", "X-FORWARDED-HOST", "X-Forwarded-Port", "X-Forwarded-User",
            "Forwarded",
            "X-Real-IP", "X_Forwarded_For", "X-Forwarded_Host", "x_real_ip", "X-User-Id", "x-user-id", "X_User_Id",
        ]
        let (head, kinds) = try kinds(gone, ["x-user-id"])
        #expect(kinds == gone.map { _ in .hopByHop })
        #expect(!head.has(.forwardedFor) && !head.has(.forwardedProto) && !head.has(.forwardedHost))
        #expect(head.has(.host))
    }

    @Test func everythingElseStays() throws {
        let stays = [
            "X-Forwarded", "Forwarded-For", "X-Real-IP-2", "X-User-Id2", "X-User", "Via", "X-Request-Id", "Accept",
            "Cookie",
            "Authorization", "If-Match",
        ]
        let before = try kinds(stays, ["nothing"]).1
        let (_, after) = try kinds(stays, ["x-user-id", "authorization", "host", "cookie", "if-match"])
        #expect(after == before && !after.contains(.hopByHop))
    }
}

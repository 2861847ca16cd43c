import Testing

@testable import Routing

@Test func aTemplateTakesRecordAndUserPercentEncoded() throws {
    let template = try #require(ReadTemplate("/users/{user}/records/{record}?full=1"))
    #expect(template.namesRecord)
    #expect(template.target(record: "a/b ü", user: "..") == "/users/%2E%2E/records/a%2Fb%20%C3%BC?full=1")
    #expect(template.target(record: "a.b-c_d~e", user: "7") == "/users/7/records/a.b-c_d~e?full=1")
    #expect(template.target(record: "a", user: nil) == nil && template.target(record: nil, user: "7") == nil)
    let whole = try #require(ReadTemplate("/settings"))
    #expect(!whole.namesRecord && whole.target(record: nil, user: nil) == "/settings")
}

@Test(arguments: [
    "", "records/{record}", "/{id}", "/{record", "/record}", "/a b", "/a#b", "/{{record}}", "/ü", "/a\r\nX: y",
])
func whatIsNoTargetIsNoTemplate(_ text: String) {
    #expect(ReadTemplate(text) == nil)
}

@Test(arguments: ["", "%41", "a&b=c", "漢", "\u{0}"])
func whatIsEncodedIsDecodedToTheSame(_ text: String) {
    let encoded = Array(PercentCoding.encodedSegment(text).utf8)
    var decoded = [UInt8](repeating: 0, count: max(1, encoded.count))
    let count = encoded.withUnsafeBufferPointer { input in
        decoded.withUnsafeMutableBufferPointer { output in
            PercentCoding.decode(
                input.baseAddress ?? UnsafePointer(output.baseAddress!), input.count, into: output.baseAddress!)
        }
    }
    #expect(String(decoding: decoded.prefix(count), as: UTF8.self) == text)
    #expect(encoded.allSatisfy { $0 > 0x20 && $0 < 0x7f })
}

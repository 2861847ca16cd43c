import Comparison
import Testing

/// The hash is stable across versions. Whoever has to change a line here breaks that promise.
@Suite struct VectorTests {
    static let json: [(String, String)] = [
        ("null", "ac3a25614586f1d7896c68e42965d65b"), ("true", "6b916196ce915c1f6f97e3b1ff9ebb20"),
        ("false", "803e1c2b786ea97ed0b0ab247a8ad3cc"), ("0", "0c983acf02133289db4e0b028e97d612"),
        ("1", "41621368e3d4f551962fac846f189138"), ("-1.5", "dfe023e7175fefbf44300dd231c839f9"),
        ("1e6", "09c7f14f34fd9ae6201c41f844827f01"),
        ("9007199254740993", "a67e78c35a3a80fdea72d7bee4b191a7"),
        ("123456789012345678901234567890", "c927fdb1ce4bb0ed40d23a845406340c"),
        ("1e-7", "e6a667b5285c304556bd01e5b1f5f2c5"),
        (#""""#, "d4e416fc4684e87ec5bd80a1a785f26c"), (#""a""#, "8436af37b2f58da4bca74945147ba2ce"),
        (#""é""#, "02f4322c4f30e6fbb381b2b3d456710f"), (#""\ud800""#, "e438850f38f5831070861e67bf271ccb"),
        (#""0123456789abcdef""#, "93c6124717d1a684946d1d2588348dc9"),
        ("[]", "a7f430d129351f9ee5a23bc0d314b7be"), ("[1,2]", "de6b4261a4c3f79d40dc4f89d48e9540"),
        ("{}", "f3870ca49249ab2087c311d5b09b087d"), (#"{"a":1,"b":[true,null]}"#, "3bc18ef447860ea774db671f7a464c4f"),
        (
            #"{"items":[{"id":"r1","revision":8,"payload":{"text":"The quick brown fox","progress":0.25}}],"next":null}"#,
            "3d543096f715bd290f99b9f23fbec9d6"
        ),
    ]

    static let bytes: [(String, String)] = [
        ("", "524971c8f0c0e1072ba939aeefbfb116"), ("a", "b5dbea19c01f15bfe9299a648c0801da"),
        ("hello, world", "c6725e8bf1e48e00efecbe448837ed85"), ("0123456789abcdef", "54d1f660dc47bc0b9c527293ec95d5bf"),
        ("The quick brown fox jumps over the lazy dog", "a9423941fff9e7608b150e552d5d70e8"),
    ]

    @Test(arguments: json)
    func jsonKeepsItsHash(_ text: String, _ expected: String) {
        #expect(hash(text).hex == expected, "\(text)")
    }

    @Test(arguments: bytes)
    func bytesKeepTheirHash(_ text: String, _ expected: String) {
        #expect(byteHash(text).hex == expected, "\(text)")
    }

    @Test func unorderedArraysIgnoredDocumentsAndAnswersKeepTheirHash() {
        #expect(hash("[3,1,2]", unordered: [""]).hex == "ce8f32de8d336bcb1828823678c48a14")
        #expect(hash("[3,1,2]", ignore: [""]).hex == "2db62735493d00b1dc5260f3943af614")
        let answer = answerHash(
            status: 200, headers: [("Content-Type", "application/json")], body: ContentHash(high: 1, low: 2))
        #expect(answer.hex == "713dcdffb2dad1e988cb704909e9ab8d")
    }

    @Test func hexIsReadAndWritten() throws {
        let hash = ContentHash(high: 0x0123_4567_89AB_CDEF, low: 0xF)
        #expect(hash.hex == "0123456789abcdef000000000000000f")
        #expect(ContentHash(hex: hash.hex) == hash)
        #expect(ContentHash(hex: hash.hex.uppercased()) == hash)
        #expect(ContentHash(hex: "0123") == nil)
        #expect(ContentHash(hex: String(repeating: "g", count: 32)) == nil)
        #expect("\(hash)" == hash.hex)
    }
}

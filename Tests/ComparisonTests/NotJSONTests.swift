import Comparison
import Testing

@Suite struct NotJSONTests {
    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "01", "-", "-01", "+1", "1.", ".5", "1e", "1e+", "1.e1", "0x1", "1 2", "NaN",
        "Infinity", "[", "]", "[1,]", "[,1]", "[1 2]", "{", "}", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#,
        #"{1:1}"#, #"{"a":1 "b":2}"#, #"{"a" 1}"#, #"""#, #""a"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\"#, "'a'",
        "\"a\nb\"", "\"tab\there\"", "[1]]", "{}{}", "// c\n1", "\u{FEFF}1", "\u{A0}1", "[1,2,*,3,4,5]", "[1*******]",
        "[12345678/,1]", "[1234567:,1]", "\"unclosed and longer than sixteen bytes",
        #""bad \q escape far into the text""#,
    ])
    func isHashedAsBytes(_ text: String) {
        #expect(hash(text) == byteHash(text))
        #expect(
            hash("[\(text),\"padding so that words are read\"")
                == byteHash("[\(text),\"padding so that words are read\""))
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xF0, 0x80, 0x80, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFF],
            [0xFE],
        ] as [[UInt8]])
    func invalidUTF8IsHashedAsBytes(_ sequence: [UInt8]) {
        for padding in [0, 3, 7, 8, 20] {
            let document = [0x22] + Array(repeating: UInt8(ascii: "a"), count: padding) + sequence + [0x22]
            #expect(!isJSON(document))
            #expect(!isJSON(document + Array(repeating: 0x20, count: 32)))
        }
    }

    @Test(
        arguments: [
            [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF],
            [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF], [0x7F],
        ] as [[UInt8]])
    func validUTF8IsJSON(_ sequence: [UInt8]) {
        for padding in [0, 3, 7, 8, 20] {
            let document = [0x22] + Array(repeating: UInt8(ascii: "a"), count: padding) + sequence + [0x22]
            #expect(isJSON(document))
            // The same string, read with and without room for whole words behind it.
            #expect(hash(document) == hash(document + Array(repeating: 0x20, count: 32)))
        }
    }

    @Test func everyControlCharacterMustBeEscaped() {
        for byte in UInt8(0)..<0x20 {
            #expect(!isJSON([0x22, 0x61, byte, 0x22] + Array(repeating: 0x20, count: 20)))
            #expect(isJSON("\"a\\u00\(byte < 16 ? "0" : "1")\(String(byte % 16, radix: 16))\""))
        }
    }

    @Test func nestingIsLimitedTo512Levels() {
        func nested(_ depth: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: depth) + "0" + String(repeating: close, count: depth)
        }
        #expect(isJSON(nested(512, "[", "]")))
        #expect(!isJSON(nested(513, "[", "]")))
        #expect(isJSON(nested(512, #"{"a":"#, "}")))
        #expect(!isJSON(nested(513, #"{"a":"#, "}")))
        #expect(!isJSON(String(repeating: "[", count: 200_000)))
        #expect(paths(nested(513, "[", "]"), nested(513, " [", "]")) == [""])
        #expect(hash(nested(512, "[", "]")) == hash(nested(512, "[ ", " ]")))
        #expect(hash(nested(511, "[", "]")) != hash(nested(512, "[", "]")))
    }

    @Test func hugeExponentsAndLongNumbersCostNoMoreThanTheirText() {
        let zeros = String(repeating: "0", count: 50_000)
        #expect(hash("1\(zeros)") == hash("1e50000"))
        #expect(hash("0.\(zeros)1") == hash("1e-50001"))
        #expect(hash("1e\(zeros)7") == hash("1e7"))
        #expect(isJSON("1e-\(String(repeating: "9", count: 50_000))"))
    }
}

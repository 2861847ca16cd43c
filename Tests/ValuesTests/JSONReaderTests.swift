import FoundationEssentials
import TestSupport
import Testing

@testable import Values

private func read(_ text: String) -> String? { read(Array(text.utf8)) }
private func read(_ bytes: [UInt8]) -> String? { try? JSONValue(reading: bytes).text }

@Suite struct JSONReaderTests {
    @Test(arguments: [
        ("{}", "{}"), (" [ ] ", "[]"), ("null", "null"), ("\ttrue\n", "true"), ("false", "false"), ("\"\"", "\"\""),
        ("-0", "-0"), ("12.50", "12.50"), ("1e400", "1e400"), ("-1.5E+07", "-1.5E+07"),
        ("{\"b\":[1,{\"a\":null}],\"a\":\"x\"}", "{\"b\":[1,{\"a\":null}],\"a\":\"x\"}"),
        (#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#, "\"\\\"\\\\/\\u0008\\u000c\\n\\r\\té😀\""),
        ("\"\u{7f}é😀\"", "\"\\u007fé😀\""),
    ])
    func whatIsJSONIsReadAsItStands(text: String, value: String) { #expect(read(text) == value) }

    @Test(arguments: [
        "", " ", "\0", "nul", "NaN", "Infinity", "-", "+1", "01", "1.", ".5", "1e", "0x1", "'a'", "\"", "\"\\",
        "\"\\x\"",
        "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "[", "[1", "[1,",
        "[1,]",
        "[,1]", "{", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "{} {}", "[1]x", "// a\n1",
        "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}",
    ])
    func whatIsNoJSONIsRefused(text: String) { #expect(read(text) == nil) }

    @Test func bytesThatAreNoTextAreRefused() {
        for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]] {
            #expect(read([0x22] + bytes + [0x22]) == nil)
        }
        #expect(read([0xEF, 0xBB, 0xBF, 0x31]) == nil)
    }

    @Test func depthAndLengthOfNumbersAreLimited() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(read(nested(32)) != nil && read(nested(33)) == nil)
        // Far more than the stack would hold.
        #expect(read(String(repeating: "[", count: 1 << 20)) == nil)
        #expect(read(String(repeating: "{\"a\":", count: 1 << 17)) == nil)
        #expect(read(String(repeating: "9", count: 400)) != nil && read(String(repeating: "9", count: 401)) == nil)
    }

    @Test func aFaultSaysWhere() {
        do throws(JSONFault) {
            _ = try JSONValue(reading: Array("{\"a\":1,}".utf8))
            Issue.record("it was read")
        } catch {
            #expect(error.text == "a member's name is missing, at byte 7")
        }
    }

    /// Whatever is read is read by the decoder of Foundation, too; of random bytes and of documents that were bent.
    @Test func nothingIsTakenThatAnotherReaderRefuses() {
        var random = SeededGenerator(seed: 41)
        let seeds = [
            "{\"to\":\"half\",\"seqs\":[1,2.5e3,-0],\"x\":{\"y\":[null,true,\"\\u00e9\\n\"]}}", "[[],{},\"\",0]",
        ]
        let alphabet = Array("{}[],:\"\\ue0d-+.19truefalsn \n\u{0}\u{7f}".utf8) + [0xC3, 0xA9, 0xFF]
        var taken = 0
        for _ in 0..<20_000 {
            var bytes = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                if Bool.random(using: &random) { bytes[at] = byte } else { bytes.insert(byte, at: at) }
            }
            guard let text = read(bytes) else { continue }
            taken += 1
            let other = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
            #expect(other != nil, "\(text)")
        }
        #expect(taken > 2_000)
    }
}

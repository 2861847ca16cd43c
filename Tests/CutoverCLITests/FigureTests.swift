import ControlPlane
import FoundationEssentials
import Testing
@testable import CutoverCLI
import Values

struct FigureTests {
    @Test func instantsAreReadAndShown() {
        #expect(Instant("1970-01-01T00:00:00Z")?.seconds == 0)
        #expect(Instant("2026-11-30T01:02:03Z")?.seconds == 1_796_000_523)
        #expect(Instant("2024-02-29T23:59:59.999Z")?.column == "2024-02-29 23:59:59")
        #expect(Instant("2000-03-01T00:00:00Z")?.column == "2000-03-01 00:00:00")
        #expect(Instant("2026-11-29T14:02:00Z")?.shown(now: 1_796_000_523) == "2026-11-29 14:02 UTC")
        for text in ["", "yesterday", "2026-11-30", "2026-13-30T01:02:03Z", "2026-11-30T01:02:03+01:00"] {
            #expect(Instant(text) == nil)
        }
    }

    @Test func figuresAreShort() {
        #expect(grouped(1_234_567) == "1,234,567")
        #expect(grouped(-999) == "-999")
        #expect(ratioText(0) == "0 %")
        #expect(ratioText(0.000_04) == "<0.01 %")
        #expect(ratioText(1) == "100 %")
        #expect(percentText(12.5) == "12.5")
        #expect(percentText(0.1 + 0.2) == "0.3")
        #expect(durationText(0.0042) == "4.2 ms")
        #expect(durationText(0.9994) == "999 ms")
        #expect(durationText(0.99999) == "1 s")
        #expect(durationText(59.94) == "59.9 s")
        #expect(durationText(61) == "1 min")
        #expect(durationText(7200) == "2 h")
        #expect(durationText(864_000) == "10 d")
    }

    @Test func hundredthsAreDecimalNumbers() {
        #expect(hundredthsText(618) == "6.18")
        #expect(hundredthsText(10_000) == "100")
        #expect(hundredthsText(1) == "0.01")
        #expect(hundredthsText(1250) == "12.5")
    }

    @Test func jsonIsWrittenSoThatItCanBeReadAgain() throws {
        let text = "a\"b\\c\n\t\u{1}\u{7F}ü😀"
        let written = JSONValue.object([("k", .string(text)), ("n", 1), ("l", .array([.null, true]))]).text
        let read = try JSONDecoder().decode(JSONValue.self, from: Data(written.utf8))
        #expect(read["k"]?.phrase == text)
        #expect(read["n"]?.phrase == "1")
        #expect(read["l"]?.phrase == "none, yes")
    }

    @Test func controlCharactersDoNotReachTheTerminal() {
        #expect(printable("a\u{1B}[2Jb\u{9B}c") == "a\\u{1b}[2Jb\\u{9b}c")
        #expect(printable("grün") == "grün")
    }
}

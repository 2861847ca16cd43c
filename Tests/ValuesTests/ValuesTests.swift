import FoundationEssentials
import Testing

@testable import Values

@Test(
    arguments: [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (1_796_000_523, "2026-11-30T01:02:03Z"), (4_107_542_399, "2100-02-28T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] as [(Int64, String)])
func anInstantIsWrittenAndReadAsTheContractSpellsIt(seconds: Int64, text: String) {
    #expect(Instant(seconds: seconds).text == text && Instant(text)?.seconds == seconds)
}

@Test func everyDayOfFourCenturiesIsReadAsItWasWritten() {
    for day in stride(from: -150_000 as Int64, through: 150_000, by: 1) {
        let instant = Instant(seconds: day * 86_400 + 3661)
        if Instant(instant.text) != instant {
            Issue.record("\(instant.text)")
            return
        }
    }
}

@Test func anInstantKnowsItsMillisecondsAndCutsThemOnlyWhereSecondsAreMeant() {
    #expect(Instant(milliseconds: 1999).seconds == 1 && Instant(milliseconds: -1).seconds == -1)
    #expect(Instant(milliseconds: 1999).text == "1970-01-01T00:00:01Z")
    #expect(Instant("2026-11-30T01:02:03.999Z")?.seconds == Instant("2026-11-30T01:02:03Z")?.seconds)
    #expect(Instant("2026-11-30T01:02:03.999Z")?.milliseconds == 1_796_000_523_999)
    #expect(Instant("2026-11-30 01:02:03Z") == nil && Instant("2026-13-30T01:02:03Z") == nil && Instant("") == nil)
}

@Test(
    arguments: [
        (1_796_000_523_123, "2026-11-30T01:02:03.123Z"), (1_796_000_523_007, "2026-11-30T01:02:03.007Z"),
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
func millisecondsAreWrittenAndRead(milliseconds: Int64, text: String) {
    #expect(Instant(milliseconds: milliseconds).textWithMilliseconds == text)
    #expect(Instant(text)?.milliseconds == milliseconds)
}

@Test func aFractionIsReadWhateverItsLength() {
    #expect(Instant("2026-11-30T01:02:03.5Z")?.milliseconds == 1_796_000_523_500)
    #expect(Instant("2026-11-30T01:02:03.123999999Z")?.milliseconds == 1_796_000_523_123)
}

@Test(
    arguments: [
        "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-00T00:00:00Z", "2026-11-30T24:00:00Z",
        "2026-11-30T00:60:00Z", "2026-11-30T00:00:61Z", "2026-11-30T00:00:00.Z", "2026-11-30T00:00:00.1x2Z",
        "2026-11-30T00:00:00,5Z", "+026-11-30T00:00:00Z", "2026/11/30T00:00:00Z", "2026-11-30T00:00:00+00:00",
    ])
func whatIsNoInstantIsNotRead(text: String) { #expect(Instant(text) == nil) }

@Test func whatIsWrittenAsJSONIsReadBack() throws {
    let text = "quote \" backslash \\ \n\r\t \u{0} \u{1f} \u{7f} é 漢 🙂 \u{2028}"
    let value = JSONValue.object([
        ("a", .array([.null, .bool(true), .number("12.5"), .number("-9007199254740993"), .string(text)])),
        (text, .object([])),
    ])
    let read = try JSONDecoder().decode(JSONValue.self, from: Data(value.text.utf8))
    #expect(read.text == value.text)
}

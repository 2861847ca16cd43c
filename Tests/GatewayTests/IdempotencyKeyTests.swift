import Testing

@testable import Gateway

private func value(_ field: String) -> String {
    do throws(SubmissionProblem) { return try IdempotencyKey(field: field)?.value ?? "none" } catch {
        guard case .unusable(let text) = error else { return "other" }
        return text.hasPrefix("Idempotency-Key begins with a quote") ? "bad string" : "bad key"
    }
}

@Test func aKeyInQuotesIsTheSameKeyAsWithout() throws {
    #expect(value("8e03978e") == "8e03978e")
    #expect(value("\"8e03978e\"") == "8e03978e")
    #expect(value(#""a \"b\" c\\d""#) == #"a "b" c\d"#)
    #expect(try IdempotencyKey(field: "\"k\"")?.text == "\"k\"", "it goes out as the client sent it")
}

@Test func parametersBehindAKeyMeanNothing() {
    #expect(value("\"k\";a=1") == "k")
    #expect(value("\"k\"  ; a") == "k")
}

@Test(arguments: ["\"", "\"k", "\"\"", "\"k\"x", #""k\"#, #""k\x""#, "\"k\" \"l\""])
func whatBeginsWithAQuoteMustBeAWholeString(field: String) {
    #expect(value(field) == "bad string")
}

@Test func anEmptyHeaderIsNoKeyAndALongOneIsRefused() {
    #expect(value("") == "none")
    #expect(value(String(repeating: "k", count: LegMessage.keyBytesMax)).count == LegMessage.keyBytesMax)
    #expect(value(String(repeating: "k", count: LegMessage.keyBytesMax + 1)) == "bad key")
    #expect(value("k\u{e9}") == "bad key")
}

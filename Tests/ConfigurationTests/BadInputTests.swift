import Testing

/// One wrong input and the whole of what is said about it.
struct BadInput: Sendable, CustomTestStringConvertible {
    var text: String
    var messages: [String]

    init(_ text: String, _ messages: String...) {
        self.text = text
        self.messages = messages
    }

    var testDescription: String { messages.first ?? text }
}

@Suite struct BadInputTests {
    @Test(arguments: badKeys + badValues + badUsers + badRoutes + badYAML)
    func wrongInputIsNamedWithItsLine(_ input: BadInput) {
        // The keys under test come first, so that their lines are easy to count.
        #expect(load(input.text + "\n" + minimal).messages == input.messages)
    }

    @Test(arguments: badBackends)
    func wrongBackendsAreNamedWithTheirLine(_ input: BadInput) {
        #expect(load(input.text).messages == input.messages)
    }
}

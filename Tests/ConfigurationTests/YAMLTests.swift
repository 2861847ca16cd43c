import Testing

@testable import Configuration

@Suite struct YAMLTests {
    private func problem(_ text: String) -> YAMLProblem? {
        do {
            _ = try NodeBuilder.parse(Array(text.utf8))
            return nil
        } catch { return error }
    }

    @Test func nestedAliasesCannotExplode() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let alias = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(alias)]\n"
        }
        let problem = problem(text)
        #expect(problem?.line == 5)
        #expect(problem?.message == "too many values, aliases counted as often as they are used")
    }

    @Test func anchorsAreRepeatedWhereTheirAliasStands() throws {
        let text = """
            backends:
              legacy: &b {url: "http://a", timeout: &t 3s}
              new: {url: "http://b", timeout: *t}
            timeouts: {head: *t}
            """
        let settings = try #require(load(text).settings)
        #expect(settings.new.timeoutMilliseconds == 3000)
        #expect(settings.timeouts.headMilliseconds == 3000)
    }

    @Test func aNodeCannotHoldItself() {
        #expect(problem("a: &a [*a]")?.message == "no anchor before this alias")
    }

    @Test func deepNestingIsRefused() {
        #expect(problem(String(repeating: "[", count: 10_000))?.message == "nested too deep")
        #expect(problem(String(repeating: "- ", count: 10_000))?.message == "nested too deep")
        let deep = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(problem(deep) == nil)
    }

    @Test func aLongFileIsRefused() {
        let text = "a: " + String(repeating: "x", count: NodeBuilder.maximumBytes)
        #expect(problem(text)?.message == "the file is too long")
    }

    @Test func bytesThatAreNoTextAreNamedWithTheirLine() {
        do {
            _ = try NodeBuilder.parse(Array("a: 1\nb: ".utf8) + [0xFF, 0x0A])
            Issue.record("accepted")
        } catch {
            #expect(error.line == 2)
            #expect(error.message == "invalid leading UTF-8 octet")
        }
        #expect(problem("a: 1\n\nb: \u{1}")?.line == 3)
        #expect(problem("a: \0")?.message == "control characters are not allowed")
    }

    @Test func quotedAndBlockScalarsAreStrings() throws {
        let (root, _) = try NodeBuilder.parse(Array("[1, '1', \"1\", !!str 1, ~, '', null]".utf8))
        guard case .sequence(let items)? = root?.content else {
            Issue.record("no list")
            return
        }
        let scalars = items.compactMap { item -> Node.Scalar? in
            if case .scalar(let scalar) = item.content { scalar } else { nil }
        }
        #expect(scalars.map(\.isPlain) == [true, false, false, false, true, false, true])
        #expect(scalars.map(\.isNull) == [false, false, false, false, true, false, true])
    }

    @Test(arguments: ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "~"])
    func aTextWithoutADocumentIsEmpty(_ text: String) {
        #expect(load(text).messages.count == 2)
        #expect(load(text).messages.allSatisfy { $0.contains("missing") })
    }

    @Test func aSectionWithoutContentIsEmpty() {
        #expect(load(minimal + "timeouts:\n  # head: 1s\nshadow: {}\n").messages == [])
    }

    @Test func everyKeyThatIsGivenTwiceIsNamed() {
        let text = minimal + "expose: true\nexpose: true\ntimeouts:\n  head: 1s\n  body: 2s\n  head: 3s\n"
        #expect(
            load(text).messages == [
                "cutover.yaml:5: expose: the key is given twice (first on line 4) \"expose\"; accepted: each key once",
                "cutover.yaml:9: timeouts.head: the key is given twice (first on line 7) \"head\"; accepted: each key once",
            ])
    }
}

import Testing

/// What docs/threat-model.md says is held by tests, and these are there.
struct ThreatModelTests {
    /// Names in backquotes that are those of tests: functions of Python and Swift, and suites.
    static func names(in text: String) -> [String] {
        var names: [String] = []
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        for index in stride(from: 1, to: parts.count, by: 2) {
            let name = String(parts[index])
            let isWord = name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
            let isPython = name.hasPrefix("test_") && isWord
            let isSuite = name.hasSuffix("Tests") && isWord
            // A sentence in camel case: key words and keys of the configuration have fewer capitals.
            let isSwift =
                isWord && !name.contains("_") && name.first?.isLowercase == true
                && name.filter(\.isUppercase).count >= 2
            if isPython || isSuite || isSwift { names.append(name) }
        }
        return names
    }

    @Test func everyTestThatTheThreatModelNamesIsThere() throws {
        let model = try SourceTree.files(under: "docs", endings: ["threat-model.md"])
        #expect(model.count == 1)
        let named = ThreatModelTests.names(in: model[0].text)
        let tests = try SourceTree.files(under: "Tests", endings: [".swift", ".py"])
        let missing = named.filter { name in
            !tests.contains { file in
                ["def \(name)(", "func \(name)(", "struct \(name)", "class \(name)"].contains { file.text.contains($0) }
            }
        }
        #expect(missing == [])
        #expect(named.count >= 75, "claims without a test: only \(named.count) are named")
    }

    @Test func namesAreToldFromOtherWords() {
        let text = "`test_a_b` and `aTokenIsRead`, `JWKSetTests`; not `user.from`, `jwt`, `listen[].tls`"
        #expect(ThreatModelTests.names(in: text) == ["test_a_b", "aTokenIsRead", "JWKSetTests"])
    }
}

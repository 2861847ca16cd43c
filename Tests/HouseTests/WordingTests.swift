import Testing

/// What is in the repository is finished, and true on every machine.
struct WordingTests {
    /// Everything that a reader may open, this folder apart: it has to spell what it forbids.
    private func texts() throws -> [SourceFile] {
        let endings = [
            ".swift", ".c", ".h", ".py", ".md", ".yaml", ".yml", ".json", ".sh", ".modulemap", ".html", ".css", ".js",
        ]
        var files: [SourceFile] = []
        for folder in ["Sources", "Tests", "Benchmarks", "docs", "dashboards", "rollout", "Package.swift"] {
            files += try SourceTree.files(under: folder, endings: endings)
        }
        for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "Makefile"] {
            files += try SourceTree.files(under: name, endings: [name])
        }
        files += try SourceTree.files(under: "scripts", endings: [""])
        files += try SourceTree.files(under: ".ci", endings: [""])
        return files.filter { !$0.path.hasPrefix("Tests/HouseTests/") }
    }

    private func places(of words: [String]) throws -> [String] {
        var places: [String] = []
        for file in try texts() {
            for (index, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                for word in words where line.contains(word) { places.append("\(file.path):\(index + 1): \(word)") }
            }
        }
        return places
    }

    @Test func nothingIsLeftToDo() throws {
        #expect(try places(of: ["TODO", "FIXME", "not implemented", "unimplemented"]) == [])
    }

    @Test func noPathOfSomebodysMachineIsWrittenDown() throws {
        #expect(try places(of: ["/work/", "/tmp/wt", "/root/", "/home/", "/Users/"]) == [])
    }

    @Test func noTestIsSwitchedOff() throws {
        let switches = [
            ".disabled(", ".enabled(if", "withKnownIssue", "pytest.mark.skip", "pytest.skip(", "mark.xfail",
        ]
        #expect(try places(of: switches) == [])
    }
}

import Testing

/// Files are one concern, functions fit a screen.
struct LengthTests {
    private static let fileLimit = 600
    private static let functionLimit = 70

    @Test func noFileIsLongerThanItsLimit() throws {
        let files =
            try SourceTree.files(under: "Sources", endings: [".swift", ".c", ".h", ".js", ".css", ".html"])
            + SourceTree.files(under: "Tests", endings: [".swift", ".py"])
            + SourceTree.files(under: "Benchmarks", endings: [".py", ".c"])
        try #require(files.count > 10)
        let long = files.filter { $0.lineCount > Self.fileLimit }
        #expect(long.map { "\($0.path): \($0.lineCount) lines" } == [])
    }

    @Test func noFunctionIsLongerThanItsLimit() throws {
        let files =
            try SourceTree.files(under: "Sources", endings: [".swift"])
            + SourceTree.files(under: "Tests", endings: [".swift"])
        var long: [String] = []
        for file in files {
            for function in SwiftText(file.text).functions where function.length > Self.functionLimit {
                long.append("\(file.path):\(function.line): \(function.length) lines")
            }
        }
        #expect(long == [])
    }

    @Test func functionsAreMeasuredFromSignatureToClosingBrace() {
        let text = """
            protocol P {
                func without(_ body: (Int) -> Void)
                init()
            }
            struct S {
                init() {
                    let text = "} \\("}") {"  // }
                }
                func two(_ body: () -> Void = {}) -> Int where Int: P {
                    if true { return 1 } /* } */
                    return #"}"#.count
                }
            }
            """
        #expect(SwiftText(text).functions == [.init(line: 6, length: 3), .init(line: 9, length: 4)])
    }
}

import Testing

/// Imports only point down, and the pure floors know no input or output.
struct ImportTests {
    /// The modules that a file imports: the word after `import`, past attributes and access levels.
    static func imports(of text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            var words = line.split(separator: " ")
            while let first = words.first, first.hasPrefix("@") || Self.accessLevels.contains(String(first)) {
                words.removeFirst()
            }
            guard words.first == "import", words.count > 1 else { return nil }
            words.removeFirst()
            if words.count > 1, Self.kinds.contains(String(words[0])) { words.removeFirst() }
            return words[0].split(separator: ".").first.map(String.init)
        }
    }

    private static let accessLevels: Set = ["public", "package", "internal", "fileprivate", "private"]
    private static let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]

    @Test func everyTargetHasAFloor() throws {
        let targets = try SourceTree.folders(under: "Sources")
        #expect(targets.filter { FloorPlan.floors[$0] == nil } == [], "a target is missing from FloorPlan")
        #expect(FloorPlan.floors.keys.filter { !targets.contains($0) } == [], "FloorPlan names a target that is gone")
    }

    @Test func importsPointDown() throws {
        let files = try SourceTree.files(under: "Sources", endings: [".swift"])
        try #require(files.count > 10)
        var broken: [String] = []
        for file in files {
            let target = String(file.path.split(separator: "/")[1])
            for module in Self.imports(of: file.text) where !FloorPlan.allows(target, toImport: module) {
                broken.append("\(file.path) imports \(module)")
            }
        }
        #expect(broken == [])
    }

    @Test func declaredDependenciesPointDown() throws {
        let manifest = try #require(try SourceTree.files(under: "Package.swift", endings: [".swift"]).first)
        var broken: [String] = []
        for declaration in manifest.text.split(separator: "floor(").dropFirst() {
            let names = declaration.prefix { $0 != ")" }.split(separator: "\"", omittingEmptySubsequences: false)
            let quoted = names.indices.filter { $0 % 2 == 1 }.map { String(names[$0]) }
            guard let target = quoted.first, FloorPlan.floors[target] != nil else { continue }
            for module in quoted.dropFirst() where !FloorPlan.allows(target, toImport: module) {
                broken.append("\(target) depends on \(module)")
            }
        }
        #expect(broken == [])
    }

    @Test func importLinesAreReadInEveryForm() {
        let text = """
            import A
            package import B
            @testable import C
            @preconcurrency public import struct D.Value
            // import E
            let important = 1
            """
        #expect(Self.imports(of: text) == ["A", "B", "C", "D"])
    }

    @Test func pureFloorsMayImportNothingElse() {
        #expect(FloorPlan.allows("Journal", toImport: "Rollout"))
        #expect(FloorPlan.allows("Telemetry", toImport: "Synchronization"))
        #expect(!FloorPlan.allows("Rollout", toImport: "Journal"))
        #expect(!FloorPlan.allows("HTTPWire", toImport: "CLinux"))
        #expect(!FloorPlan.allows("Gateway", toImport: "FoundationEssentials"))
        #expect(!FloorPlan.allows("Gateway", toImport: "ControlPlane"))
    }
}

import FoundationEssentials
import Testing

@testable import Configuration

@Suite struct DocumentTests {
    /// Keys in the first column of the tables of a part of docs/configuration.md.
    private func documented(from start: String, to end: String?) throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/configuration.md"), encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let first = try #require(lines.firstIndex(of: start))
        let last = try end.map { end in try #require(lines.firstIndex(of: end)) } ?? lines.count
        return lines[first..<last].compactMap { line in
            guard line.hasPrefix("| `") else { return nil }
            let columns = line.split(separator: "|").map { $0.trimmed }
            #expect(columns.count == 5, "\(line)")
            #expect(columns.last == "reload" || columns.last == "restart", "\(line)")
            return columns.first.map { $0.replacing("`", with: "") }
        }
    }

    private func known(_ sections: [Schema.Section]) -> [String] {
        sections.flatMap { section in section.keys.map { Section.join(section.path, $0) } }
    }

    @Test func everyKeyOfTheConfigurationIsDocumentedAndNoOther() throws {
        let documented = try documented(from: "## The configuration file", to: "## The plan file")
        #expect(documented.sorted() == known(Schema.configuration).sorted())
    }

    @Test func everyKeyOfThePlanIsDocumentedAndNoOther() throws {
        let documented = try documented(from: "## The plan file", to: nil)
        #expect(documented.sorted() == known(Schema.planFile).sorted())
    }
}

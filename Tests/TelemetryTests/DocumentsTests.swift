import FoundationEssentials
import Telemetry
import Testing

/// A file of the repository as text.
private func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    return try String(decoding: Data(contentsOf: root.appending(path: path)), as: UTF8.self)
}

/// The families of the page, and the names under which a histogram's series go.
private func names() -> (families: [String], series: Set<String>) {
    let page = Exposition(
        String(
            decoding: renderMetrics(MetricsSnapshot(), figures: FourFigures(), gauges: ControlGauges()), as: UTF8.self))
    return (page.order, Set(page.order + page.samples.map(\.name)))
}

/// Every word of a text that looks like one of our metrics.
private func metrics(in text: String) -> Set<String> {
    Set(
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":")) }.map(String.init)
            .filter { $0.hasPrefix("cutover_") || $0.hasPrefix("process_") })
}

@Test(arguments: [
    "dashboards/prometheus-rules.yaml", "dashboards/cutover-grafana.json",
    "dashboards/tests/prometheus-rules.test.yaml", "dashboards/tests/alerts.test.yaml",
])
func everyMetricThatADashboardNamesIsOnThePage(path: String) throws {
    let named = metrics(in: try text(path))
    #expect(named.count > 10)
    #expect(named.subtracting(names().series) == [])
}

@Test func everyFamilyIsExplainedToTheOperator() throws {
    let explained = metrics(in: try text("docs/operating.md"))
    #expect(Set(names().families).subtracting(explained) == [])
}

/// A metric without "when is it wrong" and "what then" is a number that nobody can do anything with.
@Test func everySectionWithAMetricSaysWhenItIsWrongAndWhatToDo() throws {
    let page = Set(names().families)
    for section in try text("docs/operating.md").split(separator: "\n## ").map(String.init).dropFirst() {
        guard !metrics(in: section).isDisjoint(with: page) else { continue }
        let title = section.prefix { $0 != "\n" }
        #expect(section.contains("**Wrong** when") && section.contains("**Do**: "), "\(title)")
    }
}

@Test func everyLimitIsExplainedToTheOperator() throws {
    let page = try text("docs/operating.md")
    for limit in Limit.allCases { #expect(page.contains("`\(limit.rawValue)`"), "\(limit.rawValue)") }
}

@Test func everyRunbookLeadsToASection() throws {
    let sections = try text("docs/operating.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
        .map { $0.dropFirst(3).lowercased().split(separator: " ").joined(separator: "-") }
    let rules = try text("dashboards/prometheus-rules.yaml")
    let runbooks = rules.split(separator: "\n").filter { $0.contains("runbook: ") }
        .compactMap { $0.split(separator: "#").last.map(String.init) }
    #expect(runbooks.count == rules.split(separator: "\n").count { $0.contains("- alert: ") })
    #expect(Set(runbooks).subtracting(sections) == [])
}

/// Tells the story as lines of text. On a terminal the last line shows what is going on.
final class Narrator {
    private let output: DemoOutput
    private var hasProgress = false

    init(_ output: DemoOutput) { self.output = output }

    // MARK: Lines

    func line(_ text: String = "") {
        clearProgress()
        output.write(text + "\n")
    }

    /// A remark below a stage's row.
    func remark(_ lines: [String]) {
        for (index, text) in lines.enumerated() { line((index == 0 ? "  · " : "    ") + text) }
    }

    /// Draws over the last line; nothing where there is no terminal.
    func progress(_ text: String) {
        guard output.isTerminal else { return }
        // Without wrapping, or a narrow terminal would scroll; what is behind the text is cleared.
        output.write("\r\u{1B}[?7l" + coloured(text, .dim) + "\u{1B}[K\u{1B}[?7h")
        hasProgress = true
    }

    func clearProgress() {
        guard hasProgress else { return }
        output.write("\r\u{1B}[K")
        hasProgress = false
    }

    enum Colour: Int {
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32
    }

    func coloured(_ text: String, _ colour: Colour) -> String {
        output.hasColour ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    // MARK: The table of stages

    private static let columns: [(title: String, width: Int)] = [
        ("stage", 8), ("percent", 7), ("on new", 9), ("requests", 8), ("read errors", 11), ("write p95", 9),
        ("conflicts", 9), ("fallbacks", 9), ("compared", 8), ("differ", 6),
    ]

    func heading() { line(coloured(row(Narrator.columns.map(\.title)), .dim)) }

    func stage(_ stage: StageReport, users: Int) {
        let figures = stage.figures
        line(
            row([
                stage.name, percent(stage.percent), "\(grouped(stage.usersOnNew)) / \(grouped(users))",
                grouped(stage.requests), share(figures.readErrorRate), duration(figures.writeP95Seconds),
                share(figures.conflictRate), share(figures.fallbackRate), grouped(stage.compared),
                grouped(stage.mismatched),
            ]))
    }

    /// The first column begins at the left, all others end at the right.
    private func row(_ cells: [String]) -> String {
        var line = ""
        for (index, (cell, column)) in zip(cells, Narrator.columns).enumerated() {
            let gap = String(repeating: " ", count: max(0, column.width - cell.count))
            line += index == 0 ? cell + gap : "  " + gap + cell
        }
        return line
    }
}

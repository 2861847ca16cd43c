/// A text with spaces up to a width; wide enough texts stay as they are.
func padded(_ text: String, to width: Int) -> String {
    text.count < width ? text + String(repeating: " ", count: width - text.count) : text
}

/// One cell of a table: its text, and the colour it may have.
struct Cell: Sendable {
    var text: String
    var colour: Colour?

    init(_ text: String, _ colour: Colour? = nil) {
        // What came from outside must not move the cursor or break the line.
        self.text = printable(text)
        self.colour = colour
    }
}

/// Aligned columns under a heading.
struct Table: Sendable {
    enum Alignment: Sendable { case left, right }

    var columns: [(title: String, alignment: Alignment)]
    var rows: [[Cell]] = []
    /// Columns by title that are left out, the first one first, where all of them are wider than the terminal.
    var dispensable: [String] = []

    init(_ columns: [(title: String, alignment: Alignment)]) { self.columns = columns }

    /// The heading and the rows, without trailing spaces.
    /// - Parameter width: characters of a line; nil is as many as it takes.
    func lines(_ console: Console, width: Int? = nil) -> [String] {
        var table = self
        while let width, table.width > width, let title = table.dispensable.first {
            table.dispensable.removeFirst()
            table.leaveOut(title)
        }
        return table.allLines(console)
    }

    private var width: Int {
        let widths = columns.indices.map { index in
            max(columns[index].title.count, rows.map { $0[index].text.count }.max() ?? 0)
        }
        return widths.reduce(0, +) + 2 * max(0, widths.count - 1)
    }

    private mutating func leaveOut(_ title: String) {
        guard let index = columns.firstIndex(where: { $0.title == title }) else { return }
        columns.remove(at: index)
        for row in rows.indices { rows[row].remove(at: index) }
    }

    private func allLines(_ console: Console) -> [String] {
        var widths = columns.map(\.title.count)
        for row in rows {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.text.count) }
        }
        let heading = columns.map { Cell($0.title, .dim) }
        return ([heading] + rows).map { line($0, widths, console) }
    }

    private func line(_ row: [Cell], _ widths: [Int], _ console: Console) -> String {
        var parts: [String] = []
        for (index, cell) in row.enumerated() {
            let gap = String(repeating: " ", count: widths[index] - cell.text.count)
            let shown = cell.colour.map { console.coloured(cell.text, $0) } ?? cell.text
            switch columns[index].alignment {
            case .right: parts.append(gap + shown)
            case .left: parts.append(index == row.count - 1 ? shown : shown + gap)
            }
        }
        // An empty last cell leaves no spaces behind.
        while parts.last == "" { parts.removeLast() }
        var line = parts.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
    }
}

/// A text without control characters and without format characters (those that turn the direction of writing, and those that nobody
/// sees): each is shown as `\u{…}`, so that a text of somebody else neither moves the cursor nor passes for another one.
func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var out = ""
    for scalar in text.unicodeScalars {
        if isControl(scalar) {
            out += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            out.unicodeScalars.append(scalar)
        }
    }
    return out
}

private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
}

/// Shows a text again and again: in place on a terminal, one after the other elsewhere.
struct Redraw {
    let console: Console
    private var shownLines = 0

    init(console: Console) { self.console = console }

    mutating func show(_ text: String) {
        guard console.isTerminal else {
            console.print(text)
            return
        }
        let lines = fitting(text.split(separator: "\n", omittingEmptySubsequences: false))
        var frame = ""
        if shownLines > 0 { frame += "\u{1B}[\(shownLines)A" }
        // Lines do not wrap while the frame is drawn, else a narrow terminal would need more lines than were counted. Each is
        // cleared behind its text, not before it: nothing flickers.
        frame += "\r\u{1B}[?7l"
        for line in lines { frame += line + "\u{1B}[K\n" }
        frame += "\u{1B}[J\u{1B}[?7h"
        console.write(frame)
        shownLines = lines.count
    }

    /// A frame that is higher than the terminal could not be drawn over: its end is left out. One line stays for the cursor.
    private func fitting(_ lines: [Substring]) -> [Substring] {
        guard let rows = console.rows(), rows > 2, lines.count > rows - 1 else { return lines }
        let left = lines.count - (rows - 2)
        return lines.prefix(rows - 2) + ["… and \(left) lines more: cutover status"]
    }
}

/// Shows how far something is: in place on a terminal, elsewhere one line per change.
struct ProgressText {
    private let console: Console
    private var redraw: Redraw
    private var last = ""

    init(console: Console) {
        self.console = console
        redraw = Redraw(console: console)
    }

    /// Shows a line, unless it is the one that is shown already.
    mutating func show(_ line: String) {
        guard line != last else { return }
        last = line
        redraw.show(line)
    }
}

extension Invocation {
    /// How long to wait between two looks at something that goes on: fewer lines where they stay.
    var followMilliseconds: UInt32 { console.isTerminal ? 250 : 1000 }
}

/// Lines of a screen that stand or go together.
struct Block {
    /// What it is worth where not all of them fit; the first one goes first.
    enum Worth: Int, CaseIterable {
        /// White space, and a bar that says 0.
        case ornament
        /// Counts behind the figures.
        case detail
        /// What is so most of the time.
        case usual
        /// What holds the next step besides the first of it.
        case further
        /// A figure that nobody has to worry about.
        case quiet
        /// What a person decides by.
        case essential
        /// The backends stay, whatever happens.
        case backend
    }

    var worth: Worth
    var lines: [String]

    init(_ worth: Worth, _ lines: [String]) {
        self.worth = worth
        self.lines = lines
    }
}

/// The lines of blocks, of which those of the least worth are left out where they are more than fit; the last line then says so.
///
/// - Parameter limit: lines that fit; nil is as many as there are.
func fittingLines(_ blocks: [Block], limit: Int?) -> [String] {
    func count(_ blocks: [Block]) -> Int { blocks.reduce(0) { $0 + $1.lines.count } }
    guard let limit, limit > 1, count(blocks) > limit else { return blocks.flatMap(\.lines) }
    var kept = blocks.filter { $0.worth != .ornament }
    guard count(kept) > limit else { return kept.flatMap(\.lines) }
    let all = count(kept)
    for worth in Block.Worth.allCases where worth != .backend {
        while count(kept) > limit - 1, let index = kept.lastIndex(where: { $0.worth == worth }) {
            kept.remove(at: index)
        }
    }
    let left = all - count(kept)
    return kept.flatMap(\.lines) + ["… and \(left) \(left == 1 ? "line" : "lines") more: cutover status"]
}

import TestSupport

/// What the players draw.
extension SeededGenerator {
    /// True in `percent` of a hundred.
    mutating func chance(_ percent: Int) -> Bool { Int(next() % 100) < percent }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    mutating func within(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    /// Another generator, so that one player's draws do not move with another's.
    mutating func fork() -> SeededGenerator { SeededGenerator(seed: next()) }
}

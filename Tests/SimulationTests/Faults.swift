import TestSupport

/// What becomes of one request at a played backend.
enum Fate: Equatable {
    case answers
    /// The connection is reset before anything was read, after the request was read, after it was applied.
    case resetUnread, resetRead, resetApplied
    /// No answer ever comes; the request was not applied, or was.
    case silent, silentApplied
    /// An error of the backend's own, with nothing applied or all the same.
    case status(Int), statusApplied(Int)
}

/// How a played backend fails.
struct Faults {
    /// Out of a hundred requests so many go wrong.
    var intensity = 0
    /// Longest time that an answer takes as a rule, and once in a while, in microseconds.
    var usualDelay = 3_000
    var slowDelay = 2_500_000

    func fate(isWrite: Bool, _ random: inout SeededGenerator) -> Fate {
        guard random.chance(intensity) else { return .answers }
        switch random.below(isWrite ? 12 : 7) {
        case 0: return .resetUnread
        case 1: return .resetRead
        case 2: return .silent
        case 3: return .status(500)
        case 4: return .status(503)
        case 5: return isWrite ? .status(429) : .status(502)
        case 6, 7: return isWrite ? .resetApplied : .resetRead
        case 8, 9: return .silentApplied
        case 10: return .statusApplied(500)
        default: return .statusApplied(503)
        }
    }

    func delay(_ random: inout SeededGenerator) -> Int {
        if intensity > 0, random.chance(max(1, intensity / 4)) { return random.below(slowDelay) }
        return 50 + random.below(usualDelay)
    }
}

/// The known word that somebody who wrote `word` most likely meant; nil when none is near.
func nearest(to word: String, among known: [String]) -> String? {
    let limit = max(1, (word.utf8.count + 1) / 3)
    var best: (distance: Int, word: String)?
    for candidate in known {
        let distance = editDistance(Array(word.lowercased().utf8), Array(candidate.utf8))
        let isPrefix = word.utf8.count >= 3 && candidate.hasPrefix(word.lowercased())
        guard distance <= limit || isPrefix else { continue }
        if best.map({ distance < $0.distance }) ?? true { best = (distance, candidate) }
    }
    return best?.word
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 1...left.count {
        var current = [Int](repeating: 0, count: right.count + 1)
        current[0] = row
        for column in 1...right.count {
            let same = left[row - 1] == right[column - 1]
            var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (same ? 0 : 1))
            if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                cost = min(cost, beforeLast[column - 2] + 1)
            }
            current[column] = cost
        }
        beforeLast = last
        last = current
    }
    return last[right.count]
}

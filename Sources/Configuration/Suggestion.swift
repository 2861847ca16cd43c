/// The nearest known word to a word that is not known.
package enum Suggestion {
    /// The candidate with the least edit distance; nil when none is near enough to be a slip of the finger.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        // A long word is no slip, and the distance costs length squared.
        guard word.utf8.count <= 64 else { return nil }
        let typed = normalised(word)
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(typed, normalised(candidate))
            if distance < best?.distance ?? Int.max { best = (candidate, distance) }
        }
        // `idle` for `client_idle`, `hs256_secret` for `hs256_secret_file`: far apart, and yet plain.
        let longer = candidates.filter { typed.count >= 4 && String(normalised($0)).contains(String(typed)) }
        if longer.count == 1 { return longer[0] }
        guard let best, best.distance <= max(1, min(best.word.count, typed.count) / 3) else { return nil }
        return best.word
    }

    /// `connectTimeout`, `connect-timeout` and `connect_timeout` are the same slip.
    private static func normalised(_ word: String) -> [Character] {
        word.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }.map { $0 }
    }

    /// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other (optimal string alignment).
    package static func distance(_ left: [Character], _ right: [Character]) -> Int {
        if left.isEmpty || right.isEmpty { return left.count + right.count }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for i in 1...left.count {
            var row = [i]
            for j in 1...right.count {
                let replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1)
                var least = min(replaced, last[j] + 1, row[j - 1] + 1)
                if i > 1, j > 1, left[i - 1] == right[j - 2], left[i - 2] == right[j - 1] {
                    least = min(least, beforeLast[j - 2] + 1)
                }
                row.append(least)
            }
            beforeLast = last
            last = row
        }
        return last[right.count]
    }
}

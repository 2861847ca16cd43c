import Configuration

/// The known word that somebody who wrote `word` most likely meant; nil when none is near.
func nearest(to word: String, among known: [String]) -> String? {
    let limit = max(1, (word.utf8.count + 1) / 3)
    var best: (distance: Int, word: String)?
    for candidate in known {
        let distance = Suggestion.distance(Array(word.lowercased()), Array(candidate))
        let isPrefix = word.utf8.count >= 3 && candidate.hasPrefix(word.lowercased())
        guard distance <= limit || isPrefix else { continue }
        if best.map({ distance < $0.distance }) ?? true { best = (distance, candidate) }
    }
    return best?.word
}

/// A text without white space at its ends.
func trimmed(_ text: some StringProtocol) -> String {
    var characters = text[...]
    while let first = characters.first, first.isWhitespace { characters.removeFirst() }
    while let last = characters.last, last.isWhitespace { characters.removeLast() }
    return String(characters)
}

/// A sentence on lines of at most that many characters, broken between words; what does not fit on so many lines ends in `…`.
func wrapped(_ text: String, width: Int, lines limit: Int) -> [String] {
    var words: [Substring] = []
    for word in text.split(separator: " ") {
        // `0.5 %` is one word.
        if word.hasPrefix("%"), let number = words.popLast() {
            words.append(number + " " + word)
        } else {
            words.append(word)
        }
    }
    var lines = [""]
    for word in words {
        let line = lines[lines.count - 1]
        if line.isEmpty {
            lines[lines.count - 1] = String(word)
        } else if line.count + 1 + word.count <= width {
            lines[lines.count - 1] = line + " " + word
        } else if lines.count == limit {
            lines[lines.count - 1] = String(line.prefix(width - 2)) + " …"
            break
        } else {
            lines.append(String(word))
        }
    }
    return lines
}

/// A text without white space at its ends.
func trimmed(_ text: some StringProtocol) -> String {
    var characters = text[...]
    while let first = characters.first, first.isWhitespace { characters.removeFirst() }
    while let last = characters.last, last.isWhitespace { characters.removeLast() }
    return String(characters)
}

/// A text as one segment of a URL's path or one value of its query (RFC 3986 §2.3).
func percentEncoded(_ text: String) -> String {
    // `.` and `..` alone would be taken for steps in the path.
    let isDots = text == "." || text == ".."
    var out = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
            out.unicodeScalars.append(Unicode.Scalar(byte))
        case UInt8(ascii: ".") where !isDots:
            out += "."
        default:
            let digits = String(byte, radix: 16, uppercase: true)
            out += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }
    }
    return out
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

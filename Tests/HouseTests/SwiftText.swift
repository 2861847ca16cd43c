/// Swift text with comments and strings blanked out, so that braces and words can be counted.
struct SwiftText {
    private let bytes: [UInt8]
    private(set) var code: [UInt8] = []
    private var index = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
        code.reserveCapacity(bytes.count)
        while index < bytes.count { step() }
    }

    /// A function's name line and how many lines it has, signature and closing brace included.
    struct Function: Equatable {
        let line: Int
        let length: Int
    }

    /// The functions and initialisers with a body.
    var functions: [Function] {
        var found: [Function] = []
        var lines = [1]
        lines.reserveCapacity(code.count)
        for byte in code { lines.append(lines[lines.count - 1] + (byte == UInt8(ascii: "\n") ? 1 : 0)) }
        for start in code.indices where isFunctionKeyword(at: start) {
            guard let end = endOfBody(from: start) else { continue }
            found.append(Function(line: lines[start], length: lines[end] - lines[start] + 1))
        }
        return found
    }

    private func matches(_ word: String, at position: Int) -> Bool {
        let word = Array(word.utf8)
        guard position + word.count < code.count else { return false }
        return code[position..<position + word.count].elementsEqual(word)
    }

    private func isFunctionKeyword(at position: Int) -> Bool {
        if position > 0 {
            let before = code[position - 1]
            guard before == UInt8(ascii: " ") || before == UInt8(ascii: "\n") else { return false }
        }
        return ["func ", "init(", "init?(", "init<", "deinit "].contains { matches($0, at: position) }
    }

    /// The index of the closing brace of the body that begins after `start`; nil for a requirement without a body.
    private func endOfBody(from start: Int) -> Int? {
        var parentheses = 0
        var braces = 0
        for position in start..<code.count {
            switch code[position] {
            case UInt8(ascii: "("): parentheses += 1
            case UInt8(ascii: ")"): parentheses -= 1
            case UInt8(ascii: "{") where braces > 0 || parentheses == 0: braces += 1
            case UInt8(ascii: "}") where braces > 0:
                braces -= 1
                if braces == 0 { return position }
            case UInt8(ascii: "}") where parentheses == 0: return nil
            default:
                if braces == 0, parentheses == 0, position > start, isFunctionKeyword(at: position) { return nil }
            }
        }
        return nil
    }

    // MARK: Blanking

    private func peek(_ text: StaticString) -> Bool {
        guard index + text.utf8CodeUnitCount <= bytes.count else { return false }
        for offset in 0..<text.utf8CodeUnitCount where bytes[index + offset] != text.utf8Start[offset] { return false }
        return true
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where index < bytes.count {
            code.append(bytes[index] == UInt8(ascii: "\n") ? bytes[index] : UInt8(ascii: " "))
            index += 1
        }
    }

    private mutating func step() {
        if peek("//") {
            while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { blank() }
        } else if peek("/*") {
            blankBlockComment()
        } else if bytes[index] == UInt8(ascii: "#") || bytes[index] == UInt8(ascii: "\"") {
            blankStringOrKeep()
        } else {
            code.append(bytes[index])
            index += 1
        }
    }

    private mutating func blankBlockComment() {
        var depth = 0
        repeat {
            if peek("/*") {
                depth += 1
                blank(2)
            } else if peek("*/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && index < bytes.count
    }

    private mutating func blankStringOrKeep() {
        var hashes = 0
        while index + hashes < bytes.count, bytes[index + hashes] == UInt8(ascii: "#") { hashes += 1 }
        guard index + hashes < bytes.count, bytes[index + hashes] == UInt8(ascii: "\"") else {
            code.append(contentsOf: bytes[index..<index + max(hashes, 1)])
            index += max(hashes, 1)
            return
        }
        blank(hashes)
        let quotes = peek("\"\"\"") ? 3 : 1
        blank(quotes)
        blankString(hashes: hashes, quotes: quotes)
    }

    private func repeats(_ byte: Character, _ count: Int, at position: Int) -> Bool {
        guard position + count <= bytes.count, let ascii = byte.asciiValue else { return false }
        return bytes[position..<position + count].allSatisfy { $0 == ascii }
    }

    private mutating func blankString(hashes: Int, quotes: Int) {
        while index < bytes.count {
            if repeats("\"", quotes, at: index), repeats("#", hashes, at: index + quotes) {
                blank(quotes + hashes)
                return
            }
            guard bytes[index] == UInt8(ascii: "\\"), repeats("#", hashes, at: index + 1) else {
                blank()
                continue
            }
            blank(1 + hashes)
            if index < bytes.count, bytes[index] == UInt8(ascii: "(") { blankInterpolation() } else { blank() }
        }
    }

    /// An interpolation is code again, with strings of its own; all of it is blanked.
    private mutating func blankInterpolation() {
        var depth = 0
        repeat {
            if bytes[index] == UInt8(ascii: "\"") {
                let quotes = peek("\"\"\"") ? 3 : 1
                blank(quotes)
                blankString(hashes: 0, quotes: quotes)
                continue
            }
            if bytes[index] == UInt8(ascii: "(") { depth += 1 }
            if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
            blank()
        } while depth > 0 && index < bytes.count
    }
}

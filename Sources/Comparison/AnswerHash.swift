/// The hash of a whole answer: its status, the header lines that count, and the content hash of its body.
///
/// Only what was added counts. Lines are to be added sorted by lower-case name, and within a name in the order of the
/// message (RFC 9110 §5.3: that order has a meaning, the order between names has none). A value type; allocates nothing.
package struct AnswerHash {
    private var mixer = Mixer(.answer)
    private var lines: UInt64 = 0

    /// Begins the hash of an answer with this status code.
    package init(status: Int) {
        mixer.absorb(UInt64(truncatingIfNeeded: status), 0)
    }

    /// Adds one header line; the case of the name and white space around the value do not count.
    package mutating func add(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        var line = Mixer(.headerLine)
        for byte in name {
            line.absorb(UInt64(asciiLowercased(byte)), 0)
        }
        line.absorb(UInt64(truncatingIfNeeded: name.count), 1)
        var start = 0
        var end = value.count
        while start < end, isOptionalWhitespace(value[start]) { start += 1 }
        while end > start, isOptionalWhitespace(value[end - 1]) { end -= 1 }
        line.absorb(UnsafeBufferPointer(rebasing: value[start..<end]))
        mixer.absorb(line.finish(UInt64(truncatingIfNeeded: end - start)))
        lines += 1
    }

    /// Ends the hash with the content hash of the body.
    package consuming func finish(body: ContentHash) -> ContentHash {
        mixer.absorb(body.low, body.high)
        return ContentHash(mixer.finish(lines))
    }
}

/// The hash of a whole answer of header lines in any order of names; see ``AnswerHash``, which allocates nothing.
package func answerHash(status: Int, headers: [(name: String, value: String)], body: ContentHash) -> ContentHash {
    var answer = AnswerHash(status: status)
    let lines = headers.map { (name: $0.name.utf8.map(asciiLowercased), value: Array($0.value.utf8)) }
    // Swift's sort is not promised to be stable, and lines of one name must keep their order.
    let sorted = lines.enumerated().sorted {
        $0.element.name == $1.element.name
            ? $0.offset < $1.offset : $0.element.name.lexicographicallyPrecedes($1.element.name)
    }
    for (_, line) in sorted {
        line.name.withUnsafeBufferPointer { name in
            line.value.withUnsafeBufferPointer { value in
                answer.add(name: name, value: value)
            }
        }
    }
    return answer.finish(body: body)
}

@inline(__always)
func asciiLowercased(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
}

@inline(__always)
func isOptionalWhitespace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09
}

/// The entity tags of a list such as `"12", W/"13"` (RFC 9110 §8.8.3), without their quotes; nil when it is none. Empty elements are
/// passed over (§5.6.1).
func entityTags(_ list: String) -> [(isWeak: Bool, text: String)]? {
    var tags: [(isWeak: Bool, text: String)] = []
    var rest = list.utf8[...]
    func skipSpace() { while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() } }
    while true {
        skipSpace()
        guard let first = rest.first else { return tags.isEmpty ? nil : tags }
        if first == UInt8(ascii: ",") {
            rest.removeFirst()
            continue
        }
        let isWeak = rest.starts(with: "W/".utf8)
        if isWeak { rest.removeFirst(2) }
        guard rest.first == UInt8(ascii: "\""), let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\"")) else {
            return nil
        }
        let text = rest[rest.index(after: rest.startIndex)..<end]
        guard text.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }) else { return nil }
        tags.append((isWeak, String(decoding: text, as: UTF8.self)))
        rest = rest[rest.index(after: end)...]
        skipSpace()
        guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
    }
}

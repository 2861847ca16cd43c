internal import Values

/// A record of an export for people.
///
/// What a text is called, says and where it is found come first; everything else that the payload has follows as a list, so that nothing is left
/// out. A tombstone has nothing to say.
package func markdown(_ record: SyncRecord) -> String {
    guard !record.deleted else { return "" }
    let all = members(record.payload) ?? []
    func text(_ name: String) -> String? {
        for (member, value) in all where member == name { if case .string(let text) = value { return text } }
        return nil
    }
    var out = ""
    var said: Set<String> = []
    switch record.type {
    case .document, .progress:
        out += "## \(oneLine(text("title") ?? record.record))\n\n"
        said.insert("title")
        if let body = text("text") {
            out += body + "\n\n"
            said.insert("text")
        }
    case .highlight:
        out += "### Highlight \(oneLine(record.record))\n\n"
        if let body = text("text") {
            // As a quotation, whatever it is made of.
            out += body.split(separator: "\n", omittingEmptySubsequences: false).map { "> " + $0 }.joined(
                separator: "\n")
            out += "\n\n"
            said.insert("text")
        }
    case .note:
        out += "### Note \(oneLine(record.record))\n\n"
        if let body = text("text") {
            out += body + "\n\n"
            said.insert("text")
        }
    }
    for (name, value) in all where !said.contains(name) {
        if case .string(let text) = value {
            out += "- \(oneLine(name)): \(oneLine(text))\n"
        } else {
            out += "- \(oneLine(name)): `\(value.text)`\n"
        }
    }
    let updated = Instant(milliseconds: record.updatedAt).textWithMilliseconds
    return out
        + "- record: \(oneLine(record.record)), \(record.type.rawValue), revision \(record.revision), \(updated)\n\n"
}

private func oneLine(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
}

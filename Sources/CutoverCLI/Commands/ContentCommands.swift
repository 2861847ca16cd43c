import Comparison
import ControlPlane
import Values

/// The commands that use the gateway's own comparison on files and URLs.
let contentCommands: [Command] = [hashCommand, compareCommand]

private func ruleFlags(bytes: String) -> [Flag] {
    [
        .value("ignore", "POINTER", "JSON pointer that does not count; * is any member", repeats: true),
        .value("unordered", "POINTER", "JSON pointer of an array whose order does not count", repeats: true),
        .toggle("bytes", bytes),
    ]
}

private let hashCommand = Command(
    "hash", "Print the content hash of files", operands: .atLeastOne("FILE"),
    details: """
        JSON is hashed as a value, anything else as bytes. A FILE may be a URL; - is standard input. In the example \
        one file holds {"a":1}, the other { "a": 1.0 }.
        """,
    flags: ruleFlags(bytes: "Hash as bytes, even when it is JSON") + Document.flags,
    example: """
        $ cutover hash before.json after.json
        \(exampleHash)  before.json
        \(exampleHash)  after.json
        """,
    run: { invocation in
        let rules = try comparisonRules(invocation)
        let hasher = ContentHasher()
        var status = ExitStatus.done
        for name in invocation.operands {
            do {
                let document = try Document.load(name, invocation)
                printHash(document, hasher, rules, invocation)
            } catch let failure as CommandFailure {
                // The other files still get their line.
                invocation.console.printError("cutover hash: \(failure.message)")
                status = ExitStatus.refused
            }
        }
        return status
    })

/// The hash of `{"a":1}` for the help, computed so that it cannot be wrong.
private let exampleHash = ContentHasher().hash(Array(#"{"a":1}"#.utf8), isJSON: true).hex

private func printHash(
    _ document: Document, _ hasher: ContentHasher, _ rules: ComparisonRules, _ invocation: Invocation
) {
    let asBytes = hasher.hash(document.bytes, isJSON: false)
    let hash =
        isJSON([document], invocation) ? hasher.hash(document.bytes, isJSON: true, rules: rules) : asBytes
    guard invocation.wantsJSON else {
        invocation.console.print("\(hash.hex)  \(printable(document.name))")
        return
    }
    // What is not valid JSON is hashed as bytes, so equal hashes tell how it was taken.
    let json = JSONValue.object([
        ("file", .string(document.name)), ("hash", .string(hash.hex)), ("as", hash == asBytes ? "bytes" : "json"),
    ])
    invocation.console.print(json.text)
}

private let compareCommand = Command(
    "compare", "Compare two files or URLs as the gateway compares answers", operands: .exactly(["A", "B"]),
    details: """
        Prints the paths that differ and exits 1 when any do. Of two URLs, status and content type count, too; \
        content codings are taken off first.
        """,
    flags: ruleFlags(bytes: "Compare as bytes, even when it is JSON") + [
        .toggle("values", "Show the values that differ, too"),
        .value("limit", "N", "At most so many paths (default 100)"),
    ] + Document.flags,
    example: """
        $ cutover compare --ignore /serverTime old.json new.json
        /items/0/title  changed
        /items/2        only in old.json
        """,
    run: { invocation in
        let rules = try comparisonRules(invocation)
        let limit = try invocation.integer("limit", in: 1...1_000_000) ?? 100
        let first = try Document.load(invocation.operands[0], invocation)
        let second = try Document.load(invocation.operands[1], invocation)
        let result = compare(
            first, second, rules: rules, isJSON: isJSON([first, second], invocation), limit: limit,
            includeValues: invocation.isSet("values"))
        invocation.console.print(invocation.wantsJSON ? result.json.text : result.text(invocation.console))
        return result.isEqual ? ExitStatus.done : ExitStatus.refused
    })

/// What does not count, from the flags.
private func comparisonRules(_ invocation: Invocation) throws -> ComparisonRules {
    func pointers(_ flag: String) throws -> [PointerPattern] {
        try invocation.values(flag).map { text in
            guard let pointer = PointerPattern(text) else {
                throw invocation.usage("--\(flag) \"\(text)\" is no JSON pointer; it begins with /, as /items/*/id")
            }
            return pointer
        }
    }
    return ComparisonRules(ignore: try pointers("ignore"), unordered: try pointers("unordered"))
}

/// An answer is JSON by its content type, as in the gateway; a file is tried.
private func isJSON(_ documents: [Document], _ invocation: Invocation) -> Bool {
    !invocation.isSet("bytes")
        && documents.allSatisfy { $0.status == nil || isJSONMediaType($0.contentType ?? "") }
}

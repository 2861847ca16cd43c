import ControlPlane
import FoundationEssentials
import Values

/// The flags of every command that prints a list.
let listFlags: [Flag] = [
    .value("limit", "N", "At most so many (default 50)"),
    .value("cursor", "CURSOR", "Go on where another page ended"),
]

/// Prints one page of a list as a table, or the API's JSON.
///
/// - Parameter none: what to say when the list is empty.
func list<Item: Decodable>(
    _ client: ControlClient, _ invocation: Invocation, _ path: String, query: [(name: String, value: String)] = [],
    of: Item.Type, none: String, _ table: ([Item]) -> Table
) throws -> Int32 {
    var query = query
    query.append((name: "limit", value: String(try invocation.integer("limit", in: 1...1000) ?? 50)))
    if let cursor = invocation.value("cursor") { query.append((name: "cursor", value: cursor)) }
    let answer = try client.get(path, query: query)
    if invocation.wantsJSON {
        invocation.console.print(answer.text)
        return ExitStatus.done
    }
    let page = try answer.decode(Page<Item>.self)
    if page.items.isEmpty {
        invocation.console.print(none)
        return ExitStatus.done
    }
    invocation.console.print(table(page.items).lines(invocation.console).joined(separator: "\n"))
    if let cursor = page.cursor {
        invocation.console.printError("There are more: --cursor \(printable(cursor))")
    }
    return ExitStatus.done
}

/// Prints mismatches, the oldest first, and goes on with new ones as they come.
///
/// The API's list is newest first and its items have no number, so that a page is compared with the page before it.
func followMismatches(_ client: ControlClient, _ invocation: Invocation) throws -> Int32 {
    let limit = try invocation.integer("limit", in: 1...1000) ?? 50
    var known: Set<String> = []
    var isFirst = true
    var lastComplaint: String?
    repeat {
        let items: [JSONValue]
        do {
            items = try client.get("mismatches", query: [(name: "limit", value: String(limit))])
                .decode(Page<JSONValue>.self).items
        } catch let failure as CommandFailure {
            // A gateway that restarts is waited for, one that was never there is not.
            if isFirst { throw failure }
            if failure.message != lastComplaint { invocation.console.printError(failure.message) }
            lastComplaint = failure.message
            continue
        }
        isFirst = false
        lastComplaint = nil
        for item in items.reversed() where !known.contains(item.text) {
            if invocation.wantsJSON {
                invocation.console.print(item.text)
            } else if let report = try? JSONDecoder().decode(MismatchReport.self, from: Data(item.text.utf8)) {
                invocation.console.print(mismatchLine(report))
            }
        }
        known = Set(items.map(\.text))
    } while invocation.surroundings.pause(1000) && !invocation.console.outputFailed
    return ExitStatus.done
}

/// Prints every event, the oldest first.
func allEvents(_ client: ControlClient, _ invocation: Invocation) throws -> Int32 {
    for flag in ["limit", "cursor"] where invocation.isSet(flag) {
        throw invocation.usage("--all prints everything: --\(flag) has no place beside it")
    }
    let answer = try client.get("events", query: [(name: "format", value: "ndjson")])
    if invocation.wantsJSON {
        invocation.console.write(answer.text)
        return ExitStatus.done
    }
    let items = try answer.text.split(separator: "\n").map { line in
        try APIAnswer(bytes: Array(line.utf8), source: answer.source).decode(EventReport.self)
    }
    let lines = items.isEmpty ? ["no events"] : eventTable(items).lines(invocation.console)
    invocation.console.print(lines.joined(separator: "\n"))
    return ExitStatus.done
}

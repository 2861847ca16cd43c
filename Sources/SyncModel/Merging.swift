internal import Values

/// A highlight merges by field: members that a change carries take its revision, others keep theirs, null takes a member out.
/// - Parameters:
///   - payload: as it is; empty for none.
///   - revisions: of its members; empty: all have `revision`.
///   - change: the newer payload, which has revision `newRevision`.
/// - Returns: the merged payload, and the revision of each member; nil where one of the texts is no JSON object.
package func mergeFields(
    of payload: String, revisions: String, revision: Int64, with change: String, newRevision: Int64
) -> (payload: String, revisions: String)? {
    guard let old = members(payload.isEmpty ? "{}" : payload), let new = members(change),
        let known = members(revisions.isEmpty ? "{}" : revisions)
    else { return nil }
    // Of two members of the same name in one payload the last counts, as it does everywhere.
    var changed: [String: JSONValue] = [:]
    for (name, value) in new { changed[name] = value }
    var merged: [(String, JSONValue)] = []
    var mergedRevisions: [(String, JSONValue)] = []
    func keep(_ name: String, _ value: JSONValue, _ revision: JSONValue) {
        if case .null = value { return }
        merged.append((name, value))
        mergedRevisions.append((name, revision))
    }
    var rest = changed
    for (name, value) in old {
        if let value = rest.removeValue(forKey: name) {
            keep(name, value, .number(String(newRevision)))
        } else if changed[name] == nil {
            keep(name, value, known.first { $0.0 == name }?.1 ?? .number(String(revision)))
        }
    }
    for (name, _) in new {
        if let value = rest.removeValue(forKey: name) { keep(name, value, .number(String(newRevision))) }
    }
    return (JSONValue.object(merged).text, JSONValue.object(mergedRevisions).text)
}

/// Puts members into an object in the place of those of the same name, or behind the others.
func replacing(_ members: [(String, JSONValue)], in payload: String) -> String? {
    guard var all = SyncModel.members(payload) else { return nil }
    for (name, value) in members {
        if let index = all.lastIndex(where: { $0.0 == name }) {
            all[index].1 = value
        } else {
            all.append((name, value))
        }
    }
    return JSONValue.object(all).text
}

func members(_ json: String) -> [(String, JSONValue)]? {
    guard let value = try? JSONValue(reading: Array(json.utf8)), case .object(let members) = value else { return nil }
    return members
}

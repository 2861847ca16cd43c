internal import Rollout
internal import Routing

extension SettingsDecoder {
    mutating func decodeUser(_ top: Section) {
        guard let section = top.section("user", Schema.user) else { return }
        let sources = Schema.userSource.keys.joined(separator: ", ")
        if let items = section.list("from", of: "mappings of one key: " + sources) {
            if items.isEmpty {
                diagnostics.error(
                    section.path("from"), "an empty list", accepted: "one source or more: " + sources)
            }
            settings.user.from = items.compactMap { source($0.node, path: $0.path) }
        }
        section.set(&settings.user.anonymous, "anonymous", Self.anonymous)
        section.set(&settings.user.unverifiable, "unverifiable", Value.word(UnverifiablePolicy.self))
        section.set(&settings.user.algorithm, "algorithm", Value.word(BucketingAlgorithm.self))
        section.set(&settings.user.salt, "salt", Value.text)
    }

    private static func anonymous(_ text: String) throws(ValueProblem) -> AnonymousPolicy {
        if text == "legacy" { return .legacy }
        let accepted = "legacy, hash:HEADER"
        guard text.hasPrefix("hash:") else {
            throw ValueProblem(
                "unknown word", accepted: accepted, suggestion: Suggestion.nearest(to: text, among: ["legacy"]))
        }
        guard let header = try? Value.token(text.dropFirst(5).trimmed) else {
            throw ValueProblem("no valid header name in", accepted: accepted)
        }
        return .hash(header: header)
    }

    private mutating func source(_ node: Node, path: String) -> UserSource? {
        let keys = Schema.userSource.keys
        guard let section = Section(node, path: path, schema: Schema.userSource, diagnostics: diagnostics) else {
            return nil
        }
        let given = section.given(keys)
        guard given.count == 1 else {
            // An unknown key has been reported already.
            if given.count > 1 || !section.hasUnknownKeys {
                let problem = given.isEmpty ? "no source" : "more than one source in one item"
                diagnostics.error(
                    path, line: node.line, value: given.isEmpty ? nil : given.joined(separator: ", "), problem,
                    accepted: "one of " + keys.joined(separator: ", "))
            }
            return nil
        }
        switch given[0] {
        case "header": return section.value("header", Value.token).map { .header($0) }
        case "cookie": return section.value("cookie", Value.token).map { .cookie($0) }
        case "query": return section.value("query", Value.text).map { .query($0) }
        case "path": return section.value("path", Value.userPath).map { .path($0) }
        case "basic":
            return section.plain("basic") { text throws(ValueProblem) in
                guard text == "true" else {
                    throw ValueProblem("not a choice", accepted: "true, or leave the item out")
                }
                return .basic
            }
        case "signed_cookie":
            return section.section("signed_cookie", Schema.signedCookie).flatMap { signedCookie($0) }
        default: return section.section("jwt", Schema.jwt).flatMap { jwt($0) }
        }
    }
}

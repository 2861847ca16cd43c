import FoundationEssentials
import Testing

@testable import ControlPlane
import Values

private let document = try? JSONValue(reading: Array(OpenAPIDocument.text.utf8))

extension JSONValue {
    fileprivate var members: [(String, JSONValue)] {
        if case .object(let members) = self { members } else { [] }
    }
    var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }
    fileprivate var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// Every `$ref` in it.
    fileprivate var references: [String] {
        members.flatMap { $0.0 == "$ref" ? [$0.1.string ?? ""] : $0.1.references } + elements.flatMap(\.references)
    }
}

/// Members of an answer that its schema does not know, and those that it requires and the answer lacks.
func undescribed(_ answer: JSONValue, by schema: JSONValue, at path: String = "") -> [String] {
    if let name = schema["$ref"]?.string?.split(separator: "/").last {
        let found = document?["components"]?["schemas"]?[String(name)]
        return found.map { undescribed(answer, by: $0, at: path) } ?? ["\(path): no schema \(name)"]
    }
    if let forms = schema["anyOf"]?.elements {
        if case .null = answer { return [] }
        return forms.first.map { undescribed(answer, by: $0, at: path) } ?? []
    }
    switch answer {
    case .object(let members):
        guard let properties = schema["properties"] else { return [] }
        let missing = (schema["required"]?.elements ?? []).compactMap(\.string).filter { answer[$0] == nil }
        return missing.map { "\(path).\($0): missing" }
            + members.flatMap { name, value in
                properties[name].map { undescribed(value, by: $0, at: "\(path).\(name)") }
                    ?? ["\(path).\(name): unknown"]
            }
    case .array(let elements):
        return schema["items"].map { items in elements.flatMap { undescribed($0, by: items, at: path + "[]") } } ?? []
    case .null, .bool, .number, .string: return []
    }
}

@Suite struct OpenAPITests {
    @Test func everyRouteIsDescribedAndNothingElseIs() throws {
        let document = try #require(document)
        let described = try #require(document["paths"]).members.flatMap { path, item in
            item.members.map { "\($0.0.uppercased()) \(path)" }
        }
        let routes = AdminRoute.all.map { "\($0.method) \($0.path)" }
        #expect(Set(described) == Set(routes) && described.count == routes.count)
        #expect(Set(Operations.all.keys) == Set(routes))
    }

    @Test func everyReferenceLeadsSomewhereAndEverySchemaIsReferredTo() throws {
        let document = try #require(document)
        var used: Set<String> = []
        for reference in document.references {
            let found = reference.split(separator: "/").dropFirst().reduce(JSONValue?.some(document)) {
                $0?[String($1)]
            }
            #expect(found != nil, "\(reference)")
            used.insert(reference)
        }
        let schemas = try #require(document["components"]?["schemas"]).members.map(\.0)
        #expect(schemas.count == Set(schemas).count)
        #expect(schemas.filter { !used.contains("#/components/schemas/\($0)") } == [])
    }

    @Test func operationsHaveNamesOfTheirOwnTagsThatExistAndAnswers() throws {
        let document = try #require(document)
        let tags = try #require(document["tags"]).elements.compactMap { $0["name"]?.string }
        var ids: Set<String> = []
        for (path, item) in try #require(document["paths"]).members {
            for (method, operation) in item.members {
                let name = "\(method) \(path)"
                let isNew = ids.insert(operation["operationId"]?.string ?? "").inserted
                #expect(isNew, "\(name)")
                for tag in operation["tags"]?.elements ?? [] { #expect(tags.contains(tag.string ?? ""), "\(name)") }
                let statuses = (operation["responses"]?.members ?? []).map(\.0)
                #expect(statuses.count == Set(statuses).count, "\(name)")
                #expect(statuses.contains { $0.hasPrefix("2") } && statuses.contains("401"), "\(name)")
                #expect((operation["requestBody"] != nil) == (method != "get"), "\(name)")
                #expect(operation["security"]?.elements.count == (method == "get" ? 2 : 1), "\(name)")
            }
        }
    }

    /// A member of a body is described where it is accepted, and nowhere else.
    @Test func theBodiesOfTheDescriptionAreThoseThatAreAccepted() throws {
        let document = try #require(document)
        for (path, item) in try #require(document["paths"]).members {
            for (method, operation) in item.members where method != "get" {
                let content = operation["requestBody"]?["content"]?["application/json"]
                let name = content?["schema"]?["$ref"]?.string?.split(separator: "/").last
                let schema = try #require(document["components"]?["schemas"]?[String(name ?? "")])
                let forms = schema["oneOf"]?.elements ?? [schema]
                let described = Set(forms.flatMap { ($0["properties"]?.members ?? []).map(\.0) })
                for form in forms { #expect(form["additionalProperties"]?.text == "false", "\(method) \(path)") }
                #expect(described == Set(accepted(method, path).map(\.rawValue)), "\(method) \(path)")
            }
        }
    }

    private func accepted(_ method: String, _ path: String) -> [ChangeBody.Member] {
        let own: [ChangeBody.Member] =
            switch (method, path) {
            case ("put", _): [.side]
            case (_, "/journal/replay"): [.seqs, .allParked, .force]
            case (_, "/journal/settle"): [.seqs]
            case (_, "/reverse-sync"): [.since, .includeParked, .verify]
            case (_, let path) where path.hasPrefix("/rollout/"):
                AdminAPI.members(of: String(path.dropFirst("/rollout/".count)))
            default: []
            }
        return own + ChangeBody.common
    }
}

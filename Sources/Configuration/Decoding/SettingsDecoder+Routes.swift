internal import Routing

extension SettingsDecoder {
    private static let pointerKeys = ["user", "items", "record", "revision", "idempotency_key"]

    mutating func decodeRoutes(_ top: Section) {
        guard let items = top.list("routes", of: "mappings with match and kind") else { return }
        var first: [String: String] = [:]
        for item in items {
            guard let route = route(item.node, path: item.path) else { continue }
            settings.routes.append(route)
            if let earlier = first[route.pattern.text] {
                diagnostics.warn(
                    item.path + ".match", value: route.pattern.text, "never reached: \(earlier) has the same match")
            } else {
                first[route.pattern.text] = item.path
            }
        }
    }

    private func route(_ node: Node, path: String) -> Route? {
        guard let section = Section(node, path: path, schema: Schema.route, diagnostics: diagnostics) else {
            return nil
        }
        section.requireKey("match", accepted: "METHOD /path")
        let pattern = section.value("match", Value.routePattern)
        let kind = section.value("kind", Value.word(RouteKind.self))
        var user: String?
        var items: String?
        var record: String?
        var revision: String?
        var idempotencyKey: String?
        section.set(&user, "user", Value.pointer)
        section.set(&items, "items", Value.pointer)
        section.set(&record, "record", Value.pointer)
        section.set(&revision, "revision", Value.pointer)
        section.set(&idempotencyKey, "idempotency_key", Value.pointer)
        let read = section.value("read", Value.readTemplate)
        let conditionals = section.value("conditionals", Value.word(["keep"]))
        var requiresKey = false
        section.set(&requiresKey, "require_idempotency_key", Value.boolean)
        guard let pattern else { return nil }
        guard let kind = kind ?? defaultKind(pattern, section) else { return nil }
        var route = Route(pattern: pattern, kind: kind)
        route.user = user
        route.items = items
        route.record = record
        route.revision = revision
        route.idempotencyKey = idempotencyKey
        route.requiresIdempotencyKey = requiresKey
        route.keepsConditionals = conditionals != nil
        route.read = read
        check(route, section)
        return route
    }

    /// Without a kind safe methods are reads and the others writes (contract §3, RFC 9110 §9.2.1).
    private func defaultKind(_ pattern: RoutePattern, _ section: Section) -> RouteKind? {
        if section.has("kind") { return nil }
        guard let method = pattern.method else {
            section.requireKey("kind", accepted: RouteKind.allCases.map(\.rawValue).joined(separator: ", "))
            return nil
        }
        return ["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) ? .read : .write
    }

    private func check(_ route: Route, _ section: Section) {
        if route.kind != .write {
            // A key that does nothing would be a promise that nobody keeps.
            for key in section.given(Self.pointerKeys + ["conditionals", "read", "require_idempotency_key"]) {
                diagnostics.error(
                    section.path(key), value: diagnostics.text(section.path(key)),
                    "only a write has this, the route's kind is \(route.kind.rawValue):",
                    accepted: "kind: write")
            }
            return
        }
        for case .variable(let name) in route.pattern.path.segments where name != "record" && name != "user_id" {
            // It matches a segment and does no more; somebody may have meant the record by it.
            diagnostics.warn(
                section.path("match"), value: route.pattern.text,
                "only {record} and {user_id} have a meaning, {\(name)} has none in")
        }
        if route.items != nil, !section.has("record") {
            diagnostics.error(
                section.path("record"), "missing: the items of a batch need their record", accepted: "a JSON pointer")
        }
        check(read: route, section)
        let namesRecord = route.pattern.path.segments.contains { $0 == .variable("record") }
        if route.revision != nil, !section.has("record"), !namesRecord, route.items == nil {
            diagnostics.error(
                section.path("revision"), value: route.revision, "no record for the revision",
                accepted: "record: POINTER, or {record} in match")
        }
    }

    /// A template without the record would compare one page for all of them; one with it needs a record to put in.
    private func check(read route: Route, _ section: Section) {
        guard let read = route.read else { return }
        let namesRecord =
            section.has("record") || route.pattern.path.segments.contains { $0 == .variable("record") }
        if namesRecord && !read.namesRecord {
            diagnostics.error(
                section.path("read"), value: read.text, "no {record}, though the route names one, in",
                accepted: "/path with {record}, such as /records/{record}")
        }
        if !namesRecord && read.namesRecord {
            diagnostics.error(
                section.path("read"), value: read.text, "the route names no record for the {record} of",
                accepted: "record: POINTER, or {record} in match")
        }
    }
}

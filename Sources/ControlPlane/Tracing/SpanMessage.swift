import Gateway
import HTTPWire
import Rollout
import Values

/// Spans in the JSON encoding of OTLP (OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding"), with the attributes of the
/// semantic conventions for HTTP. No target, no address, no header: a route's pattern is all that is said of a path.
enum SpanMessage {
    static func body(_ spans: [Span], instance: String) -> JSONValue {
        .object([
            (
                "resourceSpans",
                .array([
                    .object([
                        (
                            "resource",
                            .object([
                                (
                                    "attributes",
                                    .array([
                                        attribute("service.name", "cutover"),
                                        attribute("service.version", productVersion),
                                        attribute("service.instance.id", instance),
                                    ])
                                )
                            ])
                        ),
                        (
                            "scopeSpans",
                            .array([
                                .object([
                                    ("scope", .object([("name", "cutover"), ("version", .string(productVersion))])),
                                    ("spans", .array(spans.map(span))),
                                ])
                            ])
                        ),
                    ])
                ])
            )
        ])
    }

    private static func span(_ span: Span) -> JSONValue {
        let method = "\(span.method.name)"
        var members: [(String, JSONValue)] = [
            ("traceId", .string(hexadecimal(span.trace.high, span.trace.low))), ("spanId", .string(id(span.id))),
            // The conventions' form: method and route, and of an unknown method the word HTTP.
            ("name", .string(name(span, method))),
            ("kind", span.kind == .server ? 2 : 3),
            ("startTimeUnixNano", .string(String(span.start))),
            ("endTimeUnixNano", .string(String(max(span.start, span.end)))),
            ("flags", .number(String(span.trace.flags))),
            ("attributes", .array(attributes(span, method))),
        ]
        if span.parent != 0 { members.insert(("parentSpanId", .string(id(span.parent))), at: 2) }
        if isError(span) { members.append(("status", .object([("code", 2)]))) }
        return .object(members)
    }

    private static func name(_ span: Span, _ method: String) -> String {
        let verb = span.method == .other ? "HTTP" : method
        guard span.kind == .server, let route = span.route else { return verb }
        return verb + " " + route
    }

    /// What a server span calls an error is the server's own; for who asked, a refusal is one, too.
    private static func isError(_ span: Span) -> Bool {
        span.problem != nil && span.status < 400 || span.status >= (span.kind == .server ? 500 : 400)
    }

    private static func attributes(_ span: Span, _ method: String) -> [JSONValue] {
        var list = [attribute("http.request.method", method)]
        if span.status != 0 {
            list.append(
                .object([
                    ("key", "http.response.status_code"), ("value", .object([("intValue", .string("\(span.status)"))])),
                ]))
        }
        if let route = span.route { list.append(attribute("http.route", route)) }
        if isError(span) { list.append(attribute("error.type", span.problem.map { "\($0)" } ?? "\(span.status)")) }
        list.append(attribute(span.kind == .server ? "cutover.kind" : "cutover.leg", "\(span.role)"))
        if let side = span.side { list.append(attribute("cutover.backend", "\(side.name)")) }
        if let reason = span.reason { list.append(attribute("cutover.reason", "\(reason.name)")) }
        return list
    }

    private static func attribute(_ key: String, _ value: String) -> JSONValue {
        .object([("key", .string(key)), ("value", .object([("stringValue", .string(value))]))])
    }

    private static func id(_ id: UInt64) -> String { String(hexadecimal(0, id).suffix(16)) }
}

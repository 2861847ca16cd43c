import Gateway
import Values

/// An answer in JSON.
func json(_ value: JSONValue, status: Int = 200) -> ServiceResponse {
    var response = ServiceResponse(status: status, contentType: "application/json", text: value.text + "\n")
    response.headers.append(("Cache-Control", "no-store"))
    return response
}

/// A problem document (RFC 9457).
func problem(_ status: Int, _ detail: String, reasons: [String] = []) -> ServiceResponse {
    let titles = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        409: "Conflict", 412: "Precondition Failed", 422: "Unprocessable Content", 429: "Too Many Requests",
        503: "Service Unavailable",
    ]
    var members: [(String, JSONValue)] = [
        ("type", "about:blank"), ("title", .string(titles[status] ?? "Error")), ("status", .number(String(status))),
        ("detail", .string(detail)),
    ]
    members.append(("request_id", .string(randomRequestID())))
    if !reasons.isEmpty { members.append(("reasons", .array(reasons.map { .string($0) }))) }
    var response = ServiceResponse(
        status: status, contentType: "application/problem+json", text: JSONValue.object(members).text + "\n")
    response.headers.append(("Cache-Control", "no-store"))
    if status == 503 { response.headers.append(("Retry-After", "1")) }
    return response
}

/// A number that JSON can hold: NaN and infinities become null.
func number(_ value: Double?) -> JSONValue {
    guard let value, value.isFinite else { return .null }
    return .number(value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value))
}

import Gateway
import Values

/// How a backend spells its answers. Both mean the same; as bytes no two are equal.
enum Dialect: Sendable {
    /// No white space, members in the order of the documentation.
    case compact
    /// White space, the order reversed, integers as `8.0`, as an older serialiser might.
    case ornate

    /// A record as clients see it.
    /// - Parameter serverTime: milliseconds since 1970; differs from answer to answer, and the comparison ignores it.
    func text(_ record: StoredRecord, serverTime: Int64) -> String {
        object([
            ("recordId", jsonString(record.record)), ("userId", jsonString(record.user)),
            ("type", jsonString(record.type)),
            ("revision", integer(record.revision)), ("deviceId", jsonString(record.device)),
            ("deleted", record.deleted ? "true" : "false"), ("payload", respelled(record.payload)),
            ("serverTime", integer(serverTime)),
        ])
    }

    /// A page of a list. The ornate dialect returns the records of a page last first: their order has no meaning.
    func text(page: [StoredRecord], next: String?, serverTime: Int64) -> String {
        let records = self == .compact ? page : page.reversed()
        let items = records.map { text($0, serverTime: serverTime) }
        let list = self == .compact ? "[\(items.joined(separator: ","))]" : "[ \(items.joined(separator: ", ")) ]"
        return object([("items", list), ("next", next.map(jsonString) ?? "null"), ("serverTime", integer(serverTime))])
    }

    /// A problem document (RFC 9457) with more members behind the usual ones.
    func problem(_ title: String, status: Int, detail: String, members: [(String, String)] = []) -> String {
        object(
            [
                ("type", jsonString("about:blank")), ("title", jsonString(title)), ("status", integer(Int64(status))),
                ("detail", jsonString(detail)),
            ] + members)
    }

    func integer(_ number: Int64) -> String { self == .compact ? String(number) : "\(number).0" }

    private func object(_ members: [(name: String, value: String)]) -> String {
        switch self {
        case .compact: "{" + members.map { "\(jsonString($0.name)):\($0.value)" }.joined(separator: ",") + "}"
        case .ornate:
            "{ " + members.reversed().map { "\(jsonString($0.name)): \($0.value)" }.joined(separator: ", ") + " }"
        }
    }

    /// Valid JSON in this dialect's white space and numbers; the order of its members stays.
    func respelled(_ json: String) -> String {
        guard self == .ornate else { return json }
        var out: [UInt8] = []
        var number: [UInt8] = []
        var inString = false
        var isEscaped = false
        func endNumber() {
            out += number
            if !number.isEmpty, number.allSatisfy({ $0 == minus || (zero...nine).contains($0) }) { out += ".0".utf8 }
            number.removeAll()
        }
        for byte in json.utf8 {
            if inString {
                out.append(byte)
                inString = isEscaped || byte != quote
                isEscaped = !isEscaped && byte == backslash
                continue
            }
            if (zero...nine).contains(byte) || byte == minus || (!number.isEmpty && ".eE+".utf8.contains(byte)) {
                number.append(byte)
                continue
            }
            endNumber()
            inString = byte == quote
            out.append(byte)
            if byte == comma || byte == colon { out.append(space) }
        }
        endNumber()
        return String(decoding: out, as: UTF8.self)
    }
}

private let quote = UInt8(ascii: "\"")
private let backslash = UInt8(ascii: "\\")
private let comma = UInt8(ascii: ",")
private let colon = UInt8(ascii: ":")
private let space = UInt8(ascii: " ")
private let minus = UInt8(ascii: "-")
private let zero = UInt8(ascii: "0")
private let nine = UInt8(ascii: "9")

import HTTPWire

/// Everything a head says after it was parsed, for comparing two parses and for looking at it as text.
struct HeadSnapshot: Equatable, CustomStringConvertible {
    var outcome: HeadOutcome
    var bytes: [UInt8] = []
    var numbers: [String: Int] = [:]
    var fields: [Field] = []

    init(_ outcome: HeadOutcome, _ head: MessageHead, _ bytes: [UInt8]) {
        self.outcome = outcome
        guard outcome == .complete else { return }
        self.bytes = Array(bytes.prefix(head.length))
        numbers = [
            "length": head.length, "leading": head.leading, "firstLineEnd": head.firstLineEnd,
            "method": Int(head.method.rawValue), "methodEnd": head.methodEnd, "targetStart": head.targetStart,
            "targetEnd": head.targetEnd, "pathStart": head.pathStart, "pathEnd": head.pathEnd,
            "queryStart": head.queryStart, "queryEnd": head.queryEnd, "authorityStart": head.authorityStart,
            "authorityEnd": head.authorityEnd, "status": head.status, "minorVersion": head.minorVersion,
            "keepAlive": head.keepAlive ? 1 : 0, "contentLength": head.contentLength,
            "isChunked": head.isChunked ? 1 : 0, "expectsContinue": head.expectsContinue ? 1 : 0,
            "wantsUpgrade": head.wantsUpgrade ? 1 : 0, "hasHost": head.hasHost ? 1 : 0,
            "hasQuery": head.hasQuery ? 1 : 0,
        ]
        fields = (0..<head.fieldCount).map { head.field($0) }
    }

    subscript(_ name: String) -> Int { numbers[name] ?? -999 }

    func text(_ start: String, _ end: String) -> String { text(self[start], self[end]) }

    func text(_ start: Int, _ end: Int) -> String {
        guard start >= 0, start <= end, end <= bytes.count else { return "<no range>" }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    var target: String { text("targetStart", "targetEnd") }
    var path: String { text("pathStart", "pathEnd") }
    var query: String { text("queryStart", "queryEnd") }
    var authority: String { text("authorityStart", "authorityEnd") }
    var method: Method { Method(rawValue: UInt8(clamping: self["method"])) ?? .other }
    var kinds: [FieldKind] { fields.map(\.kind) }
    func name(_ index: Int) -> String { text(Int(fields[index].lineStart), Int(fields[index].nameEnd)) }
    func value(_ index: Int) -> String { text(Int(fields[index].valueStart), Int(fields[index].valueEnd)) }

    var fault: HeadFault? {
        if case .refused(let fault) = outcome { return fault }
        return nil
    }

    var description: String { "\(outcome) \(String(decoding: bytes, as: UTF8.self).debugDescription) \(numbers)" }
}

/// Parses `bytes` as one head, in one piece.
func parse(_ bytes: [UInt8], asRequest: Bool, limits: WireLimits = WireLimits()) -> HeadSnapshot {
    let head = MessageHead(limits: limits)
    let buffer = GuardedBytes(capacity: bytes.count)
    return withExtendedLifetime(buffer) {
        let p = buffer.place(bytes, filler: 0)
        return HeadSnapshot(
            asRequest ? head.parseRequest(p, bytes.count) : head.parseResponse(p, bytes.count), head, bytes)
    }
}

func request(_ text: String, limits: WireLimits = WireLimits()) -> HeadSnapshot {
    parse(Array(text.utf8), asRequest: true, limits: limits)
}

func response(_ text: String, limits: WireLimits = WireLimits()) -> HeadSnapshot {
    parse(Array(text.utf8), asRequest: false, limits: limits)
}

/// A request with these field lines, `Host: a` before them.
func request(fields: String...) -> HeadSnapshot {
    request("GET / HTTP/1.1\r\nHost: a\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
}

func response(fields: String...) -> HeadSnapshot {
    response("HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
}

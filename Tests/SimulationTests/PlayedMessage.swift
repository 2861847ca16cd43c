/// A request or an answer, cut out of the bytes of a connection. Only as much of HTTP/1.1 as the gateway is known to send:
/// what it must refuse is tested elsewhere.
struct PlayedMessage {
    var firstLine: [Substring]
    /// Names in lower case.
    var fields: [String: String] = [:]
    var body: [UInt8] = []
    /// How many bytes it took.
    var length: Int

    var method: String { String(firstLine.first ?? "") }
    var target: String { firstLine.count > 1 ? String(firstLine[1]) : "" }
    var status: Int { firstLine.count > 1 ? Int(firstLine[1]) ?? 0 : 0 }

    /// The first whole message; nil when more has to arrive.
    init?(_ bytes: [UInt8]) {
        guard let end = PlayedMessage.headEnd(bytes) else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        firstLine = lines[0].split(separator: " ", maxSplits: 2)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            fields[line[..<colon].lowercased()] = String(value)
        }
        length = end + 4
        if fields["transfer-encoding"] == "chunked" {
            guard let whole = PlayedMessage.chunked(bytes, from: length) else { return nil }
            (body, length) = whole
        } else if let count = fields["content-length"].flatMap({ Int($0) }) {
            guard bytes.count >= length + count else { return nil }
            body = Array(bytes[length..<length + count])
            length += count
        }
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        guard bytes.count > 3 else { return nil }
        // This target is compiled with optimisation.
        return bytes.withUnsafeBufferPointer { all in
            (0..<all.count - 3).first { all[$0] == 13 && all[$0 + 1] == 10 && all[$0 + 2] == 13 && all[$0 + 3] == 10 }
        }
    }

    private static func chunked(_ bytes: [UInt8], from start: Int) -> ([UInt8], Int)? {
        var body: [UInt8] = []
        var index = start
        while true {
            guard let line = bytes[index...].firstIndex(of: 13), line + 1 < bytes.count else { return nil }
            guard let count = Int(String(decoding: bytes[index..<line], as: UTF8.self), radix: 16) else { return nil }
            guard bytes.count >= line + 2 + count + 2 else { return nil }
            body += bytes[line + 2..<line + 2 + count]
            index = line + 2 + count + 2
            if count == 0 { return (body, index) }
        }
    }
}

/// The number behind `name=` in a target; nil when there is none.
func number(_ name: String, in target: String) -> Int? {
    for part in target.split(separator: "?").dropFirst().joined().split(separator: "&") where part.hasPrefix(name + "=")
    {
        return Int(part.dropFirst(name.count + 1))
    }
    return nil
}
